"""The demo's second scene: two rooms that overlap, one causality domain (ISIS figure 4).

Law: alice, bob and carol are in the choir, bob, carol and dave in the band. Bob and carol hear a
call in one room and answer it in the other, over links that let the answer overtake the call; no
process reads an answer before its call, if it is in the room of both. Carol, who is in both rooms,
is killed half-way, and both agree on views without her, each by itself.
"""

from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from antiphon.cli.demo_member import DemoStanding
from antiphon.cli.demo_rooms_member import RoomsMember
from antiphon.cli.demo_stage import Stage, Standings
from antiphon.net.transport.ports import free_ports
from antiphon.trace.run_folder import RunFolder

ROOMS = {"choir": ("alice", "bob", "carol"), "band": ("bob", "carol", "dave")}
PEOPLE = ("alice", "bob", "carol", "dave")
_VICTIM = "carol"
_PROGRAM = "from antiphon.cli.demo_rooms_member import main; main()"


def play_rooms(
    out: Path, messages: int, seconds: float, delay_ms: float, seed: int, *, kill: bool
) -> Stage:
    """Play the scene; its trace is in the run folder ``out``."""
    share = max(1, messages // len(PEOPLE))
    out = out.absolute()
    RunFolder.create(
        out,
        what="demo",
        seed=None,
        config={
            "groups": True, "messages": messages, "seconds": seconds, "delay_ms": delay_ms,
            "seed": seed, "kill": kill,
        },
        replay=f"antiphon demo --groups --messages {messages} --seconds {seconds:g} "
        f"--delay-ms {delay_ms:g} --seed {seed} --{'' if kill else 'no-'}kill --out {out}",
        overwrite=True,
    )  # fmt: skip
    ports = free_ports(len(PEOPLE))
    at = {name: f"127.0.0.1:{port}" for name, port in zip(PEOPLE, ports, strict=True)}
    configs = [
        RoomsMember(
            name, at[name],
            {room: [at[who] for who in people] for room, people in ROOMS.items() if name in people},
            out.name, share, seconds, delay_ms / 1000, str(out.parent), seed,
        )
        for name in PEOPLE
    ]  # fmt: skip
    copies = sum(share * len(ROOMS["choir"]) for _ in PEOPLE)
    with Stage(_PROGRAM, configs, rooms_table) as stage:
        stage.start()
        stage.watch(copies, victim=_VICTIM if kill else "")
    return stage


def rooms_table(standings: Standings, victim: str) -> RenderableType:
    """Return how everybody stands."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("process")
    for column in ("multicast", "across", "delivered", "held back", "now"):
        table.add_column(column, justify="right")
    for room in ROOMS:
        table.add_column(room)
    for standing in standings.values():
        held_now = f"[yellow]{standing.held_now}[/]" if standing.held_now else "0"
        places = [_place(standing, room, is_killed=standing.me == victim) for room in ROOMS]
        table.add_row(
            standing.me, f"{standing.multicast:,}", f"{standing.answers:,}",
            f"{standing.delivered:,}", f"{standing.held_in_all:,}", held_now, *places,
        )  # fmt: skip
    return table


def _place(standing: DemoStanding, room: str, *, is_killed: bool) -> str:
    if room not in standing.rooms:
        return "[dim]-[/]"
    view, count = standing.rooms[room]
    return "[red]killed[/]" if is_killed else f"{count} in view {view}"


def rooms_story(stage: Stage) -> str:
    """Tell what happened."""
    everybody = stage.standings.values()
    crossed = sum(standing.answers for standing in everybody)
    held = sum(standing.held_in_all for standing in everybody)
    early = sum(standing.early for standing in everybody)
    said = (
        f"{crossed:,} answers were given in the other room; {held:,} times a message came before "
        f"something it depends on, in whatever room, and was held back.\n"
        f"{early or 'None'} of the answers was read before the call that it answers."
    )
    known = [each for each in everybody if stage.victim and stage.victim in each.failed]
    if known:
        took_ms = (max(each.view_ns for each in known) - stage.killed_ns) / 1e6
        said += (
            f"\n{stage.victim}, who was in both rooms, was killed (kill -9); {took_ms:.0f} ms "
            "later both had agreed on views without her, each by itself."
        )
    elif stage.victim:
        said += f"\n{stage.victim} was killed, with the others nearly done."
    return said
