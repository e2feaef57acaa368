"""Random runs and frames, for hypothesis and for seeded campaigns.

Everything the encoder may be given: all orders, stamps of any shape, equal and unequal lengths of
every width, records that continue each other and records that do not.
"""

from random import Random

from hypothesis import strategies as st

from antiphon.core.control import Alive, AnyMessage, Confirm, LetterAsked, LetterTaken
from antiphon.core.frames import (
    encode_ack,
    encode_bye,
    encode_control,
    encode_hello,
    encode_letter,
    encode_relay,
    encode_runs,
)
from antiphon.core.handshake import Handshake
from antiphon.core.ids import GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.records import MEMBERS_MAX, NUMBER_MAX
from antiphon.core.runs import PORT_MAX, Foreign, Letter, Order, Run, SetsOrder, Stamp

_NUMBERS = st.integers(0, 200) | st.integers(0, 2**64 - 1)
_RANKS = st.integers(0, 5) | st.integers(0, MEMBERS_MAX - 1)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run that a process may send."""
    sender = draw(_RANKS)
    counts = draw(st.dictionaries(_RANKS, st.integers(1, 2**64 - 1), max_size=4))
    counts.pop(sender, None)
    payloads = draw(
        st.lists(st.binary(max_size=5), min_size=1, max_size=6)
        | st.builds(lambda payload, count: [payload] * count, st.binary(), st.integers(1, 300))
        | st.builds(lambda a, b: [b"x" * a, b"y" * b], st.integers(0, 300), st.integers(0, 70_000))
    )
    return Run(
        GroupNumber(draw(_NUMBERS)),
        ViewNumber(draw(_NUMBERS)),
        Rank(sender),
        draw(st.integers(1, 200) | st.integers(1, NUMBER_MAX - 4096)),
        draw(st.sampled_from(Order)),
        tuple(sorted(counts.items())),
        payloads,
        None,
        draw(st.booleans()),
        draw(st.just(0) | st.integers(0, PORT_MAX)),
        draw(st.none() | sets_orders()),
        draw(st.just(()) | foreign_stamps()),
    )


def foreign_stamps() -> st.SearchStrategy[Foreign]:
    """Any stamps of other groups that fit the wire."""
    entries = st.dictionaries(_RANKS, st.integers(1, 2**64 - 1), max_size=3)
    stamps = st.tuples(
        _NUMBERS,
        st.integers(1, 200) | st.integers(1, 1 << 62),
        entries.map(lambda counts: tuple(sorted(counts.items()))),
    )
    return st.lists(stamps, min_size=1, max_size=3).map(tuple)


def in_group(runs: list[Run], frame_group: int) -> list[Run]:
    """Return the runs as a receiver gets them: those of group 0 are of the frame's own group."""
    return [
        Run(
            GroupNumber(run.group or frame_group), run.view, run.sender, run.first, run.order,
            run.stamp, run.payloads, run.byte_count, run.uniform, run.port, run.sets_order,
            run.foreign,
        )
        for run in runs
    ]  # fmt: skip


def sets_orders() -> st.SearchStrategy[SetsOrder]:
    """Any sets-order list that fits the wire."""
    numbers = st.integers(1, 200) | st.integers(1, NUMBER_MAX)
    turns = st.lists(st.tuples(_RANKS, numbers), max_size=5).map(tuple)
    return st.builds(SetsOrder, numbers, turns, st.just(-1) | _RANKS)


@st.composite
def run_lists(draw: st.DrawFn) -> list[Run]:
    """Runs for one frame, some of which go on where the one before ended."""
    listed = [draw(runs())]
    for run in draw(st.lists(runs(), max_size=3)):
        listed.append(_continuing(listed[-1], run) if draw(st.booleans()) else run)
    return listed


def _continuing(previous: Run, run: Run) -> Run:
    stamp = tuple(entry for entry in run.stamp if entry[0] != previous.sender)
    first = previous.last + 1
    return Run(
        previous.group, previous.view, previous.sender, first, run.order, stamp, run.payloads,
        None, run.uniform, run.port, run.sets_order,
    )  # fmt: skip


def random_run(rng: Random) -> Run:
    """Return a small run, of a group of at most six, with mostly plausible values."""
    sender = rng.randrange(6)
    return Run(
        GroupNumber(rng.choice((1, 1, 2, 300))),
        ViewNumber(rng.choice((1, 1, 2))),
        Rank(sender),
        rng.choice((1, 2, 3, 1_000)),
        rng.choice(tuple(Order)),
        random_stamp(rng, sender),
        [rng.randbytes(rng.choice((0, 1, 8, 8))) for _ in range(rng.choice((1, 1, 3, 9)))],
        None,
        rng.random() < 0.2,
        rng.choice((0, 0, 0, 1, 3, 255)),
        random_list(rng) if rng.random() < 0.3 else None,
    )


def random_list(rng: Random) -> SetsOrder:
    """Return a sets-order list of a group of at most six."""
    turns = tuple((rng.randrange(6), rng.choice((1, 2, 300))) for _ in range(rng.randrange(4)))
    return SetsOrder(rng.choice((1, 5, 2**40)), turns, rng.choice((-1, 0, 5)))


def random_letter(rng: Random) -> Letter:
    """Return a letter as a process may send it."""
    sender = rng.randrange(6)
    stamp = random_stamp(rng, sender)
    port = rng.choice((0, 1, 2))
    return Letter(
        GroupNumber(0), ViewNumber(1), Rank(sender), 3, Order.CAUSAL, stamp, [b"to you"], port=port
    )


def random_stamp(rng: Random, sender: int) -> Stamp:
    """Return entries for some of six members, in order."""
    ranks = sorted(rng.sample(range(6), rng.randrange(4)))
    return tuple((rank, rng.choice((1, 2, 77, 2**40))) for rank in ranks if rank != sender)


def _other_frame(rng: Random) -> bytes:
    domain = rng.randrange(2**32)
    match rng.randrange(8):
        case 0:
            alice = ProcessId("alice", 1, rng.randrange(2**40), "127.0.0.1:7001")
            return encode_hello(domain, Handshake("choir", "view-atomic", alice, rng.randrange(99)))
        case 1:
            return encode_bye()
        case 2:
            return encode_ack(rng.randrange(2**40))
        case 3:
            return encode_relay(domain, rng.randrange(9), [random_run(rng)])
        case 4:
            return encode_letter(domain, rng.randrange(9), random_letter(rng))
        case _:
            return encode_control(domain, rng.randrange(9), _control(rng))


def _control(rng: Random) -> AnyMessage:
    number = rng.randrange(99)
    messages = (
        Alive(number, ((0, number),), 1, 1), Confirm(number, number, 2**62), LetterTaken(number),
        LetterAsked(),
    )  # fmt: skip
    return rng.choice(messages)


def random_frame(rng: Random) -> bytes:
    """Return the bytes of a valid frame of any kind."""
    match rng.randrange(8):
        case 0:
            return _other_frame(rng)
        case _:
            listed = [random_run(rng)]
            for _ in range(rng.randrange(3)):
                run = random_run(rng)
                listed.append(_continuing(listed[-1], run) if rng.random() < 0.5 else run)
            return encode_runs(rng.randrange(2**32), rng.randrange(9), listed)
