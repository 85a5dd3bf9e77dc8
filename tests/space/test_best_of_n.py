import pytest
from allowance import Allowance
from best_of_n_tab import BestOfNTab, write_and_rank
from endpoints import best_of_n_endpoint
from gradio import Error
from story_scorer import OneAtATime
from story_writer import StoryWriter, writer_of
from visitor_limits import DEFAULT_LIMITS, InputRefused

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint
from tests.support.fake_endpoint import endpoint
from tests.support.fake_scorer import FakeScorer

SCORER = OneAtATime(FakeScorer())


def writer(address, **options):
    return StoryWriter(Endpoint(address, "fake/writer", max_concurrency=1, tries=1, first_pause=0.01), **options)


def test_stories_take_their_places_as_they_come():
    with endpoint(["one reward=1", "two reward=3", "three reward=2"]) as (fake, address):
        steps = [
            [story.text for story in ranking.stories]
            for ranking, _ in write_and_rank(
                SCORER, writer(address), DEFAULT_LIMITS, "An idea about {words} and $1", 3, 120
            )
        ]
    assert steps == [
        ["one reward=1"],
        ["two reward=3", "one reward=1"],
        ["two reward=3", "three reward=2", "one reward=1"],
    ]
    asked = fake.requests[0]["messages"][0]["content"]
    assert "about 120 words" in asked and "An idea about {words} and $1" in asked  # the idea stays as it is


def test_a_story_that_cannot_be_written_is_named_and_never_empty():
    with endpoint(["one reward=1", 400, " ", "four reward=2"]) as (_, address):
        tab = BestOfNTab(SCORER, writer(address), DEFAULT_LIMITS)
        *_, (page, said) = tab.run("An idea", 4, 200)
    assert said == ""
    assert "Draft 2: HTTP 400" in page and "Draft 3: " in page
    assert page.count('<li class="sa-card') == 2


def test_a_wrong_key_is_one_message():
    with endpoint([401]) as (_, address):
        *_, (page, _) = BestOfNTab(SCORER, writer(address), DEFAULT_LIMITS).run("An idea", 2, 200)
    assert "The endpoint or the model failed" in page and "HTTP 401" in page


@pytest.mark.parametrize(
    ("premise", "count", "words", "reason"),
    [
        (" ", 2, 200, "idea is empty"),
        ("p" * 8001, 2, 200, "8,001 characters"),
        ("p", 0, 200, "0 stories"),
        ("p", 9, 200, "9 stories"),
        ("p", 2, 10_000, "10000 words"),
    ],
)
def test_limits_hold_before_anything_is_asked(premise, count, words, reason):
    with endpoint(["x"]) as (fake, address):
        with pytest.raises(InputRefused, match=reason):
            list(write_and_rank(SCORER, writer(address), DEFAULT_LIMITS, premise, count, words))
        assert fake.requests == []


def test_stopping_stops_the_calls():
    with endpoint(["a reward=1"], seconds=0.05) as (fake, address):
        steps = write_and_rank(SCORER, writer(address), DEFAULT_LIMITS, "p", 8, 200)
        next(steps)
        steps.close()
        assert len(fake.requests) <= 3  # the answered one, and at most one under way


def test_the_allowance_is_shared_and_comes_back():
    now = [0.0]
    allowance = Allowance(10, clock=lambda: now[0])
    allowance.take(8)
    with pytest.raises(InputRefused, match="at most 10 stories an hour"):
        allowance.take(3)
    allowance.take(2)
    now[0] = 3600.0
    allowance.take(10)


def test_the_api_gives_the_best_story():
    with endpoint(["one reward=1", 400, "three reward=2"]) as (_, address):
        best_of_n = best_of_n_endpoint(SCORER, writer(address), DEFAULT_LIMITS)
        answer = best_of_n("p", 3, 200)
        assert answer["best"] == "three reward=2"
        assert [s["index"] for s in answer["ranking"]["stories"]] == [1, 0]
        assert answer["failures"] == ["draft 2: HTTP 400: refused"]
        with pytest.raises(Error, match="whole numbers"):
            best_of_n("p", 2.5, 200)


def test_settings():
    assert writer_of({}) is None
    with pytest.raises(RecipeError, match="model must be a string that is not empty, got an empty string"):
        writer_of({"STORYALIGN_ENDPOINT": "http://127.0.0.1:1/v1"})
    made = writer_of(
        {
            "STORYALIGN_ENDPOINT": "http://127.0.0.1:1/v1",
            "STORYALIGN_ENDPOINT_MODEL": "m",
            "STORYALIGN_ENDPOINT_KEY": "secret",
            "STORYALIGN_ENDPOINT_STORIES_PER_HOUR": "7",
        }
    )
    assert made.allowance.per_hour == 7 and made.endpoint.key_variable == "STORYALIGN_ENDPOINT_KEY"
    assert "secret" not in repr(made.endpoint)
