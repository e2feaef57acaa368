"""The page in a real browser: it draws, quickly, and nothing in a trace becomes code."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.test_page import EVIL, chat_page, simulated, unjudged, write

from antiphon.report.making import make_page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-logging=stderr", "--hide-scrollbars",
)  # fmt: skip


def dom_of(page: str, folder: Path, *flags: str) -> tuple[str, str]:
    """Return the document after its scripts have run, and what they complained of."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [
            str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, "\n".join(complaints)


def drawn_ms(document: str) -> int:
    """Return how long after the beginning of loading the first picture was drawn."""
    found = re.search(r'<html[^>]* data-drawn-ms="(\d+)"', document)
    assert found, "the script did not come to its end"
    return int(found[1])


@pytest.mark.parametrize("width", [360, 1280])
def test_violation_is_what_is_shown_first(tmp_path: Path, width: int) -> None:
    """The diagram is drawn without a complaint, the witness chosen and told."""
    document, complaints = dom_of(chat_page(tmp_path), tmp_path, f"--window-size={width},900")
    assert not complaints
    assert drawn_ms(document) >= 0
    said = re.search(r'<p id="said"[^>]*>([^<]*)<', document)
    assert said is not None
    assert said[1].startswith("causal: C delivered message 1 of B, but only later message 1 of A")
    assert 'aria-label="Space-time diagram of 3 processes and 6 events"' in document
    assert document.count("<option") == 1 + 2 + 1  # the violation, begin and end, the axis


def test_names_of_a_trace_are_not_run(tmp_path: Path) -> None:
    """A name that is markup stays text in everything that the script makes of it."""
    document, complaints = dom_of(chat_page(tmp_path, EVIL), tmp_path)
    assert not complaints
    assert drawn_ms(document) >= 0
    assert "<img" not in document
    assert document.count("<script") == 2


def test_first_picture_of_100_000_events_is_there_within_two_seconds(tmp_path: Path) -> None:
    """The bar is 2 s from the beginning of loading, measured by the page itself."""
    path = write(tmp_path / "big.ndjson", list(simulated(15_000)))
    page = make_page(path, unjudged(100_000), None)
    document, complaints = dom_of(page, tmp_path)
    assert not complaints
    assert drawn_ms(document) < 2_000
