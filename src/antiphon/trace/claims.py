"""What reproducing a paper yields: a verdict per claim, beside the paper's own words and numbers.

Law: ``holds`` and ``does not hold`` are said only of what was run and judged; whatever this
machine or this system cannot show is ``cannot be compared``, with the reason. Every number here
comes from a run, but those that are marked as the paper's.

    reproduction.json  all of it
    tables/            a CSV file per claim that has a table
    figures/           an SVG file per claim that has a figure
    report.html        the reproduction as one page
"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from antiphon.core.errors import TraceError

REPRODUCTION_FILE = "reproduction.json"


class ClaimVerdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    INCOMPARABLE = "cannot be compared"


class Series(msgspec.Struct, kw_only=True):
    """One line of a figure."""

    name: str
    points: Sequence[tuple[float, float]]
    is_paper: bool = False
    """Whether these are the paper's numbers, or what it predicts; otherwise they were measured."""


class FigureData(msgspec.Struct, kw_only=True):
    """A figure: lines over a common axis, or bars."""

    title: str
    x_name: str
    y_name: str
    series: list[Series]
    categories: list[str] = []
    """If there are some, each has a bar per series; a point's first number is the category's."""


class TableData(msgspec.Struct, kw_only=True):
    """A table: words and numbers as they are to be shown."""

    columns: list[str]
    rows: list[list[str]]


class ClaimResult(msgspec.Struct, kw_only=True):
    """A claim, and what became of it."""

    paper: str
    section: str
    name: str
    words: str
    """What is claimed, in our words."""
    paper_value: str
    our_value: str
    verdict: ClaimVerdict
    why: str
    assumptions: list[str] = []
    table: TableData | None = None
    figure: FigureData | None = None
    replay: str
    seconds: float = 0.0


class Reproduction(msgspec.Struct, kw_only=True):
    """The contents of ``reproduction.json``."""

    papers: list[str]
    antiphon: str
    python: str
    machine: str
    is_quick: bool
    replay: str
    claims: list[ClaimResult] = []

    def count(self, verdict: ClaimVerdict) -> int:
        """Return how many claims have this verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)


def read_reproduction(folder: Path) -> Reproduction:
    """Return what a folder tells."""
    file = folder / REPRODUCTION_FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=Reproduction)
    except OSError as error:
        message = f"{file}: cannot be read ({error.strerror}): give the folder of a reproduction"
        raise TraceError(message) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"{file}:1: damaged: run antiphon reproduce again"
        raise TraceError(message) from error
