"""The page in a real browser: it draws, quickly; it moves; nothing in a trace becomes code."""

from pathlib import Path

import pytest
from tests.oracle.known_domains import chain, in_domain
from tests.report.chromium import BROWSER, Chromium
from tests.report.test_page import EVIL, chat_page, simulated, unjudged, write
from tests.report.worlds import verdict_on

from antiphon.report.making import make_page
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")

SAID = "document.getElementById('said').textContent"
PICTURE = "document.getElementById('picture')"
TIP = "document.getElementById('tip').textContent"
PIXELS = f"{PICTURE}.toDataURL()"


def saved(page: str, folder: Path) -> Path:
    """Return the file that a page was written to."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    return file


def drawn_ms(browser: Chromium) -> int:
    """Return how long after the beginning of loading the first picture was drawn."""
    return int(browser.ask("document.documentElement.dataset.drawnMs"))


@pytest.mark.parametrize("width", [360, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_violation_is_what_is_shown_first(tmp_path: Path, width: int, scheme: str) -> None:
    """The diagram is drawn without a complaint, the witness told; nothing is too wide."""
    page = saved(chat_page(tmp_path), tmp_path)
    with Chromium(tmp_path, width) as browser:
        browser.prefer(scheme)
        browser.open(page)
        assert browser.complaints == []
        assert browser.asked == [page.as_uri()]
        said = "causal: C delivered message 1 of B, but only later message 1 of A"
        assert browser.ask(SAID).startswith(said)
        label = browser.ask(f"{PICTURE}.getAttribute('aria-label')")
        assert label == "Space-time diagram of 3 processes and 6 events"
        assert browser.ask("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chain_over_groups_is_drawn(tmp_path: Path, width: int, scheme: str) -> None:
    """Without a complaint; nothing is too wide."""
    path = write(tmp_path / "groups.ndjson", in_domain(chain()))
    page = saved(make_page(path, verdict_on(read_rows(path)), None), tmp_path)
    with Chromium(tmp_path, width) as browser:
        browser.prefer(scheme)
        browser.open(page)
        assert browser.complaints == []
        assert browser.ask("document.documentElement.scrollWidth") == width
        assert browser.ask(SAID).startswith("causal: e delivered message 1 of c (group C, view 1)")


def test_toolbar_of_several_groups_fits_a_phone(tmp_path: Path) -> None:
    """With one more list to choose from, nothing is wider than the page; choosing redraws."""
    events = [
        Event(process=process, kind="multicast", group=group, first=1)
        for group in ("lobby", "a room with a name as long as names of rooms are")
        for process in ("a process with a long name", "B")
    ]
    path = write(tmp_path / "groups.ndjson", events)
    page = saved(make_page(path, unjudged(4), None), tmp_path)
    with Chromium(tmp_path, 360) as browser:
        browser.open(page)
        assert browser.complaints == []
        assert browser.ask("document.documentElement.scrollWidth") == 360
        before = browser.ask(PIXELS)
        browser.ask(
            "(() => { const list = document.getElementById('group'); list.value = 'lobby';"
            "list.dispatchEvent(new Event('change')); })()"
        )
        browser.settle()
        assert browser.ask(PIXELS) != before


def test_window_moves_by_mouse_wheel_keys_and_buttons(tmp_path: Path) -> None:
    """Each of them changes the picture, and `0` shows everything again."""
    with Chromium(tmp_path) as browser:
        browser.open(saved(chat_page(tmp_path), tmp_path))
        top = browser.ask(f"{PICTURE}.getBoundingClientRect().top")
        browser.ask(f"{PICTURE}.focus()")
        browser.press("0")
        seen = [browser.ask(PIXELS)]
        browser.wheel(640, top + 100, -50)
        seen.append(browser.ask(PIXELS))
        browser.drag((640, top + 100), (500, top + 100))
        seen.append(browser.ask(PIXELS))
        browser.press("ArrowLeft")
        seen.append(browser.ask(PIXELS))
        browser.press("-")
        seen.append(browser.ask(PIXELS))
        browser.ask("document.getElementById('in').click()")
        browser.settle()
        seen.append(browser.ask(PIXELS))
        assert len(set(seen)) == len(seen)
        browser.press("0")
        assert browser.ask(PIXELS) == seen[0]
        assert browser.complaints == []


def test_event_is_told_to_mouse_and_keyboard(tmp_path: Path) -> None:
    """Pointing shows what, and where it is recorded; so do steps along the lines."""
    with Chromium(tmp_path) as browser:
        browser.open(saved(chat_page(tmp_path), tmp_path))
        browser.ask(f"{PICTURE}.focus()")
        browser.press("ArrowDown", "ArrowDown")
        told = browser.ask(SAID)
        assert told.startswith("B delivered message 1 of A · view 1 · ")
        assert told.endswith("chat.ndjson:2")
        assert browser.ask("document.getElementById('tip').hidden") is False
        browser.press(".")
        assert browser.ask(SAID).startswith("B multicast message 1 of B")
        x = browser.ask("parseFloat(document.getElementById('tip').style.left) - 14")
        y = browser.ask("parseFloat(document.getElementById('tip').style.top) - 16")
        browser.press("Escape")
        assert browser.ask("document.getElementById('tip').hidden") is True
        corner = f"{PICTURE}.getBoundingClientRect()"
        browser.point(browser.ask(f"{corner}.left") + x + 2, browser.ask(f"{corner}.top") + y - 2)
        assert browser.ask(TIP).startswith("B multicast message 1 of B")
        browser.point(5, 5)
        assert browser.ask("document.getElementById('tip').hidden") is True


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    """A trace of frames alone has a page without a picture, and no complaint."""
    path = write(tmp_path / "frames.ndjson", [Event(process="A", kind="send_frame")])
    with Chromium(tmp_path) as browser:
        browser.open(saved(make_page(path, unjudged(1), None), tmp_path))
        assert browser.complaints == []
        assert browser.ask(SAID) == "The trace has no event that can be drawn."
        assert browser.ask("document.getElementById('stage').hidden") is True


def test_moment_is_gone_to_from_list_and_explanation(tmp_path: Path) -> None:
    """The list has the violation, beginning and end; the table's button brings back the first."""
    with Chromium(tmp_path) as browser:
        browser.open(saved(chat_page(tmp_path), tmp_path))
        labels = browser.ask("[...document.getElementById('moment')].map((entry) => entry.text)")
        assert labels[0].startswith("✗ causal: C delivered message 1 of B")
        assert labels[1:] == ["the beginning", "the end"]
        browser.ask(f"{PICTURE}.focus()")
        browser.press("n")
        assert browser.ask(SAID) == ""
        browser.ask("document.querySelector('button.show').click()")
        assert browser.ask(SAID).startswith("causal: ")


