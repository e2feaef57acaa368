"""A peer that lies in well-formed runs: it is refused, or it harms nobody but itself.

Law: ``receive`` raises nothing but PeerError; when it raises, the machine is as it was; and
whatever one peer sends in its own name, the messages of the others are delivered all the same.
"""

from contextlib import suppress
from random import Random

import pytest

from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run, Stamp
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain

GROUP, VIEW_NUMBER = GroupNumber(1), ViewNumber(1)
SIZE = 4
HONEST, ALSO_HONEST, ME, LIAR = range(SIZE)
SEEDS = range(300)


def _machine(rank: int, *, fifo_channels: bool = True) -> VectorDomain:
    members = tuple(ProcessId(f"p{number}") for number in range(SIZE))
    machine = VectorDomain(fifo_channels=fifo_channels)
    machine.install(GROUP, View(GroupName("chat"), VIEW_NUMBER, members), Rank(rank))
    return machine


def _lie(
    first: int = 1,
    *,
    sender: int = LIAR,
    group: int = GROUP,
    view: int = VIEW_NUMBER,
    stamp: Stamp = (),
    count: int = 1,
) -> Run:
    return Run(
        GroupNumber(group),
        ViewNumber(view),
        Rank(sender),
        first,
        Order.CAUSAL,
        stamp,
        [b"lie"] * count,
    )


def _state(machine: VectorDomain) -> tuple[object, ...]:
    """Everything that can be seen, and what can be done next."""
    return machine.clock(GROUP), machine.waiting(), machine.queue_depth


_LIES = [
    (_lie(group=2), "is for group number 2, of which this process is no member"),
    (_lie(view=0), "is for view 0 of chat, not 1"),
    (_lie(view=2), "is for view 2 of chat, not 1"),
    (_lie(2, sender=ME), "claims to be of this process itself"),
    (_lie(sender=SIZE), "claims sender number 4 in a view of 4"),
    (_lie(sender=4_095), "claims sender number 4095 in a view of 4"),
    (_lie(stamp=((4, 1),)), "has an entry for member 4 in a view of 4"),
    (_lie(stamp=((ME, 2),)), "own message 2, but only 1 were sent"),
]
_LIES_OVER_FIFO_CHANNELS = [
    (_lie(1, sender=ME), "claims to be of this process itself"),
    (_lie(2), "skips to message 2 of member 3, expected 1"),
    (_lie(2**64 - 1), f"skips to message {2**64 - 1} of member 3, expected 1"),
]


@pytest.mark.parametrize(
    ("fifo_channels", "lie", "sentence"),
    [
        *((True, *case) for case in _LIES + _LIES_OVER_FIFO_CHANNELS),
        *((False, *case) for case in _LIES),
    ],
)
def test_lie_is_refused_and_changes_nothing(fifo_channels: bool, lie: Run, sentence: str) -> None:
    """The sentence says what is wrong; the machine goes on as if nothing had come."""
    machine = _machine(ME, fifo_channels=fifo_channels)
    machine.multicast(GROUP, [b"mine"], Order.CAUSAL)
    before = _state(machine)
    with pytest.raises(PeerError, match=sentence):
        machine.receive(lie)
    assert _state(machine) == before
    assert machine.receive(_lie(count=2)), "the peer's right first run is still welcome"


def test_replayed_run_is_refused_over_fifo_channels() -> None:
    """A channel that is FIFO repeats nothing, so the peer did it."""
    machine = _machine(ME)
    machine.receive(_lie(count=3))
    for first in (1, 2, 3):
        with pytest.raises(PeerError, match=f"repeats message {first} of member 3, expected 4"):
            machine.receive(_lie(first))
    assert machine.receive(_lie(4))


def test_replayed_held_run_is_refused_over_fifo_channels() -> None:
    """Held counts as received: a second copy is refused, not held beside the first."""
    machine = _machine(ME)
    held = _lie(stamp=((HONEST, 1),))
    assert machine.receive(held) == []
    with pytest.raises(PeerError, match="repeats message 1 of member 3, expected 2"):
        machine.receive(held)
    assert machine.queue_depth == 1


