"""All orders in which the messages of an agreement can arrive, tried one after the other.

Law: three members, two of which propose different views, once each and at any moment; channels
are FIFO. ``search`` visits every state that can be reached, and returns every set of views
decided for the next number on the way. A crash is to stop being heard: every prefix of every
order is visited, so a crash of anybody at any moment is among them.
"""

from copy import copy
from dataclasses import dataclass

from antiphon.core.control import AnyMessage, encode_message
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.agreement import Agreement
from antiphon.membership.effects import Outbox, SendControl

Channel = tuple[ProcessId, ProcessId]


@dataclass(slots=True)
class State:
    """Where everybody is, what is under way, and what has been decided so far."""

    machines: dict[ProcessId, Agreement]
    under_way: dict[Channel, tuple[AnyMessage, ...]]
    to_propose: dict[ProcessId, View]
    decided: dict[View, None]

    def key(self) -> tuple[object, ...]:
        """Return what tells this state from others."""
        return (
            *(_key_of(machine) for machine in self.machines.values()),
            *(
                (channel, *map(encode_message, messages))
                for channel, messages in self.under_way.items()
            ),
            *self.to_propose,
            len(self.decided),
        )


def _key_of(machine: Agreement) -> tuple[object, ...]:
    return (
        machine.latest, machine._promised, machine._accepted_ballot, machine._accepted,
        machine._ballot, machine._proposal, machine._highest,
        *machine._promises.items(), *machine._accepts,
    )  # fmt: skip


def search(latest: View, proposals: dict[ProcessId, View]) -> tuple[int, list[list[View]]]:
    """Return how many states there are, and the sets of views decided in any of them."""
    machines = {member: Agreement(Outbox(member), latest) for member in latest.members}
    channels = [(a, b) for a in latest.members for b in latest.members if a != b]
    start = State(machines, dict.fromkeys(channels, ()), proposals, {})
    seen = {start.key()}
    todo = [start]
    outcomes: dict[tuple[View, ...], None] = {}
    while todo:
        state = todo.pop()
        outcomes[tuple(sorted(state.decided, key=repr))] = None
        for following in _steps(state):
            key = following.key()
            if key not in seen:
                seen.add(key)
                todo.append(following)
    return len(seen), [list(outcome) for outcome in outcomes]


def _steps(state: State) -> list[State]:
    """Return the states that can come next."""
    following: list[State] = []
    for proposer, view in state.to_propose.items():
        after, machine = _fork(state, proposer)
        del after.to_propose[proposer]
        if machine.latest is not None and machine.latest.number < view.number:
            _note(after, proposer, machine.propose(view))
        following.append(after)
    for (source, target), messages in state.under_way.items():
        if messages:
            after, machine = _fork(state, target)
            after.under_way[source, target] = messages[1:]
            _note(after, target, machine.receive(source, messages[0]))
            following.append(after)
    return following


def _fork(state: State, who: ProcessId) -> tuple[State, Agreement]:
    """Return a copy of a state in which one process may change."""
    machine = copy(state.machines[who])
    machine._out = Outbox(who)
    machine.history = list(machine.history)
    machine._promises = dict(machine._promises)
    machine._accepts = dict(machine._accepts)
    after = State(
        {**state.machines, who: machine},
        dict(state.under_way),
        dict(state.to_propose),
        dict(state.decided),
    )
    return after, machine


def _note(state: State, who: ProcessId, decided: list[View]) -> None:
    """Put what a step sent under way, and note what it decided."""
    state.decided |= dict.fromkeys(decided)
    for effect in state.machines[who]._out.take():
        assert isinstance(effect, SendControl), "an agreement only sends"
        for process in effect.to:
            state.under_way[who, process] += (effect.message,)
