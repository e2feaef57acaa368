"""Verdicts as a terminal of any width shows them, without another process."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console
from tests.oracle.known_domains import chain, in_domain
from tests.trace.hand_written import deliver, multicast

from antiphon.cli import screen
from antiphon.cli.screen import verdict_screen
from antiphon.oracle import judge
from antiphon.trace.verdict import EXAMPLES_MAX, Property, Terms, Verdict

FILE = "/".join(["a-folder-with-a-rather-long-name"] * 3) + "/000001.ndjson"
ROWS = [multicast("A", 1, 5), *(deliver("B", "A", number) for number in (5, 4, 3, 2, 1))]


def verdict() -> Verdict:
    """Return a verdict with four violations of fifo order, in a file far away."""
    return judge([(row, FILE, line) for line, row in enumerate(ROWS, 1)], "run")


Shown = Callable[[int, Verdict], list[str]]


@pytest.fixture(params=["utf-8", "ascii"])
def shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return a way to show a verdict on a terminal of a width, with few letters or many."""

    def lines(width: int, made: Verdict) -> list[str]:
        file = io.TextIOWrapper(io.BytesIO(), encoding=request.param)
        console = Console(file=file, width=width, highlight=False, color_system=None)
        monkeypatch.setattr(screen, "output", console)
        console.print(verdict_screen(made))
        file.seek(0)
        return file.read().splitlines()

    return lines


@pytest.mark.parametrize("width", [40, 60, 80, 400])
def test_file_and_line_of_evidence_are_never_cut(shown: Shown, width: int) -> None:
    """Taken together, the lines of the screen have every place whole; none is too long."""
    lines = shown(width, verdict())
    assert max(map(len, lines)) <= width
    assert not any("…" in line or "..." in line for line in lines)
    joined = "".join(line.strip() for line in lines)
    for link in (link for item in verdict().of(Property.FIFO).violations for link in item.chain):
        assert f"{FILE}:{link.line}" in joined, lines


@pytest.mark.parametrize("width", [60, 80])
def test_every_property_and_its_verdict_fit_a_narrow_terminal(shown: Shown, width: int) -> None:
    """Names and marks are whole, and nothing is but ASCII where it must be."""
    lines = shown(width, verdict())
    for item in verdict().properties:
        row = next(line for line in lines if line.startswith(f"{item.property.value} "))
        assert item.status.value in row
    is_marked = any("✓" in line for line in lines)
    assert is_marked != all(map(str.isascii, lines))


def test_terminal_explains_as_many_violations_as_json_does(shown: Shown) -> None:
    """Three of four, and it says that there is one more."""
    lines = shown(100, judge(ROWS, terms=Terms(only=(Property.FIFO,))))
    titles = [line for line in lines if re.match(r"fifo: B delivered", line)]
    assert len(titles) == EXAMPLES_MAX == len(verdict().of(Property.FIFO).violations)
    assert "fifo: and 1 more" in lines


def test_chain_over_groups_is_told_in_one_line(shown: Shown) -> None:
    """Who told whom, in which group, and what was missing where."""
    text = "\n".join(shown(100, judge(in_domain(chain()))))
    plain = text.replace("─", "-").replace("→", "->")
    assert "a -A-> b -B-> c -C-> e, but a -A-> e only later" in plain


def test_brackets_in_names_are_shown_as_they_are(shown: Shown) -> None:
    """A process may be called anything, also what a terminal library takes for markup."""
    rows = [deliver("[bold]", "[/red]", 1), deliver("B", "[/red]", 1)]
    lines = shown(300, judge(rows))
    assert any("[/red]" in line for line in lines)


@pytest.mark.parametrize(("total", "said"), [(None, False), (4, True)])
def test_bar_of_what_nobody_can_count_has_no_count(
    monkeypatch: pytest.MonkeyPatch, total: int | None, *, said: bool
) -> None:
    """Starting Spark is not 0 of anything."""
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(screen, "progress_output", console)
    with screen.progress_bar("starting", total) as (bar, _):
        bar.refresh()
    assert "starting" in file.getvalue()
    assert ("0/4" in file.getvalue()) == said
    assert "0/?" not in file.getvalue()
