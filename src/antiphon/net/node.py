"""A node: one process of a static group on a real network.

Law: the node only carries. Every decision about order is the machine's (``stack.py``); the node
hands it inputs one at a time and does what it returns, in order:

- What the application multicasts is collected until the turn of the event loop ends, a run is
  full, something arrives, or the application reads: then it becomes ONE run, encoded once, the
  same bytes written to every link.
- What arrives is handed over run by run; deliveries go to the group's stream.
- Buffers are bounded. When a link is full, senders wait. When the application does not read, the
  node stops reading from its peers, except while a sender waits for a link: two processes that
  both wait to send must still read, or they would wait for each other for ever.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.core.errors import AntiphonError, BackPressureError, PeerError, UsageError
from antiphon.core.frames import MEMBERS_MAX, Frame, Runs, runs_parts
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber, check_name
from antiphon.core.runs import Run
from antiphon.core.views import View
from antiphon.net.address import check_insecure, parse_address
from antiphon.net.framing import join_with_length
from antiphon.net.group import Group
from antiphon.net.mesh import Mesh
from antiphon.net.stream import Stream, weight
from antiphon.stack import DeliverRuns, MulticastRequested, Process, SendRun

if TYPE_CHECKING:
    from antiphon.net.recorder import Recorder

HELD_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of one member held in the delay queue before no more is read from that member."""

_NUMBER = GroupNumber(0)


