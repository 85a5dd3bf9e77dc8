import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

from tests.support.space_serving import serving

PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True, "is_mobile": True}


def fill(page, *stories, premise="A cat finds a door."):
    page.get_by_label("The idea").fill(premise)
    for letter, story in zip("ABCDEFGH", stories, strict=False):
        page.get_by_label(f"Story {letter}", exact=True).fill(story)


def rank(page, *stories, **options):
    fill(page, *stories, **options)
    page.get_by_role("button", name="Rank the stories").click()


def test_an_example_runs_at_once(visit):
    page = visit()
    expect(page.get_by_text("The order appears here")).to_be_visible()
    page.get_by_role("button", name="最后一班渡船").click()
    expect(page.locator(".sa-card")).to_have_count(3)
    expect(page.get_by_label("The idea")).to_have_value(re.compile("老船夫"))
    assert page.locator(".sa-opening").first.get_attribute("lang") == "zh"


def test_ranks_pasted_stories_and_offers_downloads(visit):
    page = visit()
    rank(page, "low reward=0", "high reward=2", "mid (cut) reward=1")
    cards = page.locator(".sa-card")
    expect(cards.locator("h3")).to_have_text(["Story B", "Story C", "Story A"])
    expect(cards.first).to_contain_text("73 times in 100")  # 1 / (1 + 1/e)
    expect(page.locator(".sa-warnings")).to_contain_text("Story C was too long for the model")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download JSON").click()
    saved = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert [s["reward"] for s in saved["stories"]] == [2.0, 1.0, 0.0]
    assert saved["stories"][0]["story"] == "high reward=2"
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert [row["name"] for row in rows] == ["Story B", "Story C", "Story A"]


def test_files_fill_the_boxes(visit, tmp_path):
    (tmp_path / "first.txt").write_text("first reward=1", encoding="utf-8")
    (tmp_path / "second.md").write_text("second reward=3", encoding="utf-8")
    row = {"premise": "From a file.", "stories": ["third reward=2", "fourth reward=5"]}
    (tmp_path / "more.jsonl").write_text(json.dumps(row), encoding="utf-8")
    page = visit()
    page.locator("#sa-files input[type=file]").set_input_files(
        [tmp_path / n for n in ("first.txt", "second.md", "more.jsonl")]
    )
    expect(page.locator("#sa-notice")).to_contain_text("4 stories taken from files")
    expect(page.get_by_label("The idea")).to_have_value("From a file.")
    page.get_by_role("button", name="Rank the stories").click()
    expect(page.locator(".sa-card h3")).to_have_text(["Story 2", "second.md", "Story 1", "first.txt"])


def test_refused_files_and_requests_say_why(visit, tmp_path):
    page = visit()
    (tmp_path / "bad.jsonl").write_text('{"story": 3}', encoding="utf-8")
    page.locator("#sa-files input[type=file]").set_input_files(tmp_path / "bad.jsonl")
    expect(page.locator("#sa-notice")).to_contain_text("bad.jsonl, line 1")
    (tmp_path / "huge.txt").write_text("x" * 5_000_000, encoding="utf-8")
    page.locator("#sa-files input[type=file]").set_input_files(tmp_path / "huge.txt")
    expect(page.get_by_text(re.compile("exceeds the maximum|too large|maximum", re.I)).first).to_be_visible()
    rank(page, "only one")
    expect(page.locator("#sa-result [role=alert]")).to_contain_text("at least 2 stories")
    rank(page, "x" * 60_001, "y")
    expect(page.locator("#sa-result [role=alert]")).to_contain_text("Story A has 60,001 characters; at most 60,000")


def test_story_text_is_shown_as_text(visit):
    hostile = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'> **bold** &amp; ${value} {{value}}"
    page = visit()
    rank(page, hostile + " \u202eabc reward=1", "plain reward=0", premise="<b>premise</b>")
    card = page.locator(".sa-card").first
    assert card.locator(".sa-story, .sa-opening").first.text_content().startswith(hostile[:60])
    expect(card.locator("script, img, strong, b")).to_have_count(0)
    assert page.evaluate("window.hacked") is None
    expect(page.locator(".sa-warnings")).to_contain_text("Story A holds 1 invisible character.")


def test_phone_width_and_dark_mode(visit):
    page = visit(color_scheme="dark", **PHONE)
    page.get_by_role("button", name="The robot gardener").tap()
    expect(page.locator(".sa-card")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")  # nothing sticks out
    expect(page.locator(".sa-verdict")).to_be_in_viewport()  # brought into view below the form
    background = page.evaluate("getComputedStyle(document.querySelector('.sa-card')).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background)[:3])) < 80


def test_works_from_the_keyboard(visit):
    page = visit()
    fill(page, "a reward=1", "b reward=2")
    page.get_by_label("Story C", exact=True).focus()
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == "Rank the stories":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".sa-card h3")).to_have_text(["Story B", "Story A"])


