"""Pages of sweeps and of reproductions, for ``antiphon report``."""

from pathlib import Path
from typing import NamedTuple

from antiphon.trace.claims import REPRODUCTION_FILE, ClaimVerdict, read_reproduction
from antiphon.trace.sweep_folder import SWEEP_FILE, SweepFolder


class SummaryPage(NamedTuple):
    """A page, and what it says in short."""

    document: bytes
    words: str
    is_bad: bool
    item_count: int
    """Cells, or claims."""


def summary_page(path: Path) -> SummaryPage | None:
    """Return the page of the sweep or reproduction in a folder; None: it holds neither."""
    if (path / SWEEP_FILE).is_file():
        return _of_sweep(path)
    if (path / REPRODUCTION_FILE).is_file():
        return _of_reproduction(path)
    return None


def _of_sweep(path: Path) -> SummaryPage:
    from antiphon.report.sweep_page import sweep_page

    folder = SweepFolder(path)
    results = folder.results()
    bad = sum(each.status == "failed" or bool(each.violated) for each in results)
    page = sweep_page(folder.record(), results)
    words = f"{len(results):,} cells, {bad or 'none'} to look at"
    return SummaryPage(page.encode("utf-8", "replace"), words, bool(bad), len(results))


def _of_reproduction(path: Path) -> SummaryPage:
    from antiphon.report.claims_page import claims_page

    found = read_reproduction(path)
    failed = found.count(ClaimVerdict.FAILS)
    words = f"{found.count(ClaimVerdict.HOLDS)} of {len(found.claims)} claims hold"
    page = claims_page(found)
    return SummaryPage(page.encode("utf-8", "replace"), words, bool(failed), len(found.claims))
