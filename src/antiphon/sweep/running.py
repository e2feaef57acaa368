"""All cells of an experiment, on whoever computes; what is finished is never run again.

Law: a task keeps its cell's result itself, as soon as it has it, so a sweep that is killed loses
only what was under way. Where tasks run on machines that do not share the folder, results
come back with the answer and are kept then. Cells that failed are run again the next time.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa

from antiphon.core.errors import UsageError
from antiphon.pipeline.tables.table import Executor
from antiphon.sweep.cells import Cell, cell_of, code_digest, run_cell
from antiphon.sweep.experiment import Experiment
from antiphon.trace.sweep_folder import CellResult, SweepFolder, SweepRecord

OnProgress = Callable[[int, int], None]
"""Told how many cells are finished, and how many there are."""

_TYPES = {"result": "binary"}
_LOOK_S = 0.2


def sweep(
    executor: Executor,
    experiment: Experiment,
    folder: SweepFolder,
    replay: str,
    version: str,
    on_progress: OnProgress = lambda _done, _total: None,
) -> list[CellResult]:
    """Run what is not finished; return the results of all cells, in order."""
    cells = [cell_of(parameters, seed) for parameters, seed in experiment.cells()]
    folder.begin(
        SweepRecord(
            name=experiment.name, antiphon=version, code=code_digest(), fixed=experiment.fixed,
            grid=experiment.grid, seeds=experiment.seeds, cells=[cell.digest for cell in cells],
            replay=replay,
        )
    )  # fmt: skip
    known = {cell.digest: folder.result(cell.digest) for cell in cells}
    done = {digest: found for digest, found in known.items() if found and found.status == "done"}
    waiting = [cell for cell in cells if cell.digest not in done]
    on_progress(len(done), len(cells))
    with _watched(folder.cells_path, waiting, lambda n: on_progress(len(done) + n, len(cells))):
        for result in _run(executor, waiting, folder):
            done[result.digest] = result
    on_progress(len(cells), len(cells))
    return [done[cell.digest] for cell in cells]


def _run(executor: Executor, cells: list[Cell], folder: SweepFolder) -> Iterator[CellResult]:
    if not cells:
        return
    kernel = partial(_run_cells, cells=cells, folder=folder.path.resolve())
    for batch in executor.numbered(len(cells)).map(kernel, _TYPES).batches():
        for blob in batch.column("result"):
            result = msgspec.json.decode(blob.as_buffer(), type=CellResult)
            if not (folder.cells_path / f"{result.digest}.json").is_file():
                _keep(folder, result)
            yield result


def _run_cells(
    batches: Iterable[pa.RecordBatch], *, cells: list[Cell], folder: Path
) -> Iterator[pa.RecordBatch]:
    """Be a kernel: run the cells with these numbers."""
    kept_in = SweepFolder(folder)
    for batch in batches:
        for number in batch.column("id").to_pylist():
            result = run_cell(cells[number])
            if kept_in.cells_path.is_dir():  # else the driver keeps it, on its own machine
                _keep(kept_in, result)
            blob = pa.array([msgspec.json.encode(result)], pa.binary())
            yield pa.RecordBatch.from_arrays([blob], names=list(_TYPES))


def _keep(folder: SweepFolder, result: CellResult) -> None:
    try:
        folder.keep(result)
    except OSError as error:
        what = "make room for it, and sweep again: finished cells are kept"
        message = f"{folder.path}: cannot be written ({error.strerror}): {what}"
        raise UsageError(message) from error


@contextmanager
def _watched(path: Path, cells: list[Cell], tell: Callable[[int], None]) -> Iterator[None]:
    """Tell from time to time how many of the cells have a file that is new."""
    files = [path / f"{cell.digest}.json" for cell in cells]
    for file in files:
        file.unlink(missing_ok=True)  # a failure, or damaged: to be run again
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_S):
            tell(sum(file.is_file() for file in files))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
