"""Admission: when an application may send, and what it waits for.

Law: buffers are bounded. A sender waits until the machine admits it, and while its own process
reads too slowly; the machine is told who waits, and whether the reader has fallen behind
(``stack.flow_control``). Who can never be admitted is refused at once, and told what to do.
"""

import asyncio
from typing import Protocol

from antiphon.core.errors import AntiphonError, BackPressureError, UsageError
from antiphon.net.application.perishing import check_numbers
from antiphon.net.group.sending import Sending
from antiphon.net.stream.notifier import Notifier
from antiphon.net.stream.stream import Stream
from antiphon.stack.effects import AdmitSenders
from antiphon.stack.inputs import Input, ReaderLagged, SendersWaited
from antiphon.stack.member import Member

_CLOSED = AdmitSenders(messages=False, letters=False)


class AdmissionOwner(Protocol):
    """What admission depends on, of the member that sends."""

    is_started: bool
    is_running: bool
    error: AntiphonError | None

    @property
    def name(self) -> str:
        """The name of this process in its current incarnation."""

    @property
    def group_name(self) -> str:
        """The name of the group."""

    @property
    def joined_by(self) -> str:
        """What an application calls to have a handle."""

    @property
    def member(self) -> Member | None:
        """Its part in views and orders, to look into."""

    def give(self, happened: Input) -> None:
        """Give an input to the machine."""


class Admission:
    """Lets one process send in a group, or makes it wait."""

    def __init__(
        self, owner: AdmissionOwner, stream: Stream, sending: Sending, notifier: Notifier
    ) -> None:
        """Admit nobody yet."""
        self._owner = owner
        self._stream = stream
        self._sending = sending
        self._notifier = notifier
        self._admits = _CLOSED
        self._is_flush_due = False
        self._is_lagging = False
        self._waiting_senders = 0

    # What the machine says, and is told.

    def admit(self, admits: AdmitSenders) -> None:
        """The machine says who may send from now on."""
        self._admits = admits
        self._notifier.notify()

    def close(self) -> None:
        """Admit nobody until the machine, which may be that of a new incarnation, says so."""
        self._admits = _CLOSED

    def note_full(self) -> None:
        """The stream is full: tell the machine, and again when it has been read."""
        if not self._is_lagging and self._owner.is_running:
            self._is_lagging = True
            self._stream.on_read = self._on_read
            self._stream.call_on_room(self._on_reader_room)
            self._owner.give(ReaderLagged(is_behind=True))

    def _on_read(self) -> None:
        """Something was read: let others know that this process reads, if slowly."""
        if self._is_lagging and self._owner.is_running:
            self._owner.give(ReaderLagged(is_behind=True))

    def _on_reader_room(self) -> None:
        self._is_lagging = False
        self._owner.give(ReaderLagged(is_behind=False))

    def tell_machine(self) -> None:
        """Tell the machine, which may be that of a new incarnation, how things stand here."""
        if self._is_lagging:
            self._owner.give(ReaderLagged(is_behind=True))
        if self._waiting_senders:
            self._owner.give(SendersWaited(is_waiting=True))

    # What the application asks.

    def expect_flush(self, *, is_letter: bool = False) -> None:
        """Something is pending: send it when this turn of the event loop ends."""
        self.check_sendable(is_letter=is_letter)
        self._sending.take_turn()
        self._flush_soon()

    def check_sendable(self, *, is_letter: bool = False) -> None:
        """Refuse to take what would never go out."""
        self.check_inside()
        member = self._owner.member
        if member is not None and member.blocks is not None and not is_letter:
            check_numbers(member.blocks.group, self._owner.group_name)
        if self._stream.is_full and not self._stream.has_reader:
            message = (
                f"nobody reads group {self._owner.group_name}, and what it delivered fills the "
                "buffer: read it (`async for event in group`) in a task of its own"
            )
            raise BackPressureError(message)

    def check_inside(self) -> None:
        """Refuse what somebody had to wait with until the group was left, or this process out."""
        if self._owner.error is not None:
            raise self._owner.error
        if not self._owner.is_running:
            raise UsageError(self.say_outside())

    def say_outside(self) -> str:
        """Say that this process is not in its group yet, now or any more, and what to do."""
        who, group = self._owner.name, self._owner.group_name
        if self._owner.is_running:
            return (
                f"{who} is between two incarnations in group {group}: do that after the next view"
            )
        if self._owner.is_started:
            return f"{who} is not in group {group} now: do that inside `async with`"
        call = self._owner.joined_by
        advice = f"write `async with {call}(...) as group:` and do that inside"
        return f"{who} has not entered group {group}: {advice}"

    def _flush_soon(self) -> None:
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._flush_on_turn)

    def _flush_on_turn(self) -> None:
        self._is_flush_due = False
        self._sending.flush()

    @property
    def is_reader_here(self) -> bool:
        """Whether the task that asks is the one that reads: others may wait for it."""
        return self._stream.reader is asyncio.current_task()

    def must_wait(self) -> bool:
        """Whether a sender has to wait for a view, a slow member or a slow reader."""
        return self._stream.is_full or self._is_held_up()

    def must_wait_to_write(self) -> bool:
        """Whether somebody who sends a letter has to wait."""
        return self._stream.is_full or self._is_held_up(is_letter=True)

    def _is_held_up(self, *, is_letter: bool = False) -> bool:
        if self._sending.queue.is_void and self._stream.has_reader:
            return self._sending.is_held_up and not self.is_reader_here
        return not (self._admits.letters if is_letter else self._admits.messages)

    async def flush_and_wait(self, *, is_letter: bool = False) -> None:
        """Send what is pending, or let it wait its turn; wait until there is room for more."""
        self._sending.flush()
        await asyncio.sleep(0)  # a turn of the loop: to read what has arrived
        if self._must_still_wait(is_letter=is_letter):
            self._count_waiting(1)
            try:
                await self._notifier.until(lambda: not self._must_still_wait(is_letter=is_letter))
            finally:
                self._count_waiting(-1)
        stream = self._stream
        if stream.is_full and stream.has_reader and not self.is_reader_here:
            await stream.wait_for_room()

    def _count_waiting(self, change: int) -> None:
        before, self._waiting_senders = self._waiting_senders, self._waiting_senders + change
        if bool(before) != bool(self._waiting_senders):
            self._owner.give(SendersWaited(is_waiting=bool(self._waiting_senders)))

    def _must_still_wait(self, *, is_letter: bool) -> bool:
        is_on = self._owner.is_running and self._owner.error is None
        return is_on and self._is_held_up(is_letter=is_letter)