def test_up_to_sixteen_stories_then_clear(visit):
    page = visit()
    add = page.get_by_role("button", name="Add another story")
    for letter in "DEFGHIJKLMNOP":
        add.click()
        expect(page.get_by_label(f"Story {letter}", exact=True)).to_be_visible()
    add.click()
    page.get_by_role("button", name="Clear all").click()
    expect(page.get_by_label("Story D", exact=True)).to_have_count(0)
    expect(page.get_by_text("The order appears here")).to_be_visible()


def test_without_a_model_the_page_says_what_to_do(visit, tmp_path):
    with serving(tmp_path / "log.txt", "--no-model") as address:
        page = visit(address)
        expect(page.get_by_text("No model is loaded")).to_be_visible()
        expect(page.get_by_text("make demo")).to_be_visible()
        rank(page, "a", "b")
        expect(page.get_by_text("STORYALIGN_MODEL is not set")).to_be_visible()


def test_a_judge_is_asked_about_five_qualities(visit):
    page = visit(**PHONE)
    expect(page.locator("#sa-ask")).to_be_hidden()  # the first screen asks for stories alone
    rank(page, "one reward=2 overall=3 fluency=9", "two reward=1 overall=8")
    expect(page.locator(".sa-card h3")).to_have_text(["Story A", "Story B"])
    expect(page.locator("#sa-opinion")).to_contain_text("sent to fake/judge")
    page.get_by_role("button", name="Ask a judge").click()
    table = page.locator("#sa-opinion table")
    expect(table.locator("tbody th")).to_have_text(["Story B", "Story A"])  # its own order
    expect(table.locator("tbody tr").last.locator("td")).to_have_text(["3.0", "5.0", "5.0", "5.0", "9.0", "5.0"])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator("#sa-ask")).to_be_hidden()


def test_beside_the_form_the_judge_stands_below_the_ranking(visit):
    page = visit(viewport={"width": 1280, "height": 600})
    page.get_by_role("button", name="The robot gardener").click()
    expect(page.locator(".sa-card")).to_have_count(4)
    page.get_by_role("button", name="Ask a judge").click()
    expect(page.locator("#sa-opinion table")).to_be_visible()
    expect(page.locator("#sa-opinion")).to_be_in_viewport()
    ranking, opinion = (page.locator(one).bounding_box() for one in (".sa-ranking", "#sa-opinion"))
    assert opinion["x"] == ranking["x"] and opinion["y"] >= ranking["y"] + ranking["height"]


SIZES = ({"width": 1440, "height": 900}, {"width": 1024, "height": 768}, {"width": 390, "height": 844})
TOP_AND_HEIGHT = "(e) => { const box = e.getBoundingClientRect(); return [box.top, box.bottom, window.innerHeight]; }"


@pytest.mark.parametrize("viewport", SIZES, ids=lambda size: str(size["width"]))
def test_progress_and_winner_are_where_the_eye_is(visit, viewport):
    page = visit(viewport=viewport)
    page.get_by_role("button", name="Add another story").click()
    long = " ".join(f"word{i}" for i in range(320))
    rank(page, *(f"{long} reward={reward}" for reward in (1, 3, 2, 0)))
    column = page.locator("#sa-result-column")
    top, _, height = column.evaluate(TOP_AND_HEIGHT)
    assert 0 <= top < height / 2  # while the model reads
    winner = page.locator(".sa-card").first
    expect(winner.locator("h3")).to_have_text("Story B")
    page.wait_for_timeout(500)  # the page settles where it scrolled to
    top, bottom, height = winner.evaluate(TOP_AND_HEIGHT)
    assert 0 <= top < bottom <= height
    for letter in "ABCD":  # one line each
        assert page.get_by_label(f"Story {letter}", exact=True).bounding_box()["height"] < 60
    # nothing of the result lies in a scroll area of its own
    assert column.evaluate(
        "(e) => [e, ...e.querySelectorAll('*')].every(x => x.scrollHeight <= x.clientHeight + 1 || "
        "getComputedStyle(x).overflowY === 'visible' || x.closest('details') !== null)"
    )


@pytest.mark.parametrize("viewport", SIZES, ids=lambda size: str(size["width"]))
def test_what_an_empty_form_lacks_is_said_in_view(visit, viewport):
    page = visit(viewport=viewport)
    page.get_by_role("button", name="Rank the stories").click()
    alert = page.locator("#sa-result [role=alert]")
    expect(alert).to_be_visible()
    page.wait_for_timeout(500)
    top, _, height = alert.evaluate(TOP_AND_HEIGHT)
    assert 0 <= top < height * 0.9
    assert page.get_by_label("Story A", exact=True).bounding_box()["height"] > 60  # the form is open again
