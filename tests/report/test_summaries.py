"""Pages of sweeps and reproductions: what is on them, and that data stays data."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.report.chromium import BROWSER, Chromium

from antiphon.report.claims_page import claims_page
from antiphon.report.series import figure_file, series_plot
from antiphon.report.sweep_page import sweep_page
from antiphon.trace.claims import (
    ClaimResult,
    ClaimVerdict,
    FigureData,
    Reproduction,
    Series,
    TableData,
)
from antiphon.trace.sweep_folder import CellResult, SweepRecord

EVIL = '<script>alert(1)</script>"&'

FIGURE = FigureData(
    title="Messages", x_name="members", y_name="messages",
    series=[
        Series(name="measured", points=[(4, 12), (8, 50)]),
        Series(name="n^2", points=[(4, 16), (8, 64)], is_paper=True),
    ],
)  # fmt: skip


def reproduction(words: str = "It costs n^2.") -> Reproduction:
    """Return one with a claim of each verdict."""
    claims = [
        ClaimResult(
            paper="ISIS", section=f"5.{number}", name=f"c{number}", words=words, paper_value="n^2",
            our_value="50", verdict=verdict, why=words, assumptions=[words],
            replay=f"again {number}",
            table=TableData(columns=["n", words], rows=[["4", "12"], [words, "50"]]),
            figure=FIGURE if number == 0 else None,
        )
        for number, verdict in enumerate(ClaimVerdict)
    ]  # fmt: skip
    return Reproduction(
        papers=["isis"], antiphon="1", python="3", machine="m", is_quick=True, replay="again",
        claims=claims,
    )  # fmt: skip


def sweep(name: str = "orders") -> tuple[SweepRecord, list[CellResult]]:
    """Return a sweep of two sizes and two orders, with a bad cell."""
    results = [
        CellResult(
            digest=f"{order}{size}", seed=1, parameters={"processes": size, "order": order},
            status="done", replay=f"simulate {name}", properties={"causal": "holds"},
            counts={"messages": 10, "header_bytes": 100},
            measures={"delivery_delay": {"p50": 1000.0 * size, "p99": 5000.0}},
        )
        for order in ("causal", "total") for size in (3, 5)
    ]  # fmt: skip
    results[-1].properties["causal"] = "violated"
    record = SweepRecord(
        name=name, antiphon="1", code="x", fixed={"messages": 10},
        grid={"order": ["causal", "total"], "processes": [3, 5]}, seeds=[1],
        cells=[each.digest for each in results], replay="antiphon sweep",
    )  # fmt: skip
    return record, results


class _Tags(HTMLParser):
    """Collects what elements a page has."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__()
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count scripts."""
        self.scripts += tag == "script"


def test_claims_are_told_with_their_verdicts() -> None:
    """Tallies, the paper's value beside ours, figure, numbers, assumptions, how to run it again."""
    page = claims_page(reproduction())
    assert "1 holds</span>" in page
    assert "1 does not hold</span>" in page
    assert "1 cannot be compared</span>" in page
    assert page.count("<article") == 3
    assert page.count("<figure>") == 1
    assert "again 2" in page
    assert "It costs n^2." in page


def test_sweep_shows_lines_and_what_to_look_at() -> None:
    """A line per order over the size, and the bad cell with its command."""
    page = sweep_page(*sweep())
    assert "</b> 1 cell breaks a promise</p>" in page
    assert "4 cells · 1 seed · 2 of order times 2 of processes" in page
    assert "Each point is one cell, of the one seed." in page
    assert "violated: causal" in page
    assert "By processes" in page
    assert ">causal</text>" in page
    assert ">total</text>" in page
    assert "Delivery delay, median (ms)" in page
    assert "Held back" not in page, "nothing was measured of it"


def test_line_has_the_same_colour_in_every_figure() -> None:
    """Also where another line has nothing to show; and large numbers are written out."""
    record, results = sweep()
    for each in results:
        if each.parameters["order"] == "total":
            each.measures["view_change"] = {"p50": 1_410_000.0}
    page = sweep_page(record, results)
    [figure] = re.findall(r"<figure>(?:(?!</figure>).)*View change.*?</figure>", page, re.DOTALL)
    assert ">total</text>" in figure
    assert ">causal</text>" not in figure
    assert 'class="line l1"' in figure
    assert 'class="line l0"' not in figure
    assert "<td>1,410</td>" in page


