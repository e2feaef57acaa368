"""Processes that run kernels: they are asked number by number, and leave nothing behind."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.tables.chunks import column, numbers
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.tables.workers import spread
from antiphon.pipeline.verify import verify


def multiples(batches: Iterable[pa.RecordBatch], *, count: int) -> Iterator[pa.RecordBatch]:
    """Yield each number so many times, a batch each, and say who did it."""
    for batch in batches:
        for number in numbers(batch, "id").tolist():
            sys.stdout.write("what a kernel prints is no answer\n")
            for _ in range(count * number):
                columns = [column(np.array([number])), column(np.array([os.getpid()]))]
                yield pa.RecordBatch.from_arrays(columns, names=["id", "pid"])


def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fail at the second number."""
    for batch in batches:
        if 1 in numbers(batch, "id"):
            raise ZeroDivisionError
        yield batch


def killed(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """End as by a machine without memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    yield from ()


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    return Path(f"/proc/{pid}").exists()


def test_every_number_is_answered_once_by_other_processes() -> None:
    """Also one without an answer; in the end the workers are gone."""
    found = list(spread(partial(multiples, count=3), 5, 2))
    ids = sorted(int(numbers(batch, "id")[0]) for batch in found)
    assert ids == [number for number in range(5) for _ in range(3 * number)]
    pids = {int(numbers(batch, "pid")[0]) for batch in found}
    assert os.getpid() not in pids
    assert not any(map(is_there, pids))


def test_whoever_stops_asking_ends_the_workers() -> None:
    """Whatever they are at: here at far more batches than may wait."""
    answers = spread(partial(multiples, count=100_000), 3, 2)
    pid = int(numbers(next(answers), "pid")[0])
    assert is_there(pid)
    answers.close()  # type: ignore[attr-defined]  # a generator
    assert not is_there(pid)


def test_failing_worker_is_an_error_here(capfd: pytest.CaptureFixture[str]) -> None:
    """Its traceback is on standard error; one that was killed may have run out of memory."""
    with pytest.raises(RuntimeError, match="ended with status 1"):
        list(spread(failing, 3, 2))
    assert "ZeroDivisionError" in capfd.readouterr().err
    with pytest.raises(MemoryError):
        list(spread(killed, 3, 2))


def test_refused_file_is_the_first_one_whoever_reads_it(tmp_path: Path) -> None:
    """What a worker cannot read reaches the caller as the reader's sentence."""
    for name in "abcd":
        (tmp_path / f"{name}.ndjson").write_text("[]" if name in "bd" else "")
    (tmp_path / "a.ndjson").write_text('{"process":"A","kind":"start"}')
    (tmp_path / "c.ndjson").write_text('{"process":"C","kind":"start"}')
    with pytest.raises(TraceError, match=r"b\.ndjson:1: not a row"):
        verify(LocalExecutor(2), tmp_path)


def refusing(batches: Iterable[pa.RecordBatch], *, is_late: bool) -> Iterator[pa.RecordBatch]:
    """Refuse the second number, before anything is answered or after."""
    for batch in batches:
        if 1 in numbers(batch, "id"):
            if is_late:
                yield batch
            message = "no room: make some"
            raise UsageError(message)
        yield batch


@pytest.mark.parametrize("is_late", [False, True])
def test_refusal_of_a_kernel_is_raised_in_its_words(
    capfd: pytest.CaptureFixture[str], is_late: bool
) -> None:
    """Without a traceback, whether something was answered before it or not."""
    with pytest.raises(UsageError, match=r"^no room: make some$"):
        list(spread(partial(refusing, is_late=is_late), 3, 1))
    assert capfd.readouterr().err == ""
