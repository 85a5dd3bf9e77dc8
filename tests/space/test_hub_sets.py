"""Datasets by id, from a Hub of our own: the public one is shown, the private one stays private."""

import pytest

from tests.space.conftest import SPACE
from tests.support.hub_runs import running_hub

UPLOAD = """
import json
from huggingface_hub import CommitOperationAdd, HfApi

api = HfApi()
rows = [{"prompt": f"p{i}", "chosen": "c", "rejected": ["r1", "r2"], "dimension": "Fluency"} for i in range(3)]
for name, private, lines in (("open", False, rows), ("other", False, [{"text": "x"}]), ("closed", True, rows)):
    api.create_repo(f"demo/{name}", repo_type="dataset", private=private)
    data = "".join(json.dumps(line) + "\\n" for line in lines).encode()
    add = [CommitOperationAdd("test.jsonl", data)]
    api.create_commit(f"demo/{name}", add, commit_message="rows", repo_type="dataset")
print("null")
"""
VISIT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from group_sources import VisitorSets
from visitor_limits import InputRefused

seen = {}
for name in ("open", "other", "closed"):
    try:
        found = VisitorSets().load(f"demo/{name}")
        seen[name] = [len(found.instances), found.instances[0].dimension]
    except InputRefused as error:
        seen[name] = str(error)
print(json.dumps(seen))
"""


@pytest.mark.full
def test_public_sets_by_id(tmp_path):
    with running_hub(tmp_path) as hub:
        hub.python(UPLOAD)
        seen = hub.python(VISIT, str(SPACE), home="visitor")  # with the operator's token in the environment
    assert seen["open"] == [3, "fluency"]
    assert "row 1: prompt is missing" in seen["other"]
    assert "cannot be loaded from the Hub" in seen["closed"]


SHARE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from choice_book import choice_book_of
from huggingface_hub import HfApi

book = choice_book_of({"STORYALIGN_FEEDBACK": "demo/choices"}, every=0.02)
book.note("small set", "g0", 2)
for _ in range(100):
    files = HfApi().list_repo_files("demo/choices", repo_type="dataset")
    if any(name.startswith("choices/") for name in files):
        break
    time.sleep(0.3)
print(json.dumps(files))
"""


@pytest.mark.full
def test_shared_choices_are_committed(tmp_path):
    with running_hub(tmp_path) as hub:
        files = hub.python(SHARE, str(SPACE))
    assert [name for name in files if name.startswith("choices/choices-") and name.endswith(".jsonl")]
