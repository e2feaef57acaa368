"""What does not fit in memory goes to a file, and nothing else changes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.pipeline.large_trace import write_large_trace

from antiphon.core.errors import UsageError
from antiphon.pipeline.tables import spill
from antiphon.pipeline.tables.chunks import column, numbers
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify


def batches(count: int) -> Iterator[pa.RecordBatch]:
    """Yield batches of a hundred numbers."""
    for number in range(count):
        values = column(np.arange(100 * number, 100 * (number + 1)))
        yield pa.RecordBatch.from_arrays([values], names=["n"])


@pytest.mark.parametrize("limit", [0, 1_500, 10**9])
def test_batches_come_back_in_order(
    limit: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether all, some or none of them were written; the file has no name any more."""
    monkeypatch.setattr(spill, "SPILL_BYTES_MIN", limit)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = spill.collected(batches(5))
    assert np.concatenate([numbers(batch, "n") for batch in found]).tolist() == list(range(500))
    assert list(tmp_path.iterdir()) == []
    assert spill.collected([]) == []


def test_verdict_from_a_file_is_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every table of a trace with something wrong in it, written and mapped."""
    run = write_large_trace(
        tmp_path / "run", process_count=4, round_count=60, run_length=2, swapped_at=9
    )
    wanted = verify(LocalExecutor(), run)
    monkeypatch.setattr(spill, "SPILL_BYTES_MIN", 0)
    assert verify(LocalExecutor(), run) == wanted
    assert wanted.is_violated


def test_folder_that_cannot_be_written_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It names the folder and the variable that chooses another."""
    monkeypatch.setattr(spill, "SPILL_BYTES_MIN", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(UsageError, match=r"absent: .*TMPDIR"):
        spill.collected(batches(2))
