"""Claims run one after the other, and what is written: JSON, tables, figures.

Law: what is finished is on disk before the next claim begins, so a run that is stopped leaves what
it has. A claim that cannot be run here says so, and the others go on; so they do where something
cannot be written, and what was found is told with that.
"""

import csv
import io
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.report.series import figure_file
from antiphon.reproduction import blocks, counts, sockets, table_1, uniform
from antiphon.reproduction.claim import Claim, Effort, Measured
from antiphon.reproduction.overlay import crossover, figures, flooding, queues
from antiphon.trace.claims import (
    REPRODUCTION_FILE,
    ClaimResult,
    ClaimVerdict,
    Reproduction,
    TableData,
)
from antiphon.trace.run_folder import write_whole

PAPERS: dict[str, tuple[Callable[[], Iterator[Claim]], ...]] = {
    "isis": (counts.claims, table_1.claims, sockets.claims),
    "uniform": (uniform.claims,),
    "blocks": (blocks.claims,),
    "overlay": (flooding.claims, crossover.claims, figures.claims, queues.claims),
}
"""Claims by paper; a new paper is a line."""

OnClaim = Callable[[str, int, int], None]
"""Told which claim begins, how many are done, and of how many."""


class UnkeptError(UsageError):
    """Not everything that was found could be written down."""

    def __init__(self, message: str, found: Reproduction) -> None:
        """Take what to say, and what was found."""
        super().__init__(message)
        self.found = found


def claims_of(papers: Sequence[str]) -> list[Claim]:
    """Return the claims of some papers, in order."""
    return [claim for paper in papers for part in PAPERS[paper] for claim in part()]


def reproduce(
    papers: Sequence[str], effort: Effort, folder: Path, replay: str, version: str,
    on_claim: OnClaim = lambda _name, _done, _total: None, claims: Sequence[Claim] | None = None,
) -> Reproduction:  # fmt: skip
    """Run the claims of some papers, and write down what became of them."""
    _prepare(folder)
    chosen = claims_of(papers) if claims is None else list(claims)
    found = Reproduction(
        papers=list(papers), antiphon=version, python=platform.python_version(),
        machine=f"{platform.machine()}, {os.cpu_count()} cores", is_quick=effort.is_quick,
        replay=replay,
    )  # fmt: skip
    refused: OSError | None = None
    for number, claim in enumerate(chosen):
        on_claim(f"{claim.paper} {claim.name}", number, len(chosen))
        found.claims.append(run_claim(claim, effort))
        try:
            _save(folder, found)
        except OSError as error:
            refused = refused or error
    on_claim("", len(chosen), len(chosen))
    if refused is not None:
        message = f"{folder}: cannot be written ({refused.strerror}): make room for it"
        raise UnkeptError(message, found) from refused
    return found


def run_claim(claim: Claim, effort: Effort) -> ClaimResult:
    """Measure and judge one claim."""
    begin_s = time.perf_counter()
    found = Measured(value="not run")
    try:
        if claim.measure is not None:
            found = claim.measure(effort)
        verdict, why = claim.judge(found)
    except (AntiphonError, OSError) as error:  # no sockets, no processes: this machine's matter
        verdict, why = ClaimVerdict.INCOMPARABLE, f"it could not be run here: {error}"
    quick = " --quick" if effort.is_quick else ""
    return ClaimResult(
        paper=claim.paper, section=claim.section, name=claim.name, words=claim.words,
        paper_value=claim.paper_value, our_value=found.value, verdict=verdict, why=why,
        assumptions=list(claim.assumptions), table=found.table, figure=found.figure,
        replay=f"antiphon reproduce {claim.paper.lower()} --only {claim.name}{quick}",
        seconds=round(time.perf_counter() - begin_s, 3),
    )  # fmt: skip


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / REPRODUCTION_FILE).is_file():
            what = "has files in it that are not a reproduction's: choose another folder with --out"
            message = f"{folder}: {what}"
            raise UsageError(message)
        for name in ("tables", "figures"):
            (folder / name).mkdir(exist_ok=True)
            for file in (folder / name).iterdir():  # of an earlier reproduction
                file.unlink()
        write_whole(folder / REPRODUCTION_FILE, b"{}")
    except OSError as error:
        what = f"cannot be written ({error.strerror}): choose another folder with --out"
        message = f"{folder}: {what}"
        raise UsageError(message) from error


def _save(folder: Path, found: Reproduction) -> None:
    claim = found.claims[-1]
    name = f"{claim.paper.lower()}-{claim.name}"
    text = msgspec.json.format(msgspec.json.encode(found), indent=2)
    write_whole(folder / REPRODUCTION_FILE, text + b"\n")
    if claim.table is not None:
        write_whole(folder / "tables" / f"{name}.csv", _csv(claim.table).encode())
    if claim.figure is not None:
        write_whole(folder / "figures" / f"{name}.svg", figure_file(claim.figure).encode())


def _csv(data: TableData) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([data.columns, *data.rows])
    return out.getvalue()
