"""Train a StoryReward model.

    accelerate launch train.py --config recipes/demo.yaml
    accelerate launch --config_file recipes/accelerate/fsdp2.yaml train.py --config recipes/storyreward_qwen.yaml
    accelerate launch train.py --config recipes/smoke.yaml --dataset_name my_pairs.jsonl --output_dir runs/mine

Every option of a recipe can be overridden on the command line; ``--help`` lists them all.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from storyalign.errors import StoryAlignError


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, load, train, save, write the model card, and push if asked."""
    from storyalign.hub.cards.model_card import require_origin, write_model_card
    from storyalign.hub.release.release_one import require_token
    from storyalign.models.fingerprint import folder_digest
    from storyalign.training import checkpoints, launch, pooled, prepare
    from storyalign.training.arguments import parse_recipe
    from storyalign.training.finish import save_finished, save_pooled_model
    from storyalign.training.record import fine_tuning_run, origin, training_record
    from storyalign.training.stopping import StopCleanly
    from storyalign.training.trainer import StoryRewardTrainer

    # Parse.
    recipe = parse_recipe(argv)
    training = recipe.training
    asked = launch.read_launch()
    launch.check_processes(asked, launch.world_size())
    launch.shard_on_cpu(asked)
    launch.set_cpu_threads(asked, training.cpu_threads)
    say = launch.printer()
    if training.push and os.environ.get("RANK", "0") == "0":
        require_token(training.push)  # before the hours of training, not after

    # Load.
    base = prepare.load_model(recipe.model, training)
    if training.push:
        require_origin({"name": base.name, **origin(base)})
    data = prepare.load_data(recipe, base.tokenizer)
    say(data.table)
    weights = folder_digest(base.folder)
    execution = launch.planned_execution(asked, training, base.model)
    fingerprint = checkpoints.run_fingerprint(recipe, data.digests, weights, execution)
    lock = checkpoints.lock_run(training)
    start = checkpoints.find_start(training, fingerprint)
    if start.finished:
        say(f"{training.output_dir} already holds the model of this recipe and data: nothing to do")
        lock.release()
        push(Path(str(training.output_dir)), training.push, bool(training.hub_private_repo), say)
        return

    # Train.
    if training.method == "pooled":
        model, run = pooled.fit(recipe, base, data, weights, execution, say)
        record = training_record(recipe, base, data, run, fingerprint, weights)
        folder = save_pooled_model(model, base, recipe, record)
        write_model_card(folder)
        say(f"the finished model is in {folder}")
        lock.release()
        push(folder, training.push, bool(training.hub_private_repo), say)
        return
    stop = StopCleanly()
    trainer = StoryRewardTrainer(
        base.model,
        training,
        base.tokenizer,
        data.train,
        data.validation,
        peft_config=prepare.adapter_config(recipe.model, training, base.model),
        callbacks=[stop],
        more_metrics=prepare.benchmark_metric(training, base.tokenizer),
    )
    launch.check_execution(execution, trainer.execution)
    if trainer.is_world_process_zero():
        checkpoints.claim(training, fingerprint, start)
    trainer.accelerator.wait_for_everyone()
    if start.checkpoint is not None:
        say(f"going on from {start.checkpoint}")
    with stop.listening():
        trainer.train(resume_from_checkpoint=None if start.checkpoint is None else str(start.checkpoint))
    stop.raise_if_stopped(trainer.state, str(checkpoints.last_checkpoint(training.checkpoints_dir)))

    # Save.
    run = fine_tuning_run(recipe, trainer)
    folder = save_finished(trainer, recipe, training_record(recipe, base, data, run, fingerprint, weights))
    if trainer.is_world_process_zero():
        write_model_card(folder)
    if not training.keep_checkpoints and trainer.is_world_process_zero():
        shutil.rmtree(training.checkpoints_dir)
    say(f"the finished model is in {folder}")
    trainer.end()
    lock.release()
    push(folder, training.push, bool(training.hub_private_repo), say)


def push(folder: Path, repo: str | None, private: bool, say: Callable[[str], None]) -> None:
    """Release the finished model from the first process, with the checks of ``storyalign release model``."""
    from storyalign.hub.release.release_one import prepare, release, told
    from storyalign.hub.release.release_options import ReleaseOptions

    if repo is None or os.environ.get("RANK", "0") != "0":
        return
    with tempfile.TemporaryDirectory() as work:
        say(told(release(prepare("model", folder, repo, Path(work), ReleaseOptions(say=say)), repo, private=private)))


if __name__ == "__main__":
    try:
        main()
    except StoryAlignError as error:
        rank = os.environ.get("RANK", "0")
        print(f"error: {error}" if rank == "0" else f"error (rank {rank}): {error}", file=sys.stderr)
        sys.exit(error.exit_code)
