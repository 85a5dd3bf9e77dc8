"""The report page in a real browser: light, dark and on paper, with nothing executed and nothing fetched."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tests.evaluation.test_presentation import ITEMS, build, html_report, instance


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    attack = "<script>document.title = 'broken'</script><b>bold</b>"
    items = [*ITEMS, *(instance(100 + n, prompt=f"{attack} {n}", chosen=f"{attack} story {n}") for n in range(5))]
    data, scored, results, comparisons = build(items)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_report(results, data, scored, comparisons), encoding="utf-8")
    return path


def opened(chromium, report, **options):
    page = chromium.new_page(**options)
    page.set_default_timeout(120_000)
    troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: troubles.append(request.url) if "report.html" not in request.url else None)
    page.goto(report.as_uri())
    return page, troubles


def brightness(page):
    picture = Image.open(io.BytesIO(page.screenshot())).convert("L")
    return float(np.median(np.asarray(picture)))


def test_light_dark_and_narrow(chromium, report):
    page, troubles = opened(chromium, report, color_scheme="light")
    assert brightness(page) > 200
    assert page.title() == "toy.jsonl · StoryAlign results"
    dark, more = opened(chromium, report, color_scheme="dark", viewport={"width": 400, "height": 800})
    assert brightness(dark) < 60
    assert dark.evaluate("document.documentElement.scrollWidth") <= 400  # wide tables scroll inside
    assert troubles == more == []


def test_stories_are_text_and_open_on_demand(chromium, report):
    page, _ = opened(chromium, report)
    groups = page.locator(".stories details")
    assert groups.count() > 1
    second = groups.nth(1)
    assert not second.locator(".story").first.is_visible()
    second.locator("summary").click()
    assert second.locator(".story").first.is_visible()
    assert page.locator(".story b, summary b, .prompt b").count() == 0


def test_paper_shows_every_story(chromium, report):
    page, _ = opened(chromium, report)
    page.emulate_media(media="print")
    stories = page.locator(".story")
    assert stories.count() > 2
    assert all(stories.nth(n).is_visible() for n in range(stories.count()))
    assert len(page.pdf(format="A4")) > 10_000
