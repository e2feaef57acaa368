"""The tools of one process in one group: calls, commit and state transfer, each a machine.

Law: a tool sees the messages of its port, letters and views in the order of delivery, at once; not
where the application reads its stream. What it sends waits its turn in the send queue, among all
else that this process sends. What a member sends to a tool, and no correct member would, is noted
and ignored: it harms nobody else.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from antiphon.core.control import StateChunk, StateTaken
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_CALLS, PORT_COMMIT, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import SendControl
from antiphon.stack.effects import (
    ConcludeCall,
    Effect,
    HandRequest,
    IgnoreMessage,
    NameTransaction,
)
from antiphon.stack.inputs import CallRequested, RequestAnswered, TransactionRequested, VoteCast
from antiphon.stack.send_queue import Item, SendQueue, WaitingLetter, WaitingRun, how_of
from antiphon.toolkit import calls as calls_module
from antiphon.toolkit import commit as commit_module
from antiphon.toolkit import state_transfer
from antiphon.toolkit.calls import Calls
from antiphon.toolkit.commit import Commit, KnowPast
from antiphon.toolkit.state_transfer import SendState, StateTransfer


class CommitOptions(NamedTuple):
    """How a process takes part in transactions."""

    vote_us_max: int
    start: int = 0
    """A number that no earlier start of this process had."""


class Ports:
    """The tools of one process in one group."""

    __slots__ = ("_me", "_queue", "_requests", "calls", "commit", "has_just_loaded", "transfer")

    def __init__(
        self,
        me: ProcessId,
        queue: SendQueue,
        *,
        has_state: bool | None,
        commit: CommitOptions | None,
    ) -> None:
        """Begin outside; ``has_state`` is None where the group gives no state to joiners."""
        self._me = me
        self._queue = queue
        self._requests: dict[int, bytes] = {}
        self.calls = Calls(me)
        self.commit: Commit | None = None
        if commit is not None:
            self.commit = Commit(me, commit.start, commit.vote_us_max)
        self.has_just_loaded = False
        """Whether the piece that was loaded last was the last one of all."""
        self.transfer: StateTransfer | None = None
        if has_state is not None:
            self.transfer = StateTransfer(me, has_state=has_state)

    # What is delivered.

    def enter(self, view: View, now_us: int) -> list[Effect]:
        """A view begins."""
        effects: list[Effect] = []
        if self.transfer is not None and self._me in view.members:
            effects += self.transferred(self.transfer.enter(view))
        effects += self._called(self.calls.enter(view))
        if self.commit is not None:
            effects += self._committed(self.commit.enter(view, now_us))
            if view.number == 1:
                effects.append(KnowPast())  # founders know all there is
        return effects

    def deliver(self, sender: ProcessId, run: Run, now_us: int) -> list[Effect]:
        """Messages, or a letter, have been delivered on a port."""
        effects: list[Effect] = []
        try:
            if run.port == PORT_CALLS:
                take = self.calls.take_reply if type(run) is Letter else self.calls.deliver
                for payload in run.payloads:
                    effects += self._called(take(sender, payload))
            elif run.port == PORT_COMMIT and type(run) is Letter:
                # One member must not be told what the others never hear.
                alone = "a word on a transaction is for all members, and came to one alone"
                effects.append(IgnoreMessage(sender, alone))
            elif run.port == PORT_COMMIT and self.commit is not None:
                for payload in run.payloads:
                    effects += self._committed(self.commit.deliver(sender, payload, now_us))
        except PeerError as error:
            effects.append(IgnoreMessage(sender, str(error)))
        return effects

    # Calls.

    def call(self, asked: CallRequested) -> None:
        """Begin a call."""
        number, request = self.calls.begin(
            asked.payload, asked.wanted, asked.deadline_us, asked.number
        )
        if number:
            self._requests[number] = request
        how = how_of(asked.order, False, PORT_CALLS)  # noqa: FBT003 - not uniform
        self._queue.put(WaitingRun(how, [request], len(request)))

    def abandon_call(self, number: int) -> None:
        """Forget a call; take its request back if it has not gone out."""
        request = self._requests.pop(number, None)
        if request is not None:
            self._queue.withdraw(request)
        self.calls.give_up(number)

    def answer(self, answered: RequestAnswered) -> None:
        """Send the answer of the application, or its refusal."""
        if answered.caller == self._me or not answered.number:
            message = "nobody waits for an answer to this request"
            raise UsageError(message)
        if answered.payload is None:
            said = self.calls.refuse(answered.number, answered.why)
        else:
            said = self.calls.answer(answered.number, answered.payload)
        self._queue.put(WaitingLetter(answered.caller, said, PORT_CALLS))

    def end_late_calls(self, now_us: int) -> list[Effect]:
        """End the calls whose time is over."""
        late = self.calls.late(now_us)
        unsent = [number for number in late if self._queue.withdraw(self._requests[number])]
        return self._called(self.calls.tick(now_us, unsent))

    def _called(self, effects: list[calls_module.Effect]) -> list[Effect]:
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, calls_module.Handle):
                done.append(HandRequest(effect.caller, effect.number, effect.body))
            else:
                self._requests.pop(effect.number, None)
                done.append(ConcludeCall(effect.number, effect.replies, effect.error))
        return done

    # Commit.

    def begin(self, asked: TransactionRequested) -> list[Effect]:
        """Begin a transaction."""
        if self.commit is None:
            message = "this process takes no part in transactions: create a Committer first"
            raise UsageError(message)
        transaction, effects = self.commit.begin(asked.body, asked.needs)
        return [NameTransaction(asked.number, transaction), *self._committed(effects)]

    def vote(self, cast: VoteCast) -> list[Effect]:
        """Take the vote of the application."""
        if self.commit is None:
            return []
        return self._committed(self.commit.vote(cast.transaction, is_yes=cast.is_yes, why=cast.why))

    def look_at_votes(self, now_us: int) -> list[Effect]:
        """Look which votes take too long."""
        return self._committed(self.commit.tick(now_us)) if self.commit is not None else []

    def _committed(self, effects: list[commit_module.Effect]) -> list[Effect]:
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, commit_module.Multicast):
                how = how_of(Order.CAUSAL, effect.is_uniform, PORT_COMMIT)
                self._queue.put(WaitingRun(how, [effect.payload], len(effect.payload)))
            else:
                done.append(effect)
        return done

    # State transfer.

    def receive_state(self, peer: ProcessId, message: StateChunk | StateTaken) -> list[Effect]:
        """Take a message of the transfer."""
        if self.transfer is None:
            unexpected = "a piece of a state comes to a group that has none"
            raise PeerError(unexpected)
        return self.transferred(self.transfer.receive(peer, message))

    def give_state(self, number: int, state: bytes | Iterable[bytes]) -> list[Effect]:
        """The application has saved its state as of view ``number``."""
        if self.transfer is None:
            return []
        return self.transferred(self.transfer.give(number, state))

    def load_next(self, number: int) -> list[Effect]:
        """The application has loaded a piece of the state as of view ``number``."""
        if self.transfer is None:
            return []
        had_state = self.transfer.has_state
        effects = self.transferred(self.transfer.took(number))
        assert self.transfer.has_state or not had_state, "who has the state keeps it"
        self.has_just_loaded = self.transfer.has_state and not had_state
        return effects

    @staticmethod
    def transferred(effects: Sequence[state_transfer.Effect]) -> list[Effect]:
        """Return what the transfer wants done, with its messages as control messages."""
        return [
            SendControl((effect.to,), effect.message) if isinstance(effect, SendState) else effect
            for effect in effects
        ]

    # The end.

    def end(self, why: str, dropped: list[Item]) -> list[Effect]:
        """The process is out of the group, and ``dropped`` never went out."""
        never = [item.payloads[0] for item in dropped if isinstance(item, WaitingRun)]
        unsent = {
            number
            for number, request in self._requests.items()
            if any(payload is request for payload in never)
        }
        effects = self._called(self.calls.abandon(why, unsent))
        assert not self._requests, "no call outlives the incarnation that made it"
        return effects
