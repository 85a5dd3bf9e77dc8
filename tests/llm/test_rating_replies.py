import json

import pytest

from storyalign.llm.rating_replies import parse_ratings, ratings_schema
from storyalign.llm.replies import UnparsedReply

NAMES = ("fluency", "overall")
GOOD = {"ratings": [{"story": 2, "fluency": 7, "overall": 8.5}, {"story": 1, "fluency": 3, "overall": 10.0}]}
SCORES = [{"fluency": 3.0, "overall": 10.0}, {"fluency": 7.0, "overall": 8.5}]


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD),
        f"<think>Story 1 is {{weak}}.</think>{json.dumps(GOOD)}",
        f"Here are my ratings:\n```json\n{json.dumps(GOOD, indent=1)}\n```\nI hope this helps.",
        f"My ratings:\n{json.dumps(GOOD)}",
        json.dumps({"ratings": [{"Story": "Story 1", "Fluency": "3/10", "OVERALL": "10"}, GOOD["ratings"][0]]}),
    ],
)
def test_every_score_in_the_order_shown(reply):
    assert parse_ratings(reply, NAMES, 2) == SCORES


def changed(**fields) -> str:
    return json.dumps({"ratings": [{**GOOD["ratings"][0], **fields}, GOOD["ratings"][1]]})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("All of them are fine, 8 or so.", "no ratings"),
        (json.dumps(GOOD)[:-20], "no ratings"),
        (changed(story=3), "name story 3; there are 2"),
        (changed(story=1), "name story 1 twice"),
        (changed(story=True), "name story True"),
        (changed(overall=11), "outside 1-10"),
        (changed(overall=0), "outside 1-10"),
        (changed(overall=None), "no score"),
        (changed(overall="7 or 8"), "no score"),
        (json.dumps({"ratings": GOOD["ratings"][:1]}), "ratings of 1 stories; 2 were shown"),
        (json.dumps({"ratings": [{"story": 1, "overall": 5}, GOOD["ratings"][0]]}), "story 1 has no fluency"),
        (json.dumps({"ratings": [7, 8]}), "no object"),
        (
            '{"ratings": [{"story": 1, "fluency": NaN, "overall": 5}, {"story": 2, "fluency": 5, "overall": 5}]}',
            "no score",
        ),
        (f"My ratings: {json.dumps(GOOD)}", "no ratings"),
    ],
)
def test_anything_else_is_unscored(reply, reason):
    with pytest.raises(UnparsedReply, match=reason):
        parse_ratings(reply, NAMES, 2)


def test_the_schema_asks_for_every_score():
    body = ratings_schema(NAMES)["json_schema"]["schema"]["properties"]["ratings"]
    assert body["items"]["required"] == ["story", "fluency", "overall"]
