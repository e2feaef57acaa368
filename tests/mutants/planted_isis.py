"""Planted bugs of the flushes of ISIS (5.3, 5.5), and of state transfer."""

from tests.mutants.registry import plant

from antiphon.core.control import Flush, StateChunk, StateTaken
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.membership.coordinator_flush import CoordinatorFlush
from antiphon.membership.roster import Roster
from antiphon.sim.replica import Replica
from antiphon.toolkit import state_transfer
from antiphon.toolkit.state_transfer import ExpectState, StateTransfer

# All-to-all flush (ISIS 5.3, 5.5).

_ALL = "all-to-all"


@plant(Roster, "takes_from", "000-17 b", _ALL)
def late_words_of_the_failed_count(self: Roster, peer: ProcessId, view_number: int) -> bool:
    """What arrives from a failed process is taken as if nothing had happened."""
    return peer not in self.gone or view_number > self.gone[peer]


@plant(AllToAllFlush, "keeps_copies", "000-17 c", _ALL, is_property=True)
def copies_are_dropped_with_their_view(self: AllToAllFlush) -> bool:
    """A process that has installed a view forgets the messages of the one before."""
    return False


@plant(AllToAllFlush, "learn", "deliver before forward", _ALL)
def flush_comes_before_the_forwarded(self: AllToAllFlush) -> None:
    """The Flush overtakes what it should be behind."""
    transition = self._transition
    newest = transition.pending[-1]
    everybody = transition.everybody()
    self._flushed[self._me] = newest.number
    self._out.send_each(everybody, Flush(newest.number))
    self._forward(everybody)
    self._check()


@plant(AllToAllFlush, "_forward", "000-17, kin", _ALL)
def nothing_is_forwarded(self: AllToAllFlush, everybody: dict[ProcessId, None]) -> None:
    """What a failed sender told only some, the others never get."""


@plant(AllToAllFlush, "_check", "one flush too early", _ALL)
def one_flush_is_not_waited_for(self: AllToAllFlush) -> None:
    """All Flush messages but one are enough."""
    transition = self._transition
    for view in transition.pending:
        participants = transition.participants(view.number)
        missing = [who for who in participants if self._flushed.get(who, 0) < view.number]
        if len(missing) <= (len(participants) > 1):
            self.installable = max(self.installable, transition.pending[0].number)
            return


# Coordinator flush (ISIS 5.5).

_LINEAR = "coordinator"
_RIGHT_DOUBTFUL = CoordinatorFlush._doubtful


@plant(CoordinatorFlush, "_doubtful", "000-18 (first)", _LINEAR)
def forwarded_once_then_stable(self: CoordinatorFlush) -> list[Run]:
    """What was sent to one coordinator is not sent to the next."""
    sent = self.__dict__.setdefault("sent_once", {})
    doubtful = _RIGHT_DOUBTFUL(self)
    news = [run for run in doubtful if id(run) not in sent]
    sent.update({id(run): run for run in doubtful})
    return news


@plant(CoordinatorFlush, "keeps_copies", "000-18 (second)", _LINEAR, is_property=True)
def unstable_only_until_installed(self: CoordinatorFlush) -> bool:
    """A process that has installed a view forgets the messages of the one before."""
    return False


@plant(CoordinatorFlush, "_doubtful", "FIFO from sender to receiver only", _LINEAR)
def own_messages_are_not_copied(self: CoordinatorFlush) -> list[Run]:
    """A live sender trusts that its messages arrive before the coordinator's permission."""
    transition = self._transition
    failed = transition.failed_until(transition.pending[-1].number)
    doubtful = self._copies.unstable_elsewhere(transition.pending[-1].members)
    for rank, member in enumerate(transition.current.members if transition.current else ()):
        if member in failed:
            doubtful += self._copies.unstable(rank)
    return doubtful


@plant(CoordinatorFlush, "take_copies", "ISIS 5.5", _LINEAR)
def coordinator_keeps_copies_to_itself(
    self: CoordinatorFlush, peer: ProcessId, runs: list[Run]
) -> None:
    """The coordinator takes the copies, and passes nothing on."""


# State transfer.

_RIGHT_STATE_RECEIVE = StateTransfer.receive


@plant(StateTransfer, "_expect", "donor dies midway")
def transfer_is_not_started_again(
    self: StateTransfer, view: View, donor: ProcessId | None
) -> list[state_transfer.Effect]:
    """A joiner goes on waiting for the donor of its first view, dead or not."""
    if self._donor is not None or donor is None:
        return []
    self._donor, self._number, self._place = donor, view.number, 0
    effects: list[state_transfer.Effect] = [ExpectState(view.number)]
    early, self._early = self._early, []
    for peer, chunk in early:
        effects += self.receive(peer, chunk)
    return effects


@plant(StateTransfer, "receive", "its place in the stream", _ALL)
def early_pieces_are_dropped(
    self: StateTransfer, peer: ProcessId, message: StateChunk | StateTaken
) -> list[state_transfer.Effect]:
    """Pieces that come before the joiner is in the view are thrown away."""
    if isinstance(message, StateChunk) and message.number > self._entered:
        return []
    return _RIGHT_STATE_RECEIVE(self, peer, message)


@plant(Replica, "expect", "its place in the stream")
def joiner_applies_what_the_state_contains(self: Replica, number: int) -> None:
    """What came between the first view and that of the new donor is applied once more."""
    self._loaded = b""
    self._since = self._since or number


@plant(StateTransfer, "_on_taken", "back-pressure")
def pieces_are_not_waited_for(
    self: StateTransfer, peer: ProcessId, message: StateTaken
) -> list[state_transfer.Effect]:
    """The donor forgets to go on after the first few pieces."""
    return []
