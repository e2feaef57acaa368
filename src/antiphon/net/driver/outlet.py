"""The outlet: what a process sends, encoded once and given to the sessions of whom it is for.

Law: runs, relayed runs and control messages to one process leave in the order in which they were
handed over. The same bytes go to every receiver of a run. An acknowledgement rides on whatever
small thing is sent anyway.
"""

from collections.abc import Iterable
from functools import partial

from antiphon.core.control import Alive, AnyMessage
from antiphon.core.frames import (
    encode_ack,
    encode_control,
    encode_letter,
    encode_relay,
    encode_runs,
    runs_parts,
)
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter, Run
from antiphon.net.session.identity import Identity
from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import KEPT_BYTES_MAX, Peer
from antiphon.net.transport.framing import join_with_length, with_length
from antiphon.stack.send_queue import weight

RELAY_BYTES_MAX = 1024 * 1024
"""Bytes of one frame of relayed runs, unless a single run is larger."""


class Outlet:
    """Sends for one incarnation in one group."""

    def __init__(self, mesh: Mesh, identity: Identity) -> None:
        """Send through ``mesh``."""
        self._mesh = mesh
        self._domain = identity.domain
        self._number = identity.process.incarnation
        self._bare: dict[ProcessId, ProcessId] = {}
        self.members: list[Peer] = []
        """The other members of the current view, to which runs are sent."""

    def set_members(self, members: list[ProcessId]) -> None:
        """Send runs to these from now on."""
        self._bare.clear()
        self.members = self._peers(members)

    def _peer(self, member: ProcessId) -> Peer | None:
        process = self._bare.get(member)
        if process is None:
            process = self._bare[member] = member.bare()
        return self._mesh.peers.get(process)

    def send_run(
        self, run: Run, alive: Alive | None, to: tuple[ProcessId, ...] | None = None
    ) -> int:
        """Send a run to every other member, or to these; return how many bytes are no payload."""
        said = self._encode(alive) if alive is not None else b""
        parts, overhead_bytes = runs_parts(self._domain, self._number, [run])
        stream_bytes = join_with_length(parts, overhead_bytes + run.byte_count, said)
        again = partial(_encode_again, self._domain, self._number, run, said)
        frame_count = 2 if said else 1
        for peer in self.members if to is None else self._peers(to):
            peer.send_runs(stream_bytes, again, frame_count)
            if peer.session.kept_bytes > KEPT_BYTES_MAX and not peer.is_said_full:
                self._mesh.note_room(peer)
        return overhead_bytes

    def _peers(self, members: Iterable[ProcessId]) -> list[Peer]:
        peers = map(self._peer, members)
        return [peer for peer in peers if peer is not None]

    def send(self, to: tuple[ProcessId, ...], message: AnyMessage) -> None:
        """Send a control message to some members."""
        self._send_each(to, self._encode(message))

    def send_letter(self, to: ProcessId, letter: Letter) -> None:
        """Send a letter."""
        self._send_each((to,), with_length(encode_letter(self._domain, self._number, letter)))

    def relay(self, to: tuple[ProcessId, ...], runs: list[Run]) -> None:
        """Send runs of other members to some members, in frames of moderate size."""
        part: list[Run] = []
        size = 0
        for run in runs:
            if part and size + weight(run) > RELAY_BYTES_MAX:
                self._relay_part(to, part)
                part, size = [], 0
            part.append(run)
            size += weight(run)
        self._relay_part(to, part)

    def _relay_part(self, to: tuple[ProcessId, ...], runs: list[Run]) -> None:
        self._send_each(to, with_length(encode_relay(self._domain, self._number, runs)))

    def _send_each(self, to: tuple[ProcessId, ...], stream_bytes: bytes) -> None:
        for member in to:
            peer = self._peer(member)
            if peer is not None and not peer.is_lost:
                peer.send(stream_bytes, _acknowledge)

    def _encode(self, message: AnyMessage) -> bytes:
        return with_length(encode_control(self._domain, self._number, message))


def _acknowledge(count: int) -> bytes:
    return with_length(encode_ack(count))


def _encode_again(domain: int, number: int, run: Run, said: bytes) -> bytes:
    return with_length(encode_runs(domain, number, [run])) + said
