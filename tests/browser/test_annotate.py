"""The annotation app: a real server process on a real store, people in browser contexts of their own."""

import contextlib
import re
import signal
import subprocess
import sys

from playwright.sync_api import expect

from storyalign.annotation.progress import progress_of
from storyalign.annotation.store import Store
from storyalign.files import write_jsonl
from tests.browser.test_rank import PHONE
from tests.support.annotated_groups import row, write_tasks
from tests.support.command import environment
from tests.support.shown_html import HOSTILE
from tests.support.space_serving import free_port, wait_for


@contextlib.contextmanager
def annotating(folder, *options, port=None):
    """Run ``storyalign annotate`` with warnings as errors; give its address and its process."""
    port = port or free_port()
    log, address = folder / "log.txt", f"http://127.0.0.1:{port}"
    command = [sys.executable, "-W", "error", "-m", "storyalign", "annotate"]
    command += [*map(str, options), "--store", str(folder / "store.sqlite"), "--port", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment())
    try:
        wait_for(server, address, log)
        yield address, server
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    printed = log.read_text()
    assert "Warning" not in printed and "Traceback" not in printed, printed


def verdicts(folder):
    return Store(folder / "store.sqlite").verdicts()


def sit_down(visit, address, name, **options):
    page = visit(address, first=None, **options)
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Start").click()
    return page


def open_all(page):
    for seat in range(4):
        page.locator(f"#an-tab-{seat}").click()


def candidate(page, seat):
    """Say which candidate of ``tests.support.annotated_groups`` lies on a seat."""
    story = page.locator(f"#an-story-{seat} .sa-story").text_content()
    return int(re.search(r"Story \d+-(\d+)", story)[1])


def save(page):
    page.locator("[data-save]").click()


def judged(page, count):
    expect(page.locator("#an-place")).to_contain_text(f"{count} judged by you")


def test_rank_from_the_keyboard_with_a_contradiction(visit, tmp_path):
    with annotating(tmp_path, write_tasks(tmp_path / "t.jsonl", 2)) as (address, _):
        page = sit_down(visit, address, "Ann")
        expect(page.locator(".an-missing")).to_have_text("Still to open: B, C, D")
        expect(page.locator("[data-unsure]")).to_be_disabled()
        for key, score in zip("abcd", "5803", strict=True):
            page.keyboard.press(key)
            page.keyboard.press(score)
        expect(page.locator(".an-order .an-letter")).to_have_text(["C", "B", "A", "D"])  # 10, 8, 5, 3
        page.keyboard.press("Shift+ArrowUp")
        page.keyboard.press("Shift+ArrowUp")
        expect(page.locator(".an-order .an-letter")).to_have_text(["C", "D", "B", "A"])
        expect(page.locator(".an-warning li")).to_have_text(
            ["D stands above B, but has 3 against 8", "D stands above A, but has 3 against 5"]
        )
        save(page)
        expect(page.locator("[data-save]")).to_have_text("Keep both and save")
        page.get_by_role("button", name="Move D down").click()
        expect(page.locator("[data-save]")).to_have_text("Save and go on")  # a change asks again
        page.get_by_role("button", name="Move D up").click()
        order = [candidate(page, seat) for seat in (2, 3, 1, 0)]
        scores = {candidate(page, seat): score for seat, score in enumerate((5, 8, 10, 3))}
        save(page)
        save(page)
        judged(page, 1)
        expect(page.locator(".sa-premise")).to_have_text("Premise 1")
        expect(page.locator(".an-missing")).to_have_text("Still to open: B, C, D")
        (one,) = verdicts(tmp_path)
        assert (one.id, one.verdict, list(one.ranking), one.contradictions) == ("g0", "reordered", order, 2)
        assert dict(enumerate(one.scores)) == scores


