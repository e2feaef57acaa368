"""All orders in one machine: what passes, what a peer's lies can and cannot do.

Law: a list or a run at fault raises PeerError and changes nothing, or harms its sender alone.
"""

import pytest

from antiphon.core.control import Confirm
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import PORT_ORDER, Order, Run, SetsOrder, Stamp
from antiphon.core.views import View
from antiphon.ordering import total
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.vector import VectorDomain

GROUP = GroupNumber(0)
VIEW = View(GroupName("g"), ViewNumber(1), tuple(ProcessId(name) for name in "abcd"))
HOLDER, ME, HONEST, LIAR = range(4)


def machine(rank: int = ME) -> MixedDomain:
    """Return a machine in its first view."""
    made = MixedDomain("fixed")
    made.advance(GROUP, VIEW, Rank(rank))
    return made


def run_of(
    sender: int,
    first: int = 1,
    order: Order = Order.CAUSAL,
    *,
    stamp: Stamp = (),
    uniform: bool = False,
    sets_order: SetsOrder | None = None,
    port: int = 0,
) -> Run:
    """Return a run of one message."""
    return Run(
        GROUP, ViewNumber(1), Rank(sender), first, order, stamp, [b""], None, uniform, port,
        sets_order,
    )  # fmt: skip


def turns(number: int, *given: tuple[int, int], successor: int = -1) -> SetsOrder:
    """Return a list."""
    return SetsOrder(number, given, successor)


def state(here: MixedDomain) -> tuple[object, ...]:
    """Everything that can be seen from outside."""
    gate = here.gate(GROUP)
    return (
        here.clock(GROUP), here.received(GROUP), here.waiting(), here.queue_depth,
        dict(gate.total.turns), gate.total.next_turn, gate.total.is_holder,
        gate.uniform.is_active, list(gate.uniform.marked), list(gate.uniform.settled),
    )  # fmt: skip


BAD_LISTS = [
    (turns(1, (4, 1)), "names a member that is not in a view of 4"),
    (turns(1, (0, 1), (4095, 1)), "names a member that is not in a view of 4"),
    (turns(1, (0, 1), successor=4), "names a member that is not in a view of 4"),
    (turns(2, (HONEST, 7)), "two sets-order lists disagree on turn 2"),
    (turns(1, (HONEST, 1), (HOLDER, 1)), "two sets-order lists disagree on turn 2"),
]


@pytest.mark.parametrize(("order", "sentence"), BAD_LISTS)
@pytest.mark.parametrize("asks", [Order.CAUSAL, Order.TOTAL])
@pytest.mark.parametrize("uniform", [False, True])
def test_bad_list_is_refused_and_changes_nothing(
    order: SetsOrder, sentence: str, asks: Order, uniform: bool
) -> None:
    """Ranks out of range, and turns that another list gave otherwise."""
    here = machine()
    here.receive(run_of(HOLDER, sets_order=turns(1, (HONEST, 1), (ME, 1)), port=PORT_ORDER))
    before = state(here)
    with pytest.raises(PeerError, match=sentence):
        here.receive(run_of(LIAR, 1, asks, sets_order=order, uniform=uniform))
    assert state(here) == before
    assert here.receive(run_of(HONEST, 1, Order.TOTAL)) != []


@pytest.mark.parametrize(
    "run",
    [
        run_of(ME, 1, Order.TOTAL),
        run_of(4, 1, Order.TOTAL),
        run_of(LIAR, 2, Order.TOTAL),
        run_of(LIAR, 2**62, uniform=True),
        run_of(LIAR, 1, Order.TOTAL, stamp=((9, 1),)),
        run_of(LIAR, 1, stamp=((ME, 1),), uniform=True),
    ],
)
def test_run_at_fault_is_refused_and_changes_nothing(run: Run) -> None:
    """Also where it asks for total order or uniform delivery: the long way checks as much."""
    here = machine()
    before = state(here)
    with pytest.raises(PeerError):
        here.receive(run)
    assert state(here) == before


def test_absurd_list_harms_nobody_but_turns() -> None:
    """Turns far in the future, of messages that never come, hold up nothing that is plain."""
    here = machine()
    here.receive(run_of(LIAR, 1, sets_order=turns(2**62, (HONEST, 2**62), (ME, 2**62))))
    assert len(here.receive(run_of(HONEST, 1))) == 1
    here.receive(run_of(HONEST, 2, Order.TOTAL))
    assert [run.first for run in here.finish(GROUP)] == [2], "the view can be left as ever"


