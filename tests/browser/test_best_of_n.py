from playwright.sync_api import expect

from tests.support.fake_endpoint import endpoint
from tests.support.space_serving import serving


def come(visit, address=None):
    page = visit(address)
    page.get_by_role("tab", name="Best of N").click()
    page.get_by_label("Your idea").fill("Two bakers")
    return page


def test_drafts_are_ranked_as_they_come(visit):
    page = come(visit)
    page.get_by_label("number input for Stories").fill("2")
    page.get_by_role("button", name="Write and rank").click()
    expect(page.locator("#sa-drafts .sa-card h3")).to_have_text(["Draft 2", "Draft 1"])
    expect(page.locator("#sa-drafts-said")).to_have_text("")


def test_stop_keeps_what_is_there(visit):
    page = come(visit)
    page.get_by_label("number input for Stories").fill("8")
    page.get_by_role("button", name="Write and rank").click()
    expect(page.locator("#sa-drafts .sa-card").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#sa-drafts-said")).to_have_text("Stopped. What is there stays; no more is written.")
    assert page.locator("#sa-drafts .sa-card").count() < 8


def test_stop_ends_the_calls_too(visit, tmp_path):
    # Each call takes 0.3 s longer than the one before it: eight of them would take over ten seconds.
    with endpoint(["a reward=1"], seconds=0.3) as (fake, address), serving(tmp_path / "log", "--writer", address) as at:
        page = come(visit, at)
        page.get_by_label("number input for Stories").fill("8")
        page.get_by_role("button", name="Write and rank").click()
        expect(page.locator("#sa-drafts .sa-card").first).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#sa-drafts-said")).to_contain_text("Stopped")
        page.wait_for_timeout(2_500)  # the call under way ends
        asked = len(fake.requests)
        page.wait_for_timeout(4_000)
        assert len(fake.requests) == asked < 8
