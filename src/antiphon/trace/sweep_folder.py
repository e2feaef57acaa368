"""The folder of a sweep: what lies where in it.

Law: a cell's result is one file, written whole, named after the digest of everything that it is a
function of. So a sweep that was killed has lost the cells that were under way, and no others.

    sweep.json       the experiment, and which cells belong to it, in order
    cells/           a result per cell, as JSON
    results.parquet  all of them as one table
    report.html      the sweep as one page
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from antiphon.core.errors import TraceError, UsageError
from antiphon.trace.run_folder import write_whole

SWEEP_FILE = "sweep.json"
_CELLS = "cells"


class CellResult(msgspec.Struct, kw_only=True):
    """What became of one cell."""

    digest: str
    seed: int
    parameters: dict[str, Any]
    status: Literal["done", "failed"]
    error: str = ""
    """Why it failed."""
    replay: str
    """The command that simulates it again, into a run folder."""
    properties: dict[str, str] = {}
    """The verdict: ``holds``, ``violated`` or ``unknown`` by property."""
    counts: dict[str, int] = {}
    """Events, messages, deliveries, copies and the like."""
    measures: dict[str, dict[str, float]] = {}
    """Count, mean, quantiles and extremes, by measure (docs/measures.md)."""
    seconds: float = 0.0
    """How long it took to simulate, judge and measure it."""

    @property
    def violated(self) -> list[str]:
        """Return the properties that are violated."""
        return [name for name, status in self.properties.items() if status == "violated"]


class SweepRecord(msgspec.Struct, kw_only=True):
    """The contents of ``sweep.json``."""

    name: str
    antiphon: str
    """Version of Antiphon."""
    code: str
    """Digest of the code that simulates, judges and measures."""
    fixed: dict[str, Any]
    """Parameters that all cells share, defaults included."""
    grid: dict[str, list[Any]]
    """Parameters that vary, with their values."""
    seeds: list[int]
    cells: list[str]
    """Digests, in order: the last parameter varies first, seeds before all."""
    replay: str
    """The command that sweeps again."""


class SweepFolder:
    """A sweep on disk."""

    def __init__(self, path: Path) -> None:
        """Take a folder; nothing is read or made yet."""
        self.path = path
        self.cells_path = path / _CELLS
        self.results_path = path / "results.parquet"
        self.report_path = path / "report.html"

    def begin(self, record: SweepRecord) -> None:
        """Make the folder and its ``sweep.json``; cells that are there already stay."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()) and not (self.path / SWEEP_FILE).is_file():
                what = "has files in it that are not a sweep's: choose another folder with --out"
                message = f"{self.path}: {what}"
                raise UsageError(message)
            self.cells_path.mkdir(exist_ok=True)
            text = msgspec.json.format(msgspec.json.encode(record), indent=2)
            write_whole(self.path / SWEEP_FILE, text + b"\n")
        except OSError as error:
            what = f"cannot be written ({error.strerror}): choose another folder with --out"
            message = f"{self.path}: {what}"
            raise UsageError(message) from error

    def record(self) -> SweepRecord:
        """Return what was swept."""
        file = self.path / SWEEP_FILE
        try:
            return msgspec.json.decode(file.read_bytes(), type=SweepRecord)
        except OSError as error:
            message = f"{file}: cannot be read ({error.strerror}): give the folder of a sweep"
            raise TraceError(message) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"{file}:1: damaged: sweep again, finished cells are kept"
            raise TraceError(message) from error

    def result(self, digest: str) -> CellResult | None:
        """Return what became of a cell; None: it is not finished, or its file is damaged."""
        try:
            data = (self.cells_path / f"{digest}.json").read_bytes()
            return msgspec.json.decode(data, type=CellResult)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def keep(self, result: CellResult) -> None:
        """Keep a result."""
        write_whole(self.cells_path / f"{result.digest}.json", msgspec.json.encode(result))

    def results(self) -> list[CellResult]:
        """Return the results of all cells that are finished, in order."""
        found = (self.result(digest) for digest in self.record().cells)
        return [result for result in found if result is not None]
