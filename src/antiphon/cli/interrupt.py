"""Ctrl-C: a command ends at once, quietly, and takes its own processes along.

Law: a terminal sends the signal to all processes of a command. Only the first of them may take
notice: it ends the others, says one word and exits with status 130. The others are started with
the signal blocked, which they inherit from the very beginning, so none of them can be caught in
the middle of starting up. Spark is left by ending the process: in the middle of a word to its
Java, an exception leads to long complaints, or to waiting for ever. A request to end (SIGTERM, of
`kill`, `timeout` or whoever manages services) does the same there, with status 143.
"""

import functools
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

import typer

_SIGNALLED = 128
INTERRUPTED = _SIGNALLED + signal.SIGINT
"""The exit status that shells know: 130."""

P = ParamSpec("P")


def interruptible(command: Callable[P, None]) -> Callable[P, None]:
    """Let a command end with one word, and a status of its own, when Ctrl-C is pressed."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            sys.stderr.write("antiphon: interrupted\n")
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started here never hear Ctrl-C; we do, when this is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def ended_by_interrupt(tidy_up: Callable[[], None]) -> Iterator[None]:
    """In here Ctrl-C ends this process on the spot: for code that does not bear an exception."""

    def end(which: int, _: object) -> None:
        clear = b"\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else b""  # a bar may be there
        os.write(sys.stderr.fileno(), clear + b"antiphon: interrupted\n")
        tidy_up()
        os._exit(exit_status(which))

    with handled(end):
        yield


@contextmanager
def handled(end: Callable[[int, object], None]) -> Iterator[None]:
    """Call this at Ctrl-C, and at a request to end; not at one that is ignored."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    owner = os.getpid()

    def end_owner(which: int, frame: object) -> None:
        if os.getpid() != owner:  # a copy of this process, which has nothing to tidy up
            os._exit(exit_status(which))
        end(which, frame)

    for each, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, end_owner)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def exit_status(which: int) -> int:
    """Return the status that shells know for a signal."""
    return _SIGNALLED + which


def kill_workers() -> None:
    """End what ``multiprocessing`` has started, whatever it is doing."""
    for worker in multiprocessing.active_children():
        worker.kill()