@pytest.mark.parametrize("confirm", [Confirm(1, 1, 0), Confirm(1, 0, 1), Confirm(1, 2**62, 2**62)])
def test_impossible_confirmation_is_refused_and_changes_nothing(confirm: Confirm) -> None:
    """Nothing was multicast yet, by anybody."""
    here = machine()
    before = state(here)
    with pytest.raises(PeerError, match="never multicast"):
        here.confirm(GROUP, LIAR, confirm)
    assert state(here) == before


def test_static_group_refuses_total_order() -> None:
    """It has no views, hence nobody to give turns after a crash."""
    here = VectorDomain()
    here.install(GROUP, VIEW, Rank(ME))
    with pytest.raises(UsageError, match="CBCAST alone gives no total order"):
        here.multicast(GROUP, [b""], Order.TOTAL)
    with pytest.raises(PeerError, match="CBCAST alone gives neither"):
        here.receive(run_of(HONEST, 1, Order.TOTAL))
    with pytest.raises(PeerError, match="CBCAST alone gives neither"):
        here.receive(run_of(HONEST, 1, uniform=True))


def test_list_rides_on_causal_and_total_runs_and_not_on_fifo_ones() -> None:
    """A fifo run has no stamp: what it carries would not be linked to the lists before."""
    here = machine(HOLDER)
    here.receive(run_of(HONEST, 1, Order.TOTAL))
    fifo, _ = here.multicast_any(GROUP, [b""], Order.FIFO)
    assert fifo.sets_order is None
    causal, _ = here.multicast_any(GROUP, [b""], Order.CAUSAL)
    assert causal.sets_order == turns(1, (HONEST, 1))
    assert here.multicast_order(GROUP) is None, "nothing is left to be said"


def test_list_of_its_own_is_an_empty_message_on_its_own_port() -> None:
    """It is counted and kept like any other message, and shown to nobody."""
    here = machine(HOLDER)
    here.receive(run_of(HONEST, 1, Order.TOTAL))
    said = here.multicast_order(GROUP)
    assert said is not None
    run, ready = said
    assert (run.port, run.payloads, run.order) == (PORT_ORDER, [b""], Order.CAUSAL)
    assert ready == [run]
    assert run.stamp == ((HONEST, 1),)


def test_view_that_is_ending_has_no_holder() -> None:
    """000-10: who begins a view knowing of the next gives no turns, also if it is named."""
    for rank in (HOLDER, ME):
        here = MixedDomain("fixed")
        here.advance(GROUP, VIEW, Rank(rank), has_holder=False)
        if rank == ME:
            here.receive(run_of(HOLDER, 1, sets_order=turns(1, successor=ME), port=PORT_ORDER))
        here.receive(run_of(HONEST, 1, Order.TOTAL))
        assert not here.is_due(GROUP)
        assert here.clock(GROUP)[HONEST] == 0


def test_plain_messages_take_the_short_way() -> None:
    """Nothing is due, nothing is held: a plain multicast is as cheap as with CBCAST alone."""
    here = machine()
    assert here.is_clear(GROUP)
    here.multicast_any(GROUP, [b""], Order.TOTAL)
    assert not here.is_clear(GROUP), "a plain one has to wait behind it"
    here.receive(run_of(HOLDER, 1, sets_order=turns(1, (ME, 1)), port=PORT_ORDER))
    assert here.is_clear(GROUP)
    here.receive(run_of(HONEST, 1, uniform=True))
    assert not here.is_clear(GROUP), "from now on everything may be in the past of something"


def test_last_words_say_every_turn_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list has a limit; what the holder delivered by its own turns is said all the same."""
    monkeypatch.setattr(total, "TURNS_MAX", 2)
    holder, other = machine(HOLDER), machine(HONEST)
    runs = [run_of(ME, number, Order.TOTAL) for number in range(1, 6)]
    for run in runs:
        assert holder.receive(run) == [run]
        assert other.receive(run) == []
    last_words = [run for run, _ in holder.stop(GROUP)]
    assert [len(run.sets_order.turns) for run in last_words if run.sets_order] == [2, 2, 1]
    delivered = [run for list_run in last_words for run in other.receive(list_run)]
    assert [run for run in delivered if run.port != PORT_ORDER] == runs
    assert not holder.is_due(GROUP)


def test_list_that_is_cut_keeps_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The successor counts from the end of the list: the token moves with the last turn only."""
    monkeypatch.setattr(total, "TURNS_MAX", 6)
    holder = MixedDomain("follow")
    holder.advance(GROUP, VIEW, Rank(HOLDER))
    for number in range(1, 10):
        holder.receive(run_of(ME, number, Order.TOTAL))
    lists = []
    while (said := holder.multicast_order(GROUP)) is not None:
        lists.append(said[0].sets_order)
    assert [(len(one.turns), one.successor) for one in lists if one] == [(6, -1), (3, ME)]
