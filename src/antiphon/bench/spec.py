"""What one measured run does, and what each of its members reports.

Law: every system under test gets the same spec and does the same visible work: the receiving
application touches every message, its sender and its length, through one of two forms.
"""

from typing import Literal

import msgspec

from antiphon.net.datagrams.settings import LOOPBACK_BYTES

System = Literal[
    "antiphon", "antiphon-fifo", "antiphon-total", "antiphon-uniform", "antiphon-uniform-total",
    "antiphon-traced", "antiphon-blocks", "raw", "raw-datagrams", "datagrams",
]  # fmt: skip
Form = Literal["batch", "message"]
Senders = Literal["one", "junior", "all"]
"""The most senior member, which holds the token at first; the most junior one; or all."""

MEMBER_COUNT = 4

MESSAGES = {64: 600_000, 1000: 150_000}
"""Messages of one sender at full scale, by their size."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """One run: four processes on loopback."""

    system: System
    senders: Senders
    payload_bytes: int
    form: Form
    message_count: int
    """Messages that each sender multicasts."""
    ports: tuple[int, ...]
    trace: str = ""
    token: str = "follow"  # noqa: S105 - no secret
    packet_bytes: int = LOOPBACK_BYTES
    """Of a full packet, for those that send datagrams."""

    @property
    def names(self) -> list[str]:
        """The members, by seniority."""
        return [f"m{rank}" for rank in range(len(self.ports))]

    @property
    def sender_names(self) -> list[str]:
        """Who sends."""
        return {"one": self.names[:1], "junior": self.names[-1:], "all": self.names}[self.senders]

    def expected_from_others(self, name: str) -> int:
        """How many messages a member gets from the others."""
        return self.message_count * len([other for other in self.sender_names if other != name])


class MemberReport(msgspec.Struct, frozen=True):
    """What one member saw. Times are of the machine's monotonic clock, shared by all processes."""

    name: str
    received_count: int
    received_bytes: int
    sender_count: int
    begin_ns: int
    end_ns: int
    cpu_s: float


CallSystem = Literal["raw", "raw-protocol", "antiphon"]
"""Streams or protocols: the two ways to write an echo with asyncio."""


class CallSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A series of calls by the first of four processes to the three others."""

    system: CallSystem
    payload_bytes: int
    call_count: int
    ports: tuple[int, ...]


class CallReport(msgspec.Struct, frozen=True):
    """How long each call took."""

    name: str
    latencies_ns: list[int]
