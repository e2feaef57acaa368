"""State transfer: who gives to whom, how far ahead, and what happens when either dies."""

from collections import deque

import pytest

from antiphon.core.control import StateChunk, StateTaken
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.toolkit.state_transfer import (
    AHEAD_MAX,
    CHUNK_BYTES,
    DONE,
    Effect,
    ExpectState,
    LoadChunk,
    SaveState,
    SendState,
    StateLost,
    StateTransfer,
    donor_of,
)

A, B, C, D = (ProcessId(name) for name in "abcd")


def view(number: int, *members: ProcessId, stateless: tuple[ProcessId, ...] = ()) -> View:
    """Return a view; ``stateless`` members lack the state."""
    return View(GroupName("g"), ViewNumber(number), members, stateless=stateless)


class Pair:
    """Processes that pass each other's messages on, and load what they are handed."""

    def __init__(self, *machines: tuple[ProcessId, StateTransfer]) -> None:
        """Connect these."""
        self.machines = dict(machines)
        self.mail: deque[tuple[ProcessId, ProcessId, StateChunk | StateTaken]] = deque()
        self.loaded: dict[ProcessId, bytes] = {}
        self.saves: list[tuple[ProcessId, int]] = []
        self.ahead_max = 0
        self.state: bytes | list[bytes] = b""

    def do(self, who: ProcessId, effects: list[Effect]) -> None:
        """Do what a machine returned."""
        for effect in effects:
            match effect:
                case SendState(to, message):
                    self.mail.append((who, to, message))
                case SaveState(number):
                    self.saves.append((who, number))
                    self.do(who, self.machines[who].give(number, self.state))
                case ExpectState():
                    self.loaded[who] = b""
                case LoadChunk(number, data, _):
                    self.loaded[who] += data
                    self.do(who, self.machines[who].took(number))
                case StateLost():
                    self.loaded[who] = b"lost"

    def run(self) -> None:
        """Deliver until nothing is under way."""
        while self.mail:
            self.ahead_max = max(self.ahead_max, len(self.mail))
            source, to, message = self.mail.popleft()
            if to in self.machines:
                self.do(to, self.machines[to].receive(source, message))


def founder(process: ProcessId) -> tuple[ProcessId, StateTransfer]:
    """Return a process that has the state."""
    return process, StateTransfer(process, has_state=True)


def joiner(process: ProcessId) -> tuple[ProcessId, StateTransfer]:
    """Return a process that has not."""
    return process, StateTransfer(process, has_state=False)


def test_donor_is_the_most_senior_member_with_the_state() -> None:
    """Seniority alone does not make a donor."""
    assert donor_of(view(3, A, B, C, stateless=(A, C))) == B
    assert donor_of(view(3, A, stateless=(A,))) is None


def test_joiner_loads_what_the_donor_saved_at_the_view() -> None:
    """A state of many pieces arrives whole and in order, and the donor saves once."""
    pair = Pair(founder(A), joiner(B))
    pair.state = [bytes([number]) * 10 for number in range(50)] + [bytes(CHUNK_BYTES + 1)]
    both = view(2, A, B, stateless=(B,))
    for process in (A, B):
        pair.do(process, pair.machines[process].enter(both))
    pair.run()
    assert pair.loaded[B] == b"".join(pair.state)
    assert pair.saves == [(A, 2)]
    assert pair.machines[B].has_state


def test_donor_is_never_more_than_a_few_pieces_ahead() -> None:
    """Back-pressure: what the joiner has not taken is not followed by more."""
    donor = StateTransfer(A, has_state=True)
    donor.enter(view(2, A, B, stateless=(B,)))
    sent = donor.give(2, [b"x"] * 100)
    assert len(sent) == AHEAD_MAX
    assert len(donor.receive(B, StateTaken(2, 1))) == 1


def test_pieces_that_come_before_the_view_are_kept() -> None:
    """The donor may be in the view before the joiner is."""
    pair = Pair(founder(A), joiner(B))
    pair.state = b"state"
    both = view(2, A, B, stateless=(B,))
    pair.do(A, pair.machines[A].enter(both))
    pair.run()
    pair.do(B, pair.machines[B].enter(both))
    pair.run()
    assert pair.loaded[B] == b"state"