def test_picture_is_kept_as_svg(tmp_path: Path) -> None:
    """What is saved is an image that a browser can read, with the names in it as text."""
    with Chromium(tmp_path) as browser:
        browser.open(saved(chat_page(tmp_path, EVIL), tmp_path))
        # Instead of saving, keep what would be saved.
        browser.ask(
            "globalThis.kept = [];"
            "URL.createObjectURL = (blob) => { kept.push(blob); return '#'; };"
            "for (const button of document.querySelectorAll('#save, .save')) button.click();"
        )
        roots = browser.ask(
            "Promise.all(kept.map((blob) => blob.text())).then((texts) => texts.map((text) => "
            "new DOMParser().parseFromString(text, 'image/svg+xml').documentElement.nodeName))"
        )
        assert roots == ["svg"] * 2


def test_names_of_a_trace_are_not_run(tmp_path: Path) -> None:
    """A name that is markup stays text in everything that the script makes of it."""
    with Chromium(tmp_path) as browser:
        browser.open(saved(chat_page(tmp_path, EVIL), tmp_path))
        browser.ask(f"{PICTURE}.focus()")
        browser.press("ArrowDown", ".")
        assert browser.complaints == []
        assert EVIL[:20] in browser.ask(TIP)
        assert browser.ask("document.images.length") == 0
        assert browser.ask("document.scripts.length") == 2


def test_first_picture_of_100_000_events_is_there_within_two_seconds(tmp_path: Path) -> None:
    """The bar is 2 s from the beginning of loading, measured by the page itself."""
    path = write(tmp_path / "big.ndjson", list(simulated(15_000)))
    page = saved(make_page(path, unjudged(100_000), None), tmp_path)
    with Chromium(tmp_path) as browser:
        browser.open(page)
        assert browser.complaints == []
        assert drawn_ms(browser) < 2_000
        browser.ask(f"{PICTURE}.focus()")
        browser.press("0")
        took_ms = browser.ask(
            "new Promise((done) => { const begin = performance.now();"
            "document.getElementById('in').click();"
            "requestAnimationFrame(() => done(performance.now() - begin)); })"
        )
        assert took_ms < 1_000