class Node:
    """One process, its links, and its handle on the group."""

    def __init__(
        self,
        group: str,
        name: str,
        members: Mapping[str, str],
        *,
        trace: Path | None = None,
        connect_s: float = 10.0,
        drain_s: float = 5.0,
        insecure: bool = False,
        delay_s_max: float = 0.0,
    ) -> None:
        """Describe the group; nothing happens before :meth:`start`."""
        check_name(group, "group name")
        if name not in members:
            message = f"{name} is no member of group {group}: add it to the members"
            raise UsageError(message)
        if len(members) > MEMBERS_MAX:
            message = f"a group has at most {MEMBERS_MAX} members, not {len(members)}"
            raise UsageError(message)
        # Sorted, because every member must number the members alike.
        names = sorted(check_name(member, "member name") for member in members)
        addresses = {member: parse_address(members[member]) for member in names}
        check_insecure(addresses, insecure=insecure)
        self.name = name
        self._rank = names.index(name)
        self._view = View(GroupName(group), ViewNumber(1), tuple(map(ProcessId, names)))
        self._machine = Process(ProcessId(name))
        self._machine.join_static(_NUMBER, self._view)
        self._mesh = Mesh(self, group, self._rank, addresses, delay_s_max)
        self.group = Group(self, group, names)
        self._trace = trace
        self._connect_s = connect_s
        self._drain_s = drain_s
        self._recorder: Recorder | None = None
        self._is_flush_due = False
        self._waiting_senders = 0
        self._held_bytes = [0] * len(names)
        self.held_count = 0
        """Messages that had to wait for something in their causal past, so far."""
        self._is_started = False
        self._is_running = False

    @property
    def lost(self) -> dict[str, str]:
        """Members that are gone without having said bye, and why."""
        return self._mesh.lost

    @property
    def held_runs(self) -> int:
        """Runs received that wait for something in their causal past."""
        return self._machine.ordering.queue_depth

    # Life.

    async def start(self) -> None:
        """Listen, connect to every member, and open the journal."""
        if self._is_started:
            message = f"{self.name} has been started before: join again to begin another life"
            raise UsageError(message)
        self._is_started = True
        if self._trace is not None:
            # Imported here: nobody who traces nothing should wait for what tracing needs.
            from antiphon.net.recorder import Recorder  # noqa: PLC0415

            self._recorder = Recorder(self._trace, self.name, self._view)
        try:
            await self._mesh.open(self._connect_s)
        except BaseException:
            with suppress(AntiphonError):
                await self._end("never connected")
            raise
        self._is_running = True

    async def stop(self) -> None:
        """Send what is pending, say bye, wait a while for the others to do so, and close."""
        if not self._is_running:
            return
        self.flush()
        self._is_running = False
        problem = "left before the others had finished"
        try:
            if await self._mesh.drain(self._drain_s):
                problem = ""
        finally:  # also when whoever waits for the others is cancelled
            await self._end(problem)

    async def _end(self, problem: str) -> None:
        try:
            await self._mesh.close()
        finally:
            self.group.stream.end()
            if self._recorder is not None:
                self._recorder.close(problem)

    # Sending.

    def expect_flush(self) -> None:
        """Something is pending: send it when this turn of the event loop ends."""
        if not self._is_running:
            message = f"{self.name} is not running: multicast inside `async with`"
            raise UsageError(message)
        if self.group.stream.is_full and not self.group.stream.has_reader:
            message = (
                f"nobody reads group {self.group.name}, and what it delivered fills the "
                "buffer: read it (`async for message in group`) in a task of its own"
            )
            raise BackPressureError(message)
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._flush_on_turn)

    def _flush_on_turn(self) -> None:
        self._is_flush_due = False
        self.flush()

    def flush(self) -> None:
        """Make a run of what is pending, send it, and deliver it here."""
        if not self.group.pending:
            return
        order = self.group.pending_order
        payloads, byte_count = self.group.take_pending()
        requested = MulticastRequested(_NUMBER, payloads, order, byte_count)
        for effect in self._machine.step(requested, time.monotonic_ns() // 1000):
            match effect:
                case SendRun(run):
                    self._send(run)
                case DeliverRuns(runs):
                    self._deliver(runs)

    def _send(self, run: Run) -> None:
        parts, overhead_bytes = runs_parts(self._mesh.domain, self._rank, [run])
        stream_bytes = join_with_length(parts, overhead_bytes + run.byte_count)
        self._mesh.broadcast(stream_bytes)
        if self._recorder is not None:
            self._recorder.run("multicast", run, self.held_runs, overhead_bytes)

    def must_wait(self, stream: Stream) -> bool:
        """Whether a sender has to wait for a slow member or a slow reader."""
        return stream.is_full or not self._mesh.is_writable

    async def flush_and_wait(self, stream: Stream) -> None:
        """Send what is pending; wait until there is room for more."""
        self.flush()
        await asyncio.sleep(0)  # a turn of the loop: to read what has arrived
        if not self._mesh.is_writable:
            self._waiting_senders += 1
            self._mesh.set_reading(reading=True)
            try:
                await self._mesh.wait_writable()
            finally:
                self._waiting_senders -= 1
        if stream.is_full and stream.has_reader and stream.reader is not asyncio.current_task():
            await stream.wait_for_room()

    # Receiving.

    def on_frame(self, peer: int, frame: Frame) -> None:
        """Hand a member's runs to the machine, one by one."""
        assert isinstance(frame, Runs), "the mesh keeps the other kinds"
        self.flush()  # what was multicast before this arrival does not depend on it
        for run in frame.runs:
            if run.sender != peer:
                message = f"a run of member {run.sender} comes from member {peer}"
                raise PeerError(message)
            delivered = self._machine.receive(run)
            if self._recorder is not None:
                self._recorder.run("receive", run, self.held_runs)
            if not delivered:
                self._note_held(run)
                continue
            for released in delivered[1:]:  # the first is the one that has just come
                self._note_released(released)
            self._deliver(delivered)

    def _note_held(self, run: Run) -> None:
        """Count a run that waits; stop reading from a member of which too much waits.

        That cannot last for ever: what they wait for comes over another link, whose member has
        sent nothing before it that waits, or that would be in the way here too.
        """
        self.held_count += len(run.payloads)
        self._held_bytes[run.sender] += weight(run)
        if self._held_bytes[run.sender] > HELD_BYTES_MAX:
            self._mesh.set_held_up(run.sender, held_up=True)

    def _note_released(self, run: Run) -> None:
        before = self._held_bytes[run.sender]
        after = self._held_bytes[run.sender] = before - weight(run)
        if after <= HELD_BYTES_MAX < before:
            self._mesh.set_held_up(run.sender, held_up=False)

    def _deliver(self, runs: list[Run]) -> None:
        stream = self.group.stream
        for run in runs:
            stream.append(run)
            if self._recorder is not None:
                self._recorder.run("deliver", run, self.held_runs)
        if stream.is_full and not self._waiting_senders and self._is_running:
            self._mesh.set_reading(reading=False)
            stream.call_on_room(self._resume_reading)

    def _resume_reading(self) -> None:
        self._mesh.set_reading(reading=True)

    def on_lost(self, name: str, why: str) -> None:
        """A member is gone: the others go on."""
        if self._recorder is not None:
            self._recorder.suspect(name, why)