def test_second_donor_starts_again_when_the_first_dies() -> None:
    """The joiner forgets the pieces of the dead donor and loads the later state."""
    pair = Pair(founder(A), founder(B), joiner(C))
    first = view(2, A, B, C, stateless=(C,))
    pair.state = [b"old"] * 10
    for process in (A, B, C):
        pair.do(process, pair.machines[process].enter(first))
    source, to, message = pair.mail.popleft()
    pair.do(to, pair.machines[to].receive(source, message))
    pair.mail.clear()
    del pair.machines[A]
    pair.state = [b"new"] * 10
    second = view(3, B, C, stateless=(C,))
    for process in (B, C):
        pair.do(process, pair.machines[process].enter(second))
    pair.run()
    assert pair.loaded[C] == b"new" * 10
    assert pair.saves == [(A, 2), (B, 3)]


def test_transfer_goes_on_through_views_that_keep_the_donor() -> None:
    """A view that changes somebody else starts nothing again."""
    pair = Pair(founder(A), joiner(B))
    pair.state = [b"x"] * 20
    for process in (A, B):
        pair.do(process, pair.machines[process].enter(view(2, A, B, stateless=(B,))))
    later = view(3, A, B, D, stateless=(B, D))
    assert pair.machines[B].enter(later) == []
    pair.do(A, pair.machines[A].enter(later))
    pair.run()
    assert pair.loaded[B] == b"x" * 20
    assert pair.saves == [(A, 2), (A, 3)], "the second one is for the new joiner"


def test_joiner_that_has_loaded_stops_a_second_donor() -> None:
    """Word that it has the state may be late; what a new donor sends is refused politely."""
    taker = StateTransfer(C, has_state=True)
    assert taker.receive(B, StateChunk(3, 1, False, b"again")) == [
        SendState(B, StateTaken(3, DONE))
    ]
    donor = StateTransfer(B, has_state=True)
    donor.enter(view(3, B, C, stateless=(C,)))
    donor.give(3, [b"x"] * 100)
    assert donor.receive(C, StateTaken(3, DONE)) == []
    assert donor.receive(C, StateTaken(3, 1)) == []


def test_joiner_left_alone_without_the_state_is_told() -> None:
    """A joiner whose donors are all dead does not wait for ever."""
    taker = StateTransfer(B, has_state=False)
    assert taker.enter(view(2, A, B, stateless=(B,))) == [ExpectState(2)]
    assert taker.enter(view(3, B, stateless=(B,))) == [StateLost()]


def test_joiner_left_alone_with_all_pieces_can_still_load_them() -> None:
    """What has arrived does not die with the donor."""
    taker = StateTransfer(B, has_state=False)
    taker.enter(view(2, A, B, stateless=(B,)))
    assert taker.receive(A, StateChunk(2, 1, True, b"all")) == [LoadChunk(2, b"all", True)]
    assert taker.enter(view(3, B, stateless=(B,))) == []
    taker.took(2)
    assert taker.has_state


def test_view_without_a_donor_is_waited_out() -> None:
    """Another joiner may have all of it: the transfer starts again when a view says so."""
    taker = StateTransfer(C, has_state=False)
    taker.enter(view(2, A, B, C, stateless=(B, C)))
    assert taker.enter(view(3, B, C, stateless=(B, C))) == []
    assert taker.enter(view(4, B, C, stateless=(C,))) == [ExpectState(4)]


def test_piece_out_of_turn_is_the_peers_fault() -> None:
    """Channels are FIFO: a gap is a lie."""
    taker = StateTransfer(B, has_state=False)
    taker.enter(view(2, A, B, stateless=(B,)))
    with pytest.raises(PeerError, match="piece 2 of the state comes where 1 is due"):
        taker.receive(A, StateChunk(2, 2, False, b""))


def test_piece_of_another_than_the_donor_is_ignored() -> None:
    """Only the donor gives; a former one may not know yet that it is none."""
    taker = StateTransfer(B, has_state=False)
    taker.enter(view(2, A, B, stateless=(B,)))
    assert taker.receive(C, StateChunk(2, 1, False, b"no")) == []


def test_flood_of_early_pieces_is_refused() -> None:
    """Pieces of views to come are kept within bounds."""
    taker = StateTransfer(B, has_state=False)
    for place in range(1, 2 * AHEAD_MAX + 2):
        taker.receive(A, StateChunk(9, place, False, b""))
    with pytest.raises(PeerError, match="more of the state comes than was asked for"):
        taker.receive(A, StateChunk(9, 2 * AHEAD_MAX + 2, False, b""))


def test_confirmation_of_what_was_never_sent_is_the_peers_fault() -> None:
    """A joiner cannot open the donor's window by lying."""
    donor = StateTransfer(A, has_state=True)
    donor.enter(view(2, A, B, stateless=(B,)))
    donor.give(2, [b"x"] * 100)
    with pytest.raises(PeerError, match="piece 99 of the state is confirmed, and 4 were sent"):
        donor.receive(B, StateTaken(2, 99))
