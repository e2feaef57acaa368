"""Groups that go from view to view: right traces, from dice.

Law: whoever goes on to the next view has delivered everything of this one before. Processes join,
leave, crash, are excluded though they live, and come back as new incarnations, in all groups at
once; those who do not go on have delivered a part, in causal order. At the end all is quiet.
"""

from dataclasses import dataclass, field
from random import Random

from tests.pipeline.observed_scopes import Scope, deliveries, installed, multicasts
from tests.pipeline.transactions import ballots

from antiphon.trace.schema import LEFT, QUIESCENT, Event, Order

ORDERS: list[list[Order]] = [
    [""], ["causal"], ["causal", "fifo"],
    ["total"], ["causal", "total"], ["causal", "fifo", "total"],
]  # fmt: skip
NAMES = ("p0", "p1", "p2", "p3", "p4")


@dataclass
class _World:
    """What there is."""

    dice: Random
    orders: list[Order]
    uniform: float
    tells: bool
    scopes: list[Scope] = field(default_factory=list)
    """The current view of each group: all have the same members."""
    rows: list[Event] = field(default_factory=list)
    incarnations: dict[str, int] = field(default_factory=dict)
    delivers_own: dict[str, bool] = field(default_factory=dict)

    @property
    def members(self) -> list[str]:
        return self.scopes[0].names

    def draws(self, chance: float) -> bool:
        return self.dice.random() < chance

    def join(self, name: str) -> str:
        """Return the new process, or the new incarnation of one that was there before."""
        number = self.incarnations.get(name, 0) + 1
        self.incarnations[name] = number
        process = name if number == 1 else f"{name}~{number}"
        # Who asks for total order, or uniform delivery, has to say when it delivers its own.
        is_asked = "total" in self.orders or self.uniform > 0
        self.delivers_own[process] = self.draws(0.7) or is_asked
        self.rows.append(Event(process=process, kind="start"))
        return process

    def install(self, scope: Scope, also: tuple[str, ...] = ()) -> None:
        for name in (*scope.names, *also):
            self.rows.append(installed(scope, name))

    def act(self, scope: Scope, name: str) -> None:
        act = multicasts if self.draws(0.3) else deliveries
        self.rows += act(scope, name, self.dice, delivers_own=self.delivers_own[name])

    def finish(self, scope: Scope, name: str) -> None:
        while scope.deliverable(name):
            self.rows += deliveries(scope, name, self.dice, delivers_own=self.delivers_own[name])


def changing_views(dice: Random) -> list[Event]:
    """Return a trace in which every promise is kept, through several views."""
    world = _World(dice, dice.choice(ORDERS), dice.choice([0, 0, 0.5, 1]), dice.random() < 0.5)
    members = [world.join(name) for name in NAMES[: dice.randint(1, 4)]]
    number = dice.choice([1, 1, 7])
    for group in dice.choice([[""], ["g"], ["g"], ["g", "h"]]):
        world.scopes.append(_scope(world, group, number, members))
        world.install(world.scopes[-1])
    for turn in range(dice.randint(1, 4)):
        lost = _talk(world)
        for scope in world.scopes:
            world.rows += ballots(scope.group, world.members, dice, scope.view, 1 + 2 * turn)
        _change(world, lost)
    _talk(world, is_last=True)
    world.rows += [Event(process=name, kind="stop", detail=QUIESCENT) for name in world.members]
    return world.rows


def _scope(world: _World, group: str, view: int, members: list[str]) -> Scope:
    delivered: dict[str, set[tuple[str, int]]] = {name: set() for name in members}
    return Scope(
        group, view, members, delivered=delivered, orders=world.orders, uniform=world.uniform,
        tells=world.tells,
    )  # fmt: skip


def _talk(world: _World, *, is_last: bool = False) -> list[str]:
    """Let members talk until all that go on have everything; return who does not go on."""
    dice, lost = world.dice, list[str]()
    for _ in range(dice.randint(0, 12)):
        able = [name for name in world.members if name not in lost]
        if not is_last and len(able) > 1 and world.draws(0.06):
            lost.append(dice.choice(able[1:]))
        else:
            world.act(dice.choice(world.scopes), dice.choice(able))
    for scope in world.scopes:
        for name in scope.names:
            if name not in lost:
                world.finish(scope, name)
    return lost


def _change(world: _World, lost: list[str]) -> None:
    """Go on to the next view of every group."""
    for name in lost:
        kind = world.dice.choice(["crash", "excluded", ""])
        world.rows += [Event(process=name, kind="crash")] if kind == "crash" else []
        world.rows += [Event(process=name, kind="stop", detail=kind)] if kind == "excluded" else []
    stayers = [name for name in world.members if name not in lost]
    leavers = tuple(name for name in stayers[1:] if world.draws(0.15))
    members = [name for name in stayers if name not in leavers]
    present = [name.partition("~")[0] for name in members]
    members += [world.join(name) for name in NAMES if name not in present and world.draws(0.25)]
    world.scopes = [_scope(world, scope.group, scope.view + 1, members) for scope in world.scopes]
    for scope in world.scopes:
        world.install(scope, leavers)
    world.rows += [Event(process=name, kind="stop", detail=LEFT) for name in leavers]
