"""Collecting: what an application multicasts one after the other becomes one run.

Law: a run has messages of one order. It ends when it is full, when something of another order
follows, and when the turn of the event loop ends (``sending``). A sender waits for room once per
run, so that not every message has to ask. However many runs are cut short, the event loop gets its
turns.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import cast

from antiphon.core.errors import UsageError
from antiphon.core.records import PAYLOAD_BYTES_MAX
from antiphon.net.application.buffers import Payload, frozen
from antiphon.net.group.admission import Admission
from antiphon.net.group.sending import Sending
from antiphon.stack.inputs import MulticastRequested
from antiphon.stack.send_queue import RUN_BYTES_MAX, RUN_MESSAGES_MAX, How

CUTS_PER_YIELD = 64
"""Runs that another order or a letter cuts short before the event loop gets a turn to read."""


class Collector:
    """Collects what one process multicasts in a group."""

    def __init__(
        self,
        admission: Admission,
        sending: Sending,
        check_more: Callable[[list[bytes], int], None] | None = None,
    ) -> None:
        """Begin with nothing; ``check_more`` refuses what this group cannot carry."""
        self._check_more = check_more
        self._admission = admission
        self._sending = sending
        self._pending = sending.pending
        self._cut_count = 0

    def collect(self, payload: Payload, how: How) -> Coroutine[None, None, None] | None:
        """Add a message to the run being collected; return what its sender has to wait for.

        Nearly always nothing: then a message costs one append.
        """
        if type(payload) is not bytes or len(payload) > RUN_BYTES_MAX:
            return self.collect_many([payload], how)
        pending = self._pending
        if not pending.payloads or how is not pending.how:
            if pending.payloads or self._admission.must_wait():
                return self.collect_many([payload], how)
            self._admission.expect_flush()
            pending.how = how
        pending.payloads.append(payload)
        pending.byte_count += len(payload)
        if pending.byte_count >= RUN_BYTES_MAX or len(pending.payloads) >= RUN_MESSAGES_MAX:
            return self._admission.flush_and_wait()
        return None

    async def collect_many(self, payloads: Iterable[Payload], how: How) -> None:
        """Add messages, as many runs as they need; none of them if one is unfit."""
        try:
            given = list(payloads)
        except TypeError:
            message = f"messages are given as a list, or anything to go through, not {payloads!r}"
            raise UsageError(message) from None
        batch, size = checked(given)
        if self._check_more is not None:
            self._check_more(batch, size)
        pending, reading = self._pending, self._sending.reading
        for part, byte_count in _cut(batch, size):
            if not pending.payloads or how is not pending.how:
                await self._begin_run(how)
            if pending.payloads and pending.byte_count + byte_count > PAYLOAD_BYTES_MAX:
                # No frame is larger than the largest message needs.
                await self._begin_run(how, is_new=True)
            if self._sending.is_void(reading):
                self._sending.send(MulticastRequested(part, how, byte_count, reading))
                continue
            pending.payloads += part
            pending.byte_count += byte_count
            if pending.byte_count >= RUN_BYTES_MAX or len(pending.payloads) >= RUN_MESSAGES_MAX:
                await self._admission.flush_and_wait()

    async def _begin_run(self, how: How, *, is_new: bool = False) -> None:
        """Wait for room, once per run, so that not every message has to ask."""
        pending = self._pending
        if self._admission.must_wait():
            await self._admission.flush_and_wait()
        elif pending.payloads and self.is_turn_over():
            await asyncio.sleep(0)  # what has arrived is to be read, and confirmed
        if pending.payloads and (is_new or pending.how is not how):
            self._sending.flush()
        self._admission.expect_flush()
        pending.how = how

    def is_turn_over(self) -> bool:
        """Whether so many runs were cut short that others in this process have to get a turn."""
        self._cut_count += 1
        return self._cut_count % CUTS_PER_YIELD == 0


def checked(given: list[Payload]) -> tuple[list[bytes], int]:
    """Return all messages as bytes, and their size; refuse a batch with one that is unfit.

    Written for batches of thousands of bytes: few passes, none of them in Python.
    """
    batch = cast("list[bytes]", given)
    if set(map(type, given)) - {bytes}:
        batch = [frozen(item) for item in given]
        for item in batch:
            if type(item) is not bytes:
                raise UsageError(_say_unfit(item))
    byte_count = sum(map(len, batch))
    if byte_count > PAYLOAD_BYTES_MAX and len(longest := max(batch, key=len)) > PAYLOAD_BYTES_MAX:
        raise UsageError(_say_unfit(longest))
    return batch, byte_count


def _cut(batch: list[bytes], byte_count: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield parts that fit into one run, with their sizes; nearly always the whole batch."""
    if byte_count <= RUN_BYTES_MAX and 0 < len(batch) <= RUN_MESSAGES_MAX:
        yield batch, byte_count
        return
    begin = size = 0
    for at, payload in enumerate(batch):
        if at > begin and (size + len(payload) > RUN_BYTES_MAX or at - begin == RUN_MESSAGES_MAX):
            yield batch[begin:at], size
            begin, size = at, 0
        size += len(payload)
    if size or begin < len(batch):
        yield batch[begin:], size


def _say_unfit(payload: object) -> str:
    if not isinstance(payload, bytes) or type(payload) is not bytes:
        return f"a message is bytes, not {type(payload).__name__}: encode it first"
    return (
        f"a message of {len(payload)} bytes is above the limit of {PAYLOAD_BYTES_MAX}: "
        "cut it up, or multicast a reference to it"
    )
