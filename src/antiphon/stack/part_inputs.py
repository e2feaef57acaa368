"""Inputs of an endpoint that concern one part of it alone: a tool, the state, datagrams; timers.

Law: what is asked of a tool goes through ``ports``; what comes by datagram ends no channel, and
what is wrong with it is noted.
"""

from antiphon.ordering.blocks.machine import NEVER
from antiphon.stack.crossing import Crossing
from antiphon.stack.effects import IgnoreMessage
from antiphon.stack.inputs import (
    CALLS,
    DATAGRAMS,
    VOTES,
    CallAbandoned,
    CallRequested,
    DatagramsReceived,
    Input,
    PieceLoaded,
    RequestAnswered,
    StateSaved,
    Timer,
    TransactionRequested,
    VoteCast,
)

TOOL_BYTES = 1_024
"""What a tool adds to what it is given, at most."""


class PartInputs(Crossing):
    """An endpoint, as far as its tools and its datagrams are concerned."""

    _vote_tick_us: int

    def ask_tools(self, asked: Input) -> None:
        """The application does something with one of the tools."""
        work, ports = self._agenda.work, self.ports
        match asked:
            case CallRequested(number, deadline_us=deadline_us):
                self.member.check_payloads([asked.payload], TOOL_BYTES)
                self.member.check(asked.order, uniform=False)
                ports.call(asked)
                if number and deadline_us is not None:
                    self._agenda.set_timer(CALLS, deadline_us)
            case CallAbandoned(number):
                ports.abandon_call(number)
            case RequestAnswered():
                ports.answer(asked)
            case TransactionRequested():
                work.extend(ports.begin(asked))
            case VoteCast():
                work.extend(ports.vote(asked))
            case _:
                message = f"{type(asked).__name__} is nothing that a tool is asked"
                raise AssertionError(message)

    def move_state(self, moved: StateSaved | PieceLoaded) -> None:
        """The application has saved its state, or loaded a piece of the group's."""
        work, ports = self._agenda.work, self.ports
        if isinstance(moved, StateSaved):
            work.extend(ports.give_state(moved.number, moved.state))
            return
        work.extend(ports.load_next(moved.number))
        if ports.has_just_loaded:
            work.extend(self.member.gain_state(self._agenda.now_us))

    def take_datagrams(self, received: DatagramsReceived) -> None:
        """Nothing that comes by datagram ends a channel: what is wrong with it is noted."""
        work, now_us = self._agenda.work, self._agenda.now_us
        faults = self.member.take_datagrams(received.arrived, now_us)
        work.extend(self.member.take_effects())
        work.extend(IgnoreMessage(peer, why) for peer, why in faults)

    def _take_part_timer(self, timer: Timer, late_us: int) -> None:
        """It is time for a tool, or for datagrams."""
        agenda, now_us = self._agenda, self._agenda.now_us
        if timer == DATAGRAMS:
            if self.member.blocks is not None:
                self.member.blocks.group.note_late(late_us, now_us)
            agenda.work.extend(self.member.wake_blocks(now_us))
        elif timer == VOTES:
            agenda.work.extend(self.ports.look_at_votes(now_us))
        elif timer == CALLS:
            agenda.work.extend(self.ports.end_late_calls(now_us))
            deadline_us = self.ports.calls.deadline_us
            if deadline_us is not None:
                agenda.set_timer(CALLS, deadline_us)

    def _set_part_timers(self) -> None:
        """Be woken when a tool, or datagrams, have something to do."""
        agenda, commit, blocks = self._agenda, self.ports.commit, self.member.blocks
        if commit is not None and commit.open_count and not agenda.is_set(VOTES):
            agenda.set_timer(VOTES, agenda.now_us + self._vote_tick_us)
        if blocks is not None:
            flow = self.flow
            blocks.group.lag(agenda.now_us, flow.reads, is_behind=flow.is_behind)
        if blocks is not None and (due_us := blocks.group.due_us) < NEVER:
            if due_us <= agenda.now_us:  # all else that this step brings has been said
                agenda.work.extend(self.member.wake_blocks(agenda.now_us))
                self._do_work()
                due_us = blocks.group.due_us
            agenda.set_timer(DATAGRAMS, due_us)
