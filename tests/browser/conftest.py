"""A real server process and a real browser; tests skip with the reason where no Chromium is installed."""

import shutil
from pathlib import Path

import pytest

from tests.support.space_serving import serving

HERE = Path(__file__).resolve().parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium installed; on Debian: apt-get install chromium"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("server") / "log.txt") as address:
        yield address


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Visitor:
    """One browser context; it notes errors of the page and requests that leave the server."""

    def __init__(self, chromium, address, first="Rank", **options):
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.errors, self.foreign = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url, address))
        self.page.goto(address)
        if first:
            self.page.get_by_role("tab", name=first).wait_for()

    def _note(self, url, address):
        if not url.startswith((address, "data:", "blob:")):
            self.foreign.append(url)


@pytest.fixture
def visit(chromium, server):
    visitors = []

    def come(address=None, **options):
        visitors.append(Visitor(chromium, address or server, **options))
        return visitors[-1].page

    yield come
    for visitor in visitors:
        visitor.context.close()
    for visitor in visitors:
        assert visitor.errors == []
        assert visitor.foreign == []  # nothing is fetched from elsewhere: no fonts, no trackers