def test_papers_of_a_reproduction_are_listed() -> None:
    """As one would say them."""
    found = reproduction()
    for claim, paper in zip(found.claims, ("ISIS", "Uniform", "Blocks"), strict=True):
        claim.paper = paper
    assert "ISIS, Uniform and Blocks, claim by claim" in claims_page(found)
    found.claims = []
    assert ", claim by claim" in claims_page(found)


def test_sweep_that_is_not_finished_says_so() -> None:
    """Three of four."""
    record, results = sweep()
    assert "1 of 4 cells is not finished" in sweep_page(record, results[:3])


def test_sweep_without_numbers_to_vary_has_no_figures() -> None:
    """Only the table."""
    record, results = sweep()
    record.grid = {"order": ["causal", "total"]}
    page = sweep_page(record, results)
    assert "<figure>" not in page
    assert "Numbers" in page


@pytest.mark.parametrize("kind", ["claims", "sweep"])
def test_data_stays_data(kind: str) -> None:
    """Whatever a folder says, there is one script, and it is ours."""
    page = claims_page(reproduction(EVIL)) if kind == "claims" else sweep_page(*sweep(EVIL))
    tags = _Tags()
    tags.feed(page)
    assert tags.scripts == 1
    assert EVIL not in page
    assert re.search(r"(src|href)=\"(?!#)", page) is None


def test_paper_has_the_colour_of_what_it_is_compared_with() -> None:
    """Dashed, and without dots."""
    drawn = series_plot(FIGURE)
    assert 'class="line l0"' in drawn
    assert 'class="line l0 paper"' in drawn
    assert drawn.count("<circle") == 2
    assert "<style>" in figure_file(FIGURE)


def test_categories_have_bars() -> None:
    """One for each series that has a value there, with the value."""
    bars = FigureData(
        title="Layers", x_name="layer", y_name="%", categories=["ours", "both"],
        series=[
            Series(name="here", points=[(0, 40), (1, 60)]),
            Series(name="paper", points=[(1, 100)], is_paper=True),
        ],
    )  # fmt: skip
    drawn = series_plot(bars)
    assert drawn.count('<rect class="d0"') == 3
    assert drawn.count('<rect class="d1"') == 2
    assert ">60 %</text>" in drawn


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_a_browser(tmp_path: Path, width: int) -> None:
    """Nothing is too wide, nothing is asked of the network, figures can be saved."""
    pages = {"claims": claims_page(reproduction()), "sweep": sweep_page(*sweep())}
    for name, text in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        with Chromium(tmp_path / name, width) as browser:
            browser.open(file)
            assert browser.complaints == []
            assert browser.asked == [file.as_uri()]
            assert browser.ask("document.documentElement.scrollWidth") == width
            assert browser.ask("document.querySelector('.save').hidden") is False
            if name == "claims":  # green, red and ochre, on a phone too
                colours = browser.ask(
                    "[...document.querySelectorAll('.mark')].map((e) => getComputedStyle(e).color)"
                )
                assert len(set(colours)) == 3


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_values_of_the_grid_are_not_broken_within_a_word(tmp_path: Path) -> None:
    """However many columns of numbers there are beside them; heads are above their numbers."""
    record, results = sweep()
    for each in results:
        quantiles = {"p50": 1000.0, "p99": 5000.0}
        names = ("delivery_delay", "hold_time", "stability_lag", "queue_length", "view_change")
        each.measures = dict.fromkeys(names, quantiles)
    file = tmp_path / "sweep.html"
    file.write_text(sweep_page(record, results), encoding="utf-8")
    with Chromium(tmp_path / "sweep", 900) as browser:
        browser.open(file)
        heights = browser.ask(
            "[...document.querySelectorAll('.numbers tbody tr')].map((row) => row.clientHeight)"
        )
        assert len(set(heights)) == 1
        assert heights[0] < 40
        sides = browser.ask(
            "[...document.querySelectorAll('.numbers th')].map((head, place) => [head, "
            "document.querySelectorAll('.numbers tbody tr:first-child td')[place]].map("
            "(cell) => getComputedStyle(cell).textAlign))"
        )
        assert all(head == cell for head, cell in sides)
