from playwright.sync_api import expect


def come(visit):
    page = visit()
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
