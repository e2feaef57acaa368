"""``antiphon demo``: five real processes, one of them killed, then a verdict from their traces."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import RenderableType
from rich.table import Table

from antiphon.cli.demo_member import DemoMember, DemoStanding
from antiphon.cli.demo_rooms import play_rooms, rooms_story, rooms_table
from antiphon.cli.demo_stage import Stage
from antiphon.cli.engines import Engine, judge, ready_engine, verify_command
from antiphon.cli.screen import output, print_json, verdict_screen
from antiphon.core.errors import UsageError
from antiphon.net.transport.ports import free_ports
from antiphon.oracle.event_graph import MULTICASTS_MAX
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict

_SINGERS = ("alice", "bob", "carol", "dave", "erin")
_VICTIM = "dave"
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
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder to write, runs/demo if left out; replaced if it is there."),
    ] = None,
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
    groups: Annotated[
        bool, typer.Option("--groups", help="Play the second scene: two rooms that overlap.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Watch five processes on this machine multicast in causal order, then have it confirmed.

    Each process is a real one, connected to the others by TCP on loopback. Every link is slowed
    by a random time, so answers often arrive before the questions they answer: such messages are
    held back until their causal past is there. Some ask for more, total order or uniform delivery:
    they wait for their turn, or until no crash can undo them. Half-way one process is killed, and
    the others agree on a view without it: later than they would on plain links, for what they say
    is slowed too (`--delay-ms 0`). Afterwards the trace of all five is verified.

    With --groups there are four processes and two rooms that overlap: what is heard in one room is
    answered in the other, and nobody reads an answer before its call, whatever the rooms.

    Exit status: 0 all promises were kept, 1 one was not, 2 the demo could not run.
    """
    judged_by = _chosen(engine, messages)
    out = out or Path("runs/demo-groups" if groups else "runs/demo")
    play = play_rooms if groups else _sing
    stage = play(out, messages, seconds, delay_ms, seed, kill=kill)
    if not as_json:
        _tell(stage, is_rooms=groups)
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
        if not groups:
            output.print("The second scene, two rooms that overlap: antiphon demo --groups")
    raise typer.Exit(1 if verdict.is_violated else 0)


def _tell(stage: Stage, *, is_rooms: bool) -> None:
    """Print how all ended, and the story."""
    if is_rooms:
        output.print(rooms_table(stage.standings, stage.victim))
        output.print(f"\n{rooms_story(stage)}", soft_wrap=True)
        return
    output.print(_table(stage.standings, stage.victim))
    output.print(f"\n{_story(stage.standings)}.", soft_wrap=True)
    if stage.victim:
        output.print(_obituary(stage), soft_wrap=True)


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
) -> Stage:
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
    with Stage(_MEMBER, configs, _table) as choir:
        choir.start()
        choir.watch(share * len(_SINGERS) ** 2, victim=_VICTIM if kill else "")
    return choir


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


def _obituary(choir: Stage) -> str:
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
