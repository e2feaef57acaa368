"""The processes of a demo: started, watched line by line, one of them killed half-way.

Law: each is a process of the operating system, told what to do by its only argument, and says how
it stands in lines of JSON. Whatever happens, none is left behind.
"""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from antiphon.cli.demo_member import DemoStanding
from antiphon.cli.interrupt import deaf_children
from antiphon.cli.screen import progress_output
from antiphon.core.errors import AntiphonError

_PATIENCE_S = 120.0

Standings = dict[str, DemoStanding]


class Player(Protocol):
    """What a process is told."""

    @property
    def me(self) -> str:
        """Its name."""


class Stage:
    """The processes, and what they last said."""

    def __init__(
        self,
        program: str,
        configs: Sequence[Player],
        table: Callable[[Standings, str], RenderableType],
    ) -> None:
        """Prepare to run ``program`` once for each of ``configs``, and to show ``table``."""
        self._program, self._table = program, table
        self.standings = {config.me: DemoStanding(config.me) for config in configs}
        self.victim = ""
        """Who has been killed."""
        self.killed_ns = 0
        self._lines: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._configs = configs
        self._processes: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        """Let them begin."""
        with deaf_children():
            for config in self._configs:
                process = subprocess.Popen(
                    [sys.executable, "-c", self._program, _encode(config)],
                    stdout=subprocess.PIPE,
                    encoding="utf-8",
                )
                self._processes.append(process)
                told = (config.me, process)
                threading.Thread(target=self._listen, args=told, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _listen(self, name: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None, "stdout is a pipe"
        for line in process.stdout:
            self._lines.put((name, line))
        self._lines.put((name, ""))

    def watch(self, all_copies: int, victim: str) -> None:
        """Show how they stand until all have ended; kill ``victim``, if any, half-way."""
        bar = Progress(
            TextColumn("delivered"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn(),
            expand=True,
        )  # fmt: skip
        task = bar.add_task("", total=all_copies)
        shown = Live(console=progress_output, refresh_per_second=10, transient=True)
        is_watched = progress_output.is_terminal
        if is_watched:
            shown.start()
        try:
            for _ in self._ends():
                delivered = sum(standing.delivered for standing in self.standings.values())
                if victim and not self.victim and 2 * delivered > all_copies:
                    self._kill(victim)
                bar.update(task, completed=delivered)
                if is_watched:
                    shown.update(Group(self._table(self.standings, self.victim), "", bar))
        finally:
            if is_watched:
                shown.stop()

    def _kill(self, victim: str) -> None:
        self.victim = victim
        self.killed_ns = time.monotonic_ns()
        self._processes[list(self.standings).index(victim)].kill()

    def _ends(self) -> Iterator[None]:
        """Take in what they say, line by line, until the last has ended."""
        running = len(self._processes)
        while running:
            try:
                name, line = self._lines.get(timeout=_PATIENCE_S)
            except queue.Empty:
                message = f"the demo's processes said nothing for {_PATIENCE_S:g} s: try again"
                raise AntiphonError(message) from None
            if line:
                self._take(name, line)
            else:
                running -= 1
            yield
        for name, process in zip(self.standings, self._processes, strict=True):
            if process.wait(_PATIENCE_S) != 0 and name != self.victim:
                message = f"{name} ended with status {process.returncode}: run the demo again"
                raise AntiphonError(message)

    def _take(self, name: str, line: str) -> None:
        try:
            self.standings[name] = msgspec.json.decode(line, type=DemoStanding)
        except msgspec.DecodeError:
            if name != self.victim:  # which may have died in the middle of a line
                raise
        if self.standings[name].error:
            raise AntiphonError(self.standings[name].error)


def _encode(config: Player) -> str:
    return msgspec.json.encode(config).decode()
