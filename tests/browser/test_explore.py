import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_rank import PHONE


@pytest.fixture
def explore(visit):
    def come(**options):
        page = visit(**options)
        page.get_by_role("tab", name="Explore").click()
        expect(page.locator(".sa-candidate")).to_have_count(4)
        return page

    return come


def choose(page, story):
    column = page.locator(".sa-candidate").filter(has_text=story)
    column.get_by_role("button", name=re.compile("Choose")).click()


def test_guess_then_see_the_answer_and_the_score(explore):
    page = explore()
    expect(page.locator("#sa-group")).not_to_contain_text("model-1")
    choose(page, "best of 0")
    expect(page.locator("#sa-group .sa-verdict")).to_contain_text("Yes.")
    expect(page.locator(".sa-candidate.sa-first")).to_contain_text("by human")
    score = page.locator("#sa-score li")
    expect(score.filter(has_text="scorer")).to_have_text(["shaky/scorer 1 of 1", "steady/scorer 1 of 1"])
    expect(score.first).to_have_text("You 1 of 1")
    expect(score.last).to_have_text("blind guess 0.25 of 1")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#sa-walk-place")).to_contain_text("2 of 4")
    choose(page, "worse 3 of 1")
    expect(page.locator("#sa-group .sa-verdict")).to_contain_text("The preferred story is")
    expect(score.filter(has_text="scorer")).to_have_text(["shaky/scorer 1 of 2", "steady/scorer 2 of 2"])
    expect(score.first).to_have_text("You 1 of 2")


def test_two_visitors_have_scores_of_their_own(explore):
    one, other = explore(), explore()
    choose(one, "best of 0")
    expect(one.locator("#sa-score li").first).to_have_text("You 1 of 1")
    expect(other.locator("#sa-score")).to_contain_text("after your first choice")
    choose(other, "worse 1 of 0")
    expect(other.locator("#sa-score li").first).to_have_text("You 0 of 1")


def test_filters_search_and_order(explore):
    page = explore()
    page.get_by_role("button", name="filter, sort, search").click()
    page.get_by_label("Judged on").click()
    page.get_by_role("option", name="fluency").click()
    expect(page.locator("#sa-walk-place")).to_contain_text("1 of 2")
    page.get_by_label("Order").click()
    page.get_by_role("option", name="hardest for shaky/scorer").click()
    expect(page.locator(".sa-premise")).to_have_text("Premise 1 about a Whale")
    page.get_by_label("Search").fill("premise 3")
    page.keyboard.press("Enter")
    expect(page.locator(".sa-premise")).to_have_text("Premise 3 about a Whale")
    page.get_by_label("Search").fill("no such thing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No group fits")).to_be_visible()


def test_from_the_keyboard_on_a_phone_in_the_dark(explore):
    page = explore(color_scheme="dark", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.locator("[data-seat='3']").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sa-badge", has_text="your pick")).to_have_count(1)
    expect(page.locator("#sa-score")).to_be_in_viewport()  # the answer is brought into view


def test_an_id_that_cannot_be_opened_says_why(explore):
    page = explore()
    page.get_by_role("button", name="another dataset").click()
    page.get_by_label("Dataset id").fill("../etc")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("is no dataset id")).to_be_visible()
