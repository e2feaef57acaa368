"""``antiphon demo``: five real processes, one of them killed, then a verdict from their traces."""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Self

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from antiphon.cli.demo_member import DemoMember, DemoStanding
from antiphon.cli.engines import Engine, judge, ready_engine, verify_command
from antiphon.cli.interrupt import deaf_children
from antiphon.cli.screen import output, print_json, progress_output, verdict_screen
from antiphon.core.errors import AntiphonError, UsageError
from antiphon.net.transport.ports import free_ports
from antiphon.oracle.event_graph import MULTICASTS_MAX
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict

_SINGERS = ("alice", "bob", "carol", "dave", "erin")
_VICTIM = "dave"
_PATIENCE_S = 120.0
_MESSAGES_MAX = MULTICASTS_MAX * 3 // 4
"""What the oracle can judge: the lists that give the total order are messages, too."""
_MEMBER = "from antiphon.cli.demo_member import main; main()"


def demo(
    messages: Annotated[int, typer.Option(help="Messages multicast in all.")] = 10_000,
    seconds: Annotated[float, typer.Option(help="About how long the processes talk.")] = 5.0,
    delay_ms: Annotated[
        float,
        typer.Option(help="Links are slowed by up to so much, so that answers overtake questions."),
    ] = 30.0,
    out: Annotated[Path, typer.Option(help="Run folder to write; replaced if it is there.")] = Path(
        "runs/demo"
    ),
    engine: Annotated[
        Engine,
        typer.Option(
            help="Who judges: spark, local (in this process), or oracle (plain Python). "
            "auto: the first of them that is installed."
        ),
    ] = Engine.AUTO,
    seed: Annotated[int, typer.Option(help="Who says what when (the network adds its own).")] = 1,
    kill: Annotated[
        bool, typer.Option(help="Kill one of the processes half-way (kill -9), and go on.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Watch five processes on this machine multicast in causal order, then have it confirmed.

    Each process is a real one, connected to the others by TCP on loopback. Every link is slowed
    by a random time, so answers often arrive before the questions they answer: such messages are
    held back until their causal past is there. Some ask for more, total order or uniform delivery:
    they wait for their turn, or until no crash can undo them. Half-way one process is killed, and
    the others agree on a view without it: later than they would on plain links, for what they say
    is slowed too (`--delay-ms 0`). Afterwards the trace of all five is verified.

    Exit status: 0 all promises were kept, 1 one was not, 2 the demo could not run.
    """
    judged_by = _chosen(engine, messages)
    choir = _sing(out, messages, seconds, delay_ms, seed, kill=kill)
    standings = choir.standings
    if not as_json:
        output.print(_table(standings, choir.victim))
        output.print(f"\n{_story(standings)}.", soft_wrap=True)
        if choir.victim:
            output.print(_obituary(choir), soft_wrap=True)
        if engine is Engine.AUTO and judged_by is not Engine.SPARK:
            instead = {Engine.LOCAL: "this process", Engine.ORACLE: "the oracle"}[judged_by]
            output.print(f"Spark, or a Java for it, is not installed: {instead} judges instead.")
        output.print("Were all promises kept?\n")
    verdict = judge(out, judged_by)
    RunFolder.open(out).save_verdict(verdict)
    if as_json:
        print_json(msgspec.json.encode({"run": str(out), "verdict": verdict}))
    else:
        output.print(verdict_screen(verdict))
        output.print(_ending(verdict, out), soft_wrap=True)
    raise typer.Exit(1 if verdict.is_violated else 0)


def _chosen(engine: Engine, messages: int) -> Engine:
    """Return who is to judge; complain now, not when all is sung, if nobody can."""
    chosen = ready_engine() if engine is Engine.AUTO else engine
    if chosen is Engine.SPARK:
        from antiphon.pipeline.session.java import find_java_home
        from antiphon.pipeline.session.spark import require_spark

        require_spark()
        find_java_home()
    elif chosen is Engine.LOCAL:
        from antiphon.pipeline.tables.packages import require_tables

        require_tables()
    elif messages > _MESSAGES_MAX:
        message = (
            f"the oracle judges up to {_MESSAGES_MAX:,} messages of a demo: take fewer "
            f"(--messages), or another engine: pip install 'antiphon[verify]'"
        )
        raise UsageError(message)
    return chosen


def _sing(
    out: Path, messages: int, seconds: float, delay_ms: float, seed: int, *, kill: bool
) -> "_Choir":
    share = max(1, messages // len(_SINGERS))
    RunFolder.create(
        out,
        what="demo",
        seed=None,
        config={
            "messages": messages,
            "seconds": seconds,
            "delay_ms": delay_ms,
            "seed": seed,
            "kill": kill,
        },
        replay=f"antiphon demo --messages {messages} --seconds {seconds:g} "
        f"--delay-ms {delay_ms:g} --seed {seed} --{'' if kill else 'no-'}kill --out {out}",
        overwrite=True,
    )
    ports = free_ports(len(_SINGERS))
    members = {name: f"127.0.0.1:{port}" for name, port in zip(_SINGERS, ports, strict=True)}
    configs = [
        DemoMember(name, members, share, seconds, delay_ms / 1000, str(out), seed)
        for name in _SINGERS
    ]
    with _Choir(configs) as choir:
        choir.start()
        choir.watch(share * len(_SINGERS), victim=_VICTIM if kill else "")
    return choir


class _Choir:
    """The processes, and what they last said."""

    def __init__(self, configs: list[DemoMember]) -> None:
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
                    [sys.executable, "-c", _MEMBER, _encode(config)],
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

    def watch(self, total: int, victim: str) -> None:
        """Show how they stand until all have ended; kill ``victim``, if any, half-way."""
        bar = Progress(
            TextColumn("delivered"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn(),
            expand=True,
        )  # fmt: skip
        all_copies = total * len(self.standings)
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
                    shown.update(Group(_table(self.standings, self.victim), "", bar))
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


def _encode(config: DemoMember) -> str:
    return msgspec.json.encode(config).decode()


def _table(standings: dict[str, DemoStanding], victim: str) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("process")
    for column in ("multicast", "of these answers", "delivered", "held back in all", "now"):
        table.add_column(column, justify="right")
    table.add_column("view")
    for standing in standings.values():
        held_now = f"[yellow]{standing.held_now}[/]" if standing.held_now else "0"
        table.add_row(
            standing.me, f"{standing.multicast:,}", f"{standing.answers:,}",
            f"{standing.delivered:,}", f"{standing.held_in_all:,}", held_now,
            "[red]killed[/]" if standing.me == victim else _view(standing),
        )  # fmt: skip
    return table


def _view(standing: DemoStanding) -> str:
    return f"{standing.view}: {len(standing.members)} members" if standing.view else ""


def _obituary(choir: _Choir) -> str:
    """Tell how the others came to terms with the loss."""
    known = [each for each in choir.standings.values() if choir.victim in each.failed]
    if not known:
        return f"{choir.victim} was killed, with the others nearly done."
    took_ms = (max(each.view_ns for each in known) - choir.killed_ns) / 1e6
    return (
        f"{choir.victim} was killed (kill -9); {took_ms:.0f} ms later the others had agreed on "
        f"view {known[0].view}, without it, and lost nothing of each other's messages."
    )


def _story(standings: dict[str, DemoStanding]) -> str:
    said = sum(standing.multicast for standing in standings.values())
    heard = sum(standing.delivered for standing in standings.values())
    held = sum(standing.held_in_all for standing in standings.values())
    return (
        f"{said:,} messages, delivered {heard:,} times; "
        f"{held:,} times a message came before something it answers, and was held back"
    )


def _ending(verdict: Verdict, out: Path) -> str:
    if verdict.is_violated:
        return f"\n[bold red]A promise was NOT kept.[/] Look into {out}/events"
    return (
        "\n[bold green]Nobody heard a response before its call.[/]\n"
        f"The run is in {out}: events/ is the trace, verdict.json the verdict.\n"
        f"Again: {verify_command(out)}"
    )
