"""Work on several cores, by processes that end when nobody wants more of it.

Law: the same answers in the same order as from one process. Ctrl-C, and whoever has seen enough,
end the processes whatever they are doing, so a command never waits for what it will not use.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from antiphon.cli.interrupt import deaf_children, kill_workers

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@contextmanager
def answered_by_processes(
    work: Callable[[Asked], Answer], asked: Sequence[Asked], jobs: int
) -> Iterator[Iterator[Answer]]:
    """Give what becomes of each, in their order; a single process, or a single piece, is done here.

    What is asked, how and the answers are pickled.
    """
    if jobs == 1 or len(asked) == 1:
        yield map(work, asked)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            with deaf_children():
                answers = pool.map(work, asked)
            yield answers
        finally:
            kill_workers()  # what they are at, if anything, is of no use
            pool.shutdown(wait=True, cancel_futures=True)
