"""The verb ``creative-writing``: scorers choose stories for EQ-Bench Creative Writing v3, a judge rates the choices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.data_options import DataChoice
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.scorer_choice import check_scorers, scored_sets_of
from storyalign.cli.written_stories import (
    StoriesWritten,
    WriterModel,
    WriterRecipe,
    WriterUrl,
    WritingOptions,
    have_written,
)
from storyalign.errors import RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.results import ScorerResult
    from storyalign.records import Instance
    from storyalign.scoring.judges import JudgeScorer

_HELP = """
Do what appendix H.3 of the paper does on EQ-Bench Creative Writing v3: N stories a prompt, each scorer chooses one, a
judge scores the chosen ones from 1 to 5 by relevance, coherence, empathy, surprise, engagement and complexity.

PROMPTS is the benchmark's own file, data/creative_writing_prompts_v3.json, or stories that were written before
(OUT/candidates.jsonl). With --benchmark the judge is first measured itself, on StoryRMB by source: the same judge, the
same criteria, the highest score of a group against the chosen story.

Examples:

  storyalign creative-writing MODEL null:longest creative_writing_prompts_v3.json --judge judge:GPT-4o --out cw --yes

  storyalign creative-writing a.jsonl b.jsonl cw/candidates.jsonl --judge judge:GPT-4o --benchmark ./storyrmb --out cw
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("creative-writing", help=_HELP, no_args_is_help=True)(with_scoring_options(creative_writing))


def creative_writing(
    paths: Annotated[list[str], typer.Argument(metavar="SCORER... PROMPTS", help="Scorers, then prompts or stories.")],
    judge: Annotated[str, typer.Option(help="The judge, as judge:NAME of recipes/scorers.yaml.")],
    out: Annotated[Path, typer.Option(help="Folder for stories, scores and figures.")],
    benchmark: Annotated[str | None, typer.Option(help="Measure the judge on this benchmark too.")] = None,
    recipe: WriterRecipe = None,
    url: WriterUrl = None,
    model: WriterModel = None,
    n: StoriesWritten = None,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Run Creative Writing v3; the help text stands in ``register``."""
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    *scorers, prompts = paths
    if not scorers:
        raise RecipeError(f"{prompts}: one argument; name a scorer (null:longest is one), and then the prompts")
    if not judge.startswith("judge:"):
        raise RecipeError(f"--judge {judge}: expected judge:NAME of recipes/scorers.yaml")
    money = options.only({"max_cost", "yes"})
    check_scorers([judge], money)
    check_scorers(scorers, options, also_taken={"max_cost", "yes"})
    judged_on = load_evaluation_set(benchmark) if benchmark else None
    stories = _stories(prompts, WritingOptions(recipe, url, model, None, n), money, out)

    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.evaluation.best_of_n import choices_of
    from storyalign.evaluation.judged_choices import caveat_of, chosen_instances, judged_choices, table_of
    from storyalign.evaluation.signatures import data_signature, one_line, scorer_signature
    from storyalign.files import write_json
    from storyalign.llm.criteria_replies import CRITERIA

    choice = DataChoice(str(stories))
    data = choice.load(needs_gold=False)
    scored = scored_sets_of(scorers, choice, data, options, out / "rewards", also_taken={"max_cost", "yes"})
    choices = [choices_of(data.instances, one) for one in scored]
    to_judge = chosen_instances(data.instances, choices)
    asked, scores = _judge(judge, to_judge, out / "judged.jsonl", data, money)
    rows = [judged_choices(one.name, data.instances, c, scores) for one, c in zip(scored, choices, strict=True)]
    meta = _measure_judge(judge, judged_on, out, money) if judged_on else None
    caveat = caveat_of(meta)
    signatures = [data_signature(data), one_line({**asked.signature, "digest": asked.digest})]
    signatures += [scorer_signature(one) for one in scored]
    console = open_console()
    title = f"{data.name}: {len(data.instances)} prompts, {asked.name} by six criteria, 1 to 5"
    show(console, table_of(title, rows, CRITERIA, caveat, signatures))
    sizes = sorted({len(i.stories) for i in data.instances})
    facts = {
        "judge": f"{asked.name} ({asked.endpoint.model}), scale 1 to 5, prompt {asked.signature['prompt']}",
        "prompts": Path(prompts).name,
        "n_prompts": len(data.instances),
        "n": "/".join(map(str, sizes)),
        "scorers": [row.to_json() for row in rows],
        "judge_on_benchmark": None if meta is None else {"accuracy": meta.accuracy, "by_source": meta.by_source},
        "caveat": caveat,
        "signatures": signatures,
    }
    write_json(out / "creative_writing.json", facts)
    show_written(console, out / "creative_writing.json")


def _stories(prompts: str, writing: WritingOptions, money: ScoringOptions, out: Path) -> Path:
    from storyalign.corpus.judged_groups import is_judged_group
    from storyalign.corpus.premise_lists import read_premises
    from storyalign.files import read_jsonl

    path = Path(prompts)
    if path.suffix == ".jsonl" and path.is_file():
        first = next(read_jsonl(path), None)
        if first is not None and is_judged_group(first.row):
            if writing.asked or writing.n is not None:
                raise RecipeError(f"{prompts}: holds stories; leave out --recipe, --url, --model and --n")
            return path
    return have_written(read_premises(prompts), writing, money, out, "creative_writing.yaml")


def _judge(
    judge: str,
    instances: Sequence[Instance],
    rewards_file: Path,
    data: EvaluationSet,
    money: ScoringOptions,
) -> tuple[JudgeScorer, dict[tuple[str, str], dict[str, float]]]:
    """Have stories judged by criteria, resumable beside the rewards file; unread replies have no scores."""
    from storyalign.cli.judge_costs import agree_on_cost, say_what_it_took
    from storyalign.cli.progress import ScoringProgress
    from storyalign.llm.criteria_replies import parse_criteria
    from storyalign.llm.replies import UnparsedReply
    from storyalign.scoring.judges import JudgeScorer
    from storyalign.scoring.reward_store import open_store
    from storyalign.scoring.run import score_instances
    from storyalign.scoring.scorers import open_scorer

    with open_store(rewards_file) as store:
        scorer = open_scorer(judge, rewards_file, replace(money, mode="criteria"))
        assert isinstance(scorer, JudgeScorer)
        agree_on_cost(scorer, instances, store, yes=money.yes)
        with ScoringProgress() as bar:
            facts = {"name": data.name, "digest": data.digest}
            score_instances(scorer, instances, store, facts, begin=bar.begin, progress=bar.advance)
        say_what_it_took((store.settings() or {})["report"])
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for item in instances:
        for story in item.stories:
            with suppress(UnparsedReply):
                if (reply := scorer.reply_to(item.prompt, [story])) is not None:
                    scores[item.id, story] = parse_criteria(reply)
    return scorer, scores


def _measure_judge(judge: str, data: EvaluationSet, out: Path, money: ScoringOptions) -> ScorerResult:
    from storyalign.evaluation.results import evaluate_scorers
    from storyalign.evaluation.scored_sets import read_scored_set

    rewards_file = out / "judge_on_benchmark.jsonl"
    _judge(judge, data.instances, rewards_file, data, money)
    return evaluate_scorers(data, [read_scored_set(rewards_file, data)]).scorers[0]
