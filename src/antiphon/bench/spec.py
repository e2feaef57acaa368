"""What one measured run does, and what each of its members reports.

Law: every system under test gets the same spec and does the same visible work: the receiving
application touches every message, its sender and its length, through one of two forms.
"""

from typing import Literal

import msgspec

System = Literal["antiphon", "antiphon-fifo", "antiphon-traced", "raw"]
Form = Literal["batch", "message"]
Senders = Literal["one", "all"]

MEMBER_COUNT = 4


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

    @property
    def names(self) -> list[str]:
        """The members; the first one sends when only one does."""
        return [f"m{rank}" for rank in range(len(self.ports))]

    @property
    def sender_names(self) -> list[str]:
        """Who sends."""
        return self.names[:1] if self.senders == "one" else self.names

    def expected_from_others(self, name: str) -> int:
        """How many messages a member gets from the others."""
        return self.message_count * len([other for other in self.sender_names if other != name])


class Report(msgspec.Struct, frozen=True):
    """What one member saw. Times are of the machine's monotonic clock, shared by all processes."""

    name: str
    received_count: int
    received_bytes: int
    sender_count: int
    begin_ns: int
    end_ns: int
    cpu_s: float
