"""Ctrl-C: a command ends at once, quietly, and takes its own processes along.

Law: a terminal sends the signal to all processes of a command. Only the first of them may take
notice: it ends the others, says one word and exits with status 130. The others are started with
the signal blocked, which they inherit from the very beginning, so none of them can be caught in
the middle of starting up. Spark is left by ending the process: in the middle of a word to its
Java, an exception leads to long complaints, or to waiting for ever.
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

INTERRUPTED = 130
"""The exit status that shells know: 128 and the number of the signal."""

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

    def end(*_: object) -> None:
        clear = b"\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else b""  # a bar may be there
        os.write(sys.stderr.fileno(), clear + b"antiphon: interrupted\n")
        tidy_up()
        os._exit(INTERRUPTED)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def kill_workers() -> None:
    """End what ``multiprocessing`` has started, whatever it is doing."""
    for worker in multiprocessing.active_children():
        worker.kill()