def test_confirm_change_and_undecided(visit, tmp_path):
    tasks = write_tasks(tmp_path / "t.jsonl", 3, ranking=[2, 0, 1, 3])
    with annotating(tmp_path, tasks) as (address, _):
        page = sit_down(visit, address, "Ann")
        open_all(page)
        page.get_by_role("button", name="The order is right").click()
        judged(page, 1)
        open_all(page)
        page.get_by_role("button", name="Change the order").click()
        page.locator(".an-order li").nth(1).get_by_role("button", name="up").click()
        save(page)
        judged(page, 2)
        open_all(page)
        page.get_by_role("button", name="I can't decide, keep this order").click()
        expect(page.get_by_text("You judged 3 groups. Thank you.")).to_be_visible()
    given = [(v.verdict, v.ranking) for v in verdicts(tmp_path)]
    assert given == [("confirmed", (2, 0, 1, 3)), ("reordered", (0, 2, 1, 3)), ("unsure", (2, 0, 1, 3))]


def test_is_the_human_story_best_or_unsure(visit, tmp_path):
    with annotating(tmp_path, write_tasks(tmp_path / "t.jsonl", 2, human=1)) as (address, _):
        page = sit_down(visit, address, "Ann")
        open_all(page)
        expect(page.locator("[data-save]")).to_be_disabled()
        seat = next(seat for seat in range(4) if candidate(page, seat) == 1)
        page.get_by_role("button", name=f"Story {'ABCD'[seat]} is the best").click()
        save(page)
        judged(page, 1)
        open_all(page)
        page.get_by_role("button", name="I can't decide").click()
        expect(page.get_by_text("You judged 2 groups. Thank you.")).to_be_visible()
    assert [(v.verdict, v.ranking) for v in verdicts(tmp_path)] == [("confirmed", (1,)), ("unsure", None)]


def test_goes_on_where_a_kill_left_off(visit, tmp_path):
    tasks = write_tasks(tmp_path / "t.jsonl", 2)
    with annotating(tmp_path, tasks) as (address, server):
        page = sit_down(visit, address, "Ann")
        expect(page.locator(".an-missing")).to_have_text("Still to open: B, C, D")
        page.keyboard.press("9")
        page.keyboard.press("b")
        page.keyboard.press("4")
        stories = [candidate(page, seat) for seat in range(4)]
        store = Store(tmp_path / "store.sqlite")
        me = store.sign_in("Ann")
        for _ in range(100):
            if store.claim_next(me).draft.get("scores") == {"0": 9, "1": 4}:
                break
            page.wait_for_timeout(100)
        else:
            raise AssertionError("the page never sent what was entered")
        server.kill()
        server.wait()
        page.goto("about:blank")
        port = int(address.rsplit(":", 1)[1])
    with annotating(tmp_path, port=port) as (address, _):
        page.goto(address)  # the browser knows who sits there
        expect(page.locator(".an-missing")).to_have_text("Still to open: C, D")
        expect(page.locator(".an-score")).to_have_text(["9 of 10", "4 of 10", "no score yet", "no score yet"])
        assert [candidate(page, seat) for seat in range(4)] == stories
        for key, score in zip("cd", "67", strict=True):
            page.keyboard.press(key)
            page.keyboard.press(score)
        page.locator("[data-save]").dblclick()
        judged(page, 1)
    (one,) = verdicts(tmp_path)
    assert [one.scores[c] for c in stories] == [9, 4, 6, 7]


