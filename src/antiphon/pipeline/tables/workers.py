"""Kernels over single numbers, such as the files of a trace, run by processes of their own.

Law: a worker is told the kernel once, then number after number as soon as it is free, and answers
each with a stream of batches; it ends when nobody is there to ask it, hears no Ctrl-C, and is
ended with the caller's loop, whatever ends that. Batches come in no order. An error of ours that a
kernel raises is raised here, in the same words. Cost: half a second per worker to start; batches
are copied once on their way.

They are plain processes, not ``multiprocessing``: nothing is asked of the program that calls us,
and nothing of its state is copied.
"""

import contextlib
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO

import numpy as np
import pyarrow as pa

from antiphon.core.errors import AntiphonError, UsageError
from antiphon.pipeline.tables.chunks import column
from antiphon.pipeline.tables.table import Kernel

_Answers = queue.Queue[pa.RecordBatch | Exception | None]
"""Batches; what went wrong; None from each worker that is done."""

_WORKER = "from antiphon.pipeline.tables.workers import serve; serve()"
_NUMBER_BYTES = 8
_REFUSAL = b"refusal"
"""Under which a batch says why there are no more."""
_BATCHES_WAITING_MAX = 64


def spread(kernel: Kernel, count: int, worker_count: int) -> Iterator[pa.RecordBatch]:
    """Yield what a kernel makes of each number below ``count``, by so many workers."""
    tasks: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(count):
        tasks.put(number)
    answers: _Answers = queue.Queue(_BATCHES_WAITING_MAX)
    told = pickle.dumps(kernel)
    workers = [_started() for _ in range(min(worker_count, count))]
    askers = [
        threading.Thread(target=_ask, args=(worker, told, tasks, answers), daemon=True)
        for worker in workers
    ]
    try:
        for asker in askers:
            asker.start()
        waiting = len(workers)
        while waiting:
            answer = answers.get()
            if isinstance(answer, Exception):
                raise answer
            if answer is None:
                waiting -= 1
            else:
                yield answer
    finally:
        for worker in workers:
            worker.kill()
        for worker, asker in zip(workers, askers, strict=True):
            _end(worker, asker, answers)


def numbered_batch(numbers: range) -> pa.RecordBatch:
    """Return numbers as a kernel takes them."""
    return pa.RecordBatch.from_arrays([column(np.array(numbers, dtype=np.int64))], names=["id"])


def serve() -> None:
    """Be a worker: answer on what was standard output; what is printed goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    kernel: Kernel = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    while raw := sys.stdin.buffer.read(_NUMBER_BYTES):
        number = int.from_bytes(raw)
        _answer(kernel([numbered_batch(range(number, number + 1))]), answers)


def _answer(batches: Iterator[pa.RecordBatch], answers: IO[bytes]) -> None:
    refusal = ""
    try:
        first = next(batches, None)
    except AntiphonError as error:
        first, refusal = None, str(error)
    schema = pa.schema([]) if first is None else first.schema
    with pa.ipc.new_stream(answers, schema) as stream:
        try:
            for batch in itertools.chain([] if first is None else [first], batches):
                stream.write_batch(batch)
        except AntiphonError as error:
            refusal = str(error)
        if refusal:
            nothing = pa.RecordBatch.from_pylist([], schema=schema)
            stream.write_batch(nothing, custom_metadata={_REFUSAL: refusal.encode()})


def _started() -> "subprocess.Popen[bytes]":
    # Blocked from the very beginning: a worker cannot be caught in the middle of starting up.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ask(
    worker: "subprocess.Popen[bytes]",
    told: bytes,
    tasks: queue.SimpleQueue[int],
    answers: _Answers,
) -> None:
    """Give one worker number after number, until none is left."""
    assert worker.stdin is not None, "it is a pipe"
    assert worker.stdout is not None, "so is this"
    try:
        worker.stdin.write(told)
        while not tasks.empty():
            try:
                number = tasks.get_nowait()
            except queue.Empty:  # another was faster
                break
            worker.stdin.write(number.to_bytes(_NUMBER_BYTES))
            worker.stdin.flush()
            with pa.ipc.open_stream(worker.stdout) as stream:
                _pass_on(stream, answers)
        answers.put(None)
    except UsageError as refusal:
        answers.put(refusal)
    except (OSError, pa.ArrowException):
        answers.put(_failure(worker))


def _pass_on(stream: pa.ipc.RecordBatchStreamReader, answers: _Answers) -> None:
    while True:
        try:
            batch, said = stream.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        if said is not None and _REFUSAL in said:
            raise UsageError(said[_REFUSAL].decode())
        answers.put(batch)


def _end(
    worker: "subprocess.Popen[bytes]",
    asker: threading.Thread,
    answers: _Answers,
) -> None:
    """See the last of a worker that has been killed, and of whoever asked it."""
    while asker.is_alive():  # perhaps it waits until there is room for an answer
        with contextlib.suppress(queue.Empty):
            answers.get(timeout=0.01)
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        with contextlib.suppress(OSError):  # what was not written yet goes nowhere
            assert pipe is not None, "see above"
            pipe.close()


def _failure(worker: "subprocess.Popen[bytes]") -> Exception:
    """Say what became of a worker that does not answer; its traceback has been printed."""
    if worker.wait() == -signal.SIGKILL:
        return MemoryError("a worker was killed, as happens where memory runs out")
    return RuntimeError(f"a worker ended with status {worker.returncode}")
