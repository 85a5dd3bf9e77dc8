"""Datasets by id, from a Hub of our own: the public one is shown, the private one stays private."""

import pytest

from tests.hub.running import running_hub

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
    from tests.space.conftest import SPACE

    with running_hub(tmp_path) as hub:
        hub.python(UPLOAD)
        seen = hub.python(VISIT, str(SPACE), home="visitor")  # with the operator's token in the environment
    assert seen["open"] == [3, "fluency"]
    assert "row 1: prompt is missing" in seen["other"]
    assert "cannot be loaded from the Hub" in seen["closed"]