def test_two_annotators_at_once_and_a_senior(visit, tmp_path):
    with annotating(tmp_path, write_tasks(tmp_path / "t.jsonl", 1), "--senior", "Cleo") as (address, _):
        ann, ben = sit_down(visit, address, "Ann"), sit_down(visit, address, "Ben")
        for page, best in ((ann, 0), (ben, 3)):
            open_all(page)
            for seat in range(4):
                page.locator(f"#an-tab-{seat}").click()
                page.keyboard.press("9" if candidate(page, seat) == best else str(candidate(page, seat) + 2))
        save(ann)
        save(ben)
        for page in (ann, ben):
            expect(page.get_by_text("You judged 1 group. Thank you.")).to_be_visible()
        senior = sit_down(visit, address, "Cleo")
        expect(senior.locator(".sa-note")).to_contain_text("Two annotators disagree")
        expect(senior.locator(".sa-note")).to_contain_text(
            re.compile(r"First annotator: [A-D] > [A-D] > [A-D] > [A-D]")
        )
        open_all(senior)
        for seat in range(4):
            senior.keyboard.press("abcd"[seat])
            senior.keyboard.press("8" if candidate(senior, seat) == 3 else str(candidate(senior, seat) + 2))
        save(senior)
        expect(senior.get_by_text("Nothing to settle")).to_be_visible()
        senior.get_by_role("tab", name="Progress").click()
        expect(senior.get_by_text("1 of 1 groups are settled")).to_be_visible()
        expect(senior.get_by_text("1 reordered; 1 by a senior")).to_be_visible()
        expect(senior.locator(".an-table").last).to_contain_text("alpha of places")
        expect(senior.locator("#an-dashboard")).not_to_contain_text("Ben")  # keys only
    progress = progress_of(Store(tmp_path / "store.sqlite"))
    assert progress.states == {"settled": 1, "disputed": 0, "open": 0}
    assert len(verdicts(tmp_path)) == 3


def test_stories_are_text_on_a_phone_in_the_dark(visit, tmp_path):
    given = row(0)
    given["prompt"] = HOSTILE[0]
    for place, story in enumerate(HOSTILE[1:5]):
        given["candidates"][place]["story"] = f"Story 0-{place} {story} \u200b\u202e" + "long" * 200
    tasks = tmp_path / "t.jsonl"
    write_jsonl(tasks, [given])
    with annotating(tmp_path, tasks) as (address, _):
        page = sit_down(visit, address, "אן <b>", color_scheme="dark", **PHONE)
        open_all(page)
        shown = [page.locator(f"#an-story-{seat} .sa-story").text_content() for seat in range(4)]
        assert sorted(shown) == sorted(c["story"] for c in given["candidates"])
        expect(page.locator(".sa-story *, .sa-premise *")).to_have_count(0)
        expect(page.locator(".sa-premise")).to_have_text(HOSTILE[0])
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        small = page.locator(".an-scale:visible [role=radio], .an-tabs button").evaluate_all(
            "all => all.filter(one => one.getBoundingClientRect().height < 40).length"
        )
        assert small == 0  # a thumb hits them
        background = page.locator(".an-story:visible").evaluate("one => getComputedStyle(one).backgroundColor")
        assert max(map(int, re.findall(r"\d+", background)[:3])) < 80


def test_sixteen_stories_for_best_of_n(visit, tmp_path):
    with annotating(tmp_path, write_tasks(tmp_path / "t.jsonl", 1, n=16, mode="best-of-n")) as (address, _):
        page = sit_down(visit, address, "Ann", **PHONE)
        for letter in "PONMLKJIHGFEDCBA":
            page.locator(f"#an-tab-{ord(letter) - 65}").click()
            page.get_by_role("button", name=f"Place {letter} next").click()
        page.get_by_role("button", name="Take P out").click()
        expect(page.locator(".an-missing")).to_have_text("Still to place: P")
        page.locator("#an-tab-15").click()
        page.get_by_role("button", name="Place P next").click()
        order = [candidate(page, seat) for seat in (*range(14, -1, -1), 15)]
        save(page)
        judged(page, 1)
    (one,) = verdicts(tmp_path)
    assert list(one.ranking) == order and one.scores is None


def test_who_is_not_on_the_list_stays_out(visit, tmp_path):
    with annotating(tmp_path, write_tasks(tmp_path / "t.jsonl", 1), "--annotator", "Ann") as (address, _):
        page = sit_down(visit, address, "Mallory")
        expect(page.get_by_role("alert")).to_contain_text("Mallory is not on the list")
        page.get_by_label("Your name").fill("ann")
        page.keyboard.press("Enter")
        expect(page.locator(".an-board")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Your name")).to_be_visible()