@pytest.mark.parametrize("fifo_channels", [True, False], ids=["fifo", "unordered"])
@pytest.mark.parametrize(
    "wrong", [(SIZE, 1), (ME, 1)], ids=["stranger-in-stamp", "own-unsent-message-in-stamp"]
)
@pytest.mark.parametrize("awaited", [(ME, 0), (HONEST, 1)], ids=["at-once", "behind-a-held-entry"])
def test_wrong_stamp_is_refused_on_arrival(
    fifo_channels: bool, wrong: tuple[int, int], awaited: tuple[int, int]
) -> None:
    """A stamp is judged whole when it comes, not when its turn comes, in another peer's step."""
    machine = _machine(ME, fifo_channels=fifo_channels)
    stamp = tuple(sorted(entry for entry in (awaited, wrong) if entry[1]))
    before = _state(machine)
    with pytest.raises(PeerError):
        machine.receive(_lie(stamp=stamp))
    assert _state(machine) == before


def test_wrong_stamp_behind_a_gap_is_refused_on_arrival() -> None:
    """Also when the run would be held for its sender's earlier messages anyway."""
    machine = _machine(ME, fifo_channels=False)
    with pytest.raises(PeerError):
        machine.receive(_lie(2, stamp=((SIZE + 5, 1),)))
    assert machine.queue_depth == 0


@pytest.mark.parametrize("fifo_channels", [True, False], ids=["fifo", "unordered"])
def test_honest_peer_does_not_pay_for_the_wrong_stamp_of_another(fifo_channels: bool) -> None:
    """What an honest peer sends is delivered, and raises nothing, whatever was held before it."""
    machine = _machine(ME, fifo_channels=fifo_channels)
    with suppress(PeerError):
        machine.receive(_lie(stamp=((HONEST, 1), (SIZE, 1))))
    honest = _machine(HONEST).multicast(GROUP, [b"true"], Order.CAUSAL)
    assert machine.receive(honest) == [honest]


def _random_lie(rng: Random, machine: VectorDomain) -> Run:
    """A run in the liar's own name, or one that no name would make right."""
    expected = machine.clock(GROUP)[LIAR] + 1
    ranks = sorted(rng.sample((HONEST, ALSO_HONEST, ME, SIZE, 4_000), rng.randrange(4)))
    return _lie(
        rng.choice((expected, expected, 1, expected + 1, expected + 7, 2**64 - 1)),
        sender=rng.choice((LIAR, LIAR, LIAR, ME, SIZE, 4_095)),
        group=rng.choice((GROUP, GROUP, GROUP, 0, 2**64 - 1)),
        view=rng.choice((1, 1, 1, 0, 2)),
        stamp=tuple((rank, rng.choice((1, 1, 2, 5, 2**64 - 1))) for rank in ranks),
        count=rng.choice((1, 1, 2, 100)),
    )


def _tell_a_lie(rng: Random, machine: VectorDomain, whence: str) -> list[Run]:
    before = _state(machine)
    try:
        return machine.receive(_random_lie(rng, machine))
    except PeerError:
        assert _state(machine) == before, whence
        return []


def _honest_traffic(rng: Random, *, fifo_channels: bool) -> list[Run]:
    """What two members multicast, answering each other, in an order that needs holding back."""
    pair = [_machine(rank, fifo_channels=fifo_channels) for rank in (HONEST, ALSO_HONEST)]
    sent: list[list[Run]] = [[], []]
    for _ in range(8):
        speaker = rng.randrange(2)
        run = pair[speaker].multicast(GROUP, [b"true"] * rng.randint(1, 3), Order.CAUSAL)
        sent[speaker].append(run)
        pair[1 - speaker].receive(run)
    first, then = rng.sample(sent, 2)
    return first + then


@pytest.mark.parametrize("fifo_channels", [True, False], ids=["fifo", "unordered"])
def test_honest_messages_are_delivered_whatever_a_liar_sends(fifo_channels: bool) -> None:
    """Between any two honest runs come lies; at the end all honest messages are delivered."""
    for seed in SEEDS:
        rng = Random(seed)
        machine = _machine(ME, fifo_channels=fifo_channels)
        honest = _honest_traffic(rng, fifo_channels=fifo_channels)
        delivered: list[Run] = []
        for run in honest:
            for _ in range(rng.randrange(4)):
                delivered += _tell_a_lie(rng, machine, f"seed {seed}")
            delivered += machine.receive(run)
        told = sorted((run.sender, run.first) for run in delivered if run.sender != LIAR)
        assert told == sorted((run.sender, run.first) for run in honest), f"seed {seed}"
