import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_rank import PHONE


@pytest.fixture
def leaderboard(visit):
    def come(**options):
        page = visit(**options)
        page.get_by_role("tab", name="Leaderboard").click()
        expect(page.locator("#sa-table tbody tr").first).to_be_visible()
        return page

    return come


def names(page):
    return page.locator("#sa-table tbody th bdi")


def test_sort_filter_and_compare(leaderboard):
    page = leaderboard()
    expect(names(page)).to_have_count(8)
    page.get_by_label("null scorers").uncheck()
    expect(names(page)).to_have_text(["steady/scorer", "shaky/scorer"])
    page.get_by_role("button", name="Accuracy").click()  # the other way round
    expect(names(page)).to_have_text(["shaky/scorer", "steady/scorer"])
    page.get_by_role("textbox", name="Search").last.fill("shaky")
    expect(names(page)).to_have_text(["shaky/scorer"])
    expect(page.locator("#sa-charts figcaption")).to_have_text(["By dimension", "By source"])
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#sa-comparison")).to_contain_text("cannot be told apart with these 4 groups")


def test_on_a_phone_only_the_table_scrolls_sideways(leaderboard):
    page = leaderboard(color_scheme="dark", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    wide = page.locator(".sa-wide").first
    assert wide.evaluate("element => element.scrollWidth > element.clientWidth")
    bars = page.locator(".sa-bar-row").first
    expect(bars).to_have_attribute("aria-label", re.compile(r"^\S+: \d+\.\d percent"))


def test_says_how_to_submit(leaderboard):
    page = leaderboard()
    page.get_by_role("button", name="How to submit").click()
    expect(page.get_by_text("storyalign score your/model")).to_be_visible()
