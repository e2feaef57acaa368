"""A judge of one group's dissemination: an explicit graph of events, and no number of the protocol.

Law: what happens is noted in one sequence of real time. The past of a message, or of a letter, is
all that its sender had delivered, multicast or sent before, with the pasts of that: sets, as
integers with a bit for each. Nothing that a run or a control message says of itself is believed,
but for which message it is. A process that crashed is held to what it did before.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from antiphon.core.runs import Letter
from antiphon.core.views import View


class Sent(NamedTuple):
    """A message, or a letter (``to`` is who it is for)."""

    name: str
    view: int
    sender: str
    number: int
    payload: bytes
    is_fifo: bool
    past: int
    to: str


class Judge:
    """What happened in one group, and what of it should not have."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.wrong: list[str] = []
        self.sent: list[Sent] = []
        self.views: dict[str, list[View]] = defaultdict(list)
        """What each process installed, in order; also, as a leaver, the view without it."""
        self.agreed: dict[int, View] = {}
        self.failed: set[str] = set()
        """Who crashed, or is out: nobody waits for what it wrote last."""
        self.suspects: set[str] = set()
        """Whom some fault gives others a reason to exclude."""
        self._bits: dict[tuple[int, str, int], int] = {}
        self._letters: dict[int, tuple[Letter, int]] = {}
        self.knows: dict[str, int] = defaultdict(int)
        self.done: dict[str, int] = defaultdict(int)
        self._in_view: dict[tuple[str, int], int] = defaultdict(int)
        self._count: dict[tuple[str, int, str], int] = defaultdict(int)
        self._relevant: dict[str, int] = defaultdict(int)

    def complain(self, what: str) -> None:
        """Note that something is wrong."""
        self.wrong.append(what)

    # What happens.

    def multicast(
        self, process: str, view: int, first: int, payloads: Sequence[bytes], *, is_fifo: bool
    ) -> None:
        """Messages leave their sender."""
        if not self.views[process] or self.views[process][-1].number != view:
            self.complain(f"{process} multicasts in view {view}, in which it is not")
        for number, payload in enumerate(payloads, first):
            key = (view, process, number)
            if key in self._bits:
                self.complain(f"{process} numbers two messages {number} in view {view}")
            name = f"{process}#{number}@{view}"
            self._bits[key] = self._new(name, view, process, number, payload, is_fifo, "")

    def write(self, process: str, to: str, letter: Letter) -> None:
        """A letter leaves."""
        name, payload = f"letter {process}->{to}@{letter.view}", letter.payloads[0]
        bit = self._new(name, letter.view, process, 0, payload, False, to)
        self._letters[id(letter)] = letter, bit

    def _new(
        self, name: str, view: int, process: str, number: int, payload: bytes, is_fifo: bool,
        to: str,
    ) -> int:  # fmt: skip
        bit = len(self.sent)
        self.sent.append(
            Sent(name, view, process, number, payload, is_fifo, self.knows[process], to)
        )
        self.knows[process] |= 1 << bit
        for who, views in self.views.items():
            if to == who or (not to and any(one.number == view for one in views)):
                self._relevant[who] |= 1 << bit
        return bit

    def install(self, process: str, view: View, *, is_member: bool) -> None:
        """A view is installed; or a leaver sees the one without it."""
        before = self.views[process][-1].number if self.views[process] else 0
        if view.number <= before:
            self.complain(f"{process} installs view {view.number} after {before}")
        known = self.agreed.setdefault(view.number, view)
        if known != view:
            self.complain(f"{process} installs another view {view.number}: {view}, not {known}")
        for who in view.failed:
            if f"{who.name}.{who.boot}" not in self.suspects:
                self.complain(f"{who.name}.{who.boot} is excluded in {view.number}, for nothing")
        self.views[process].append(view)
        if is_member:
            for bit, message in enumerate(self.sent):
                if message.view == view.number and not message.to:
                    self._relevant[process] |= 1 << bit

    def deliver(
        self, process: str, view: int, sender: str, first: int, run: Sequence[bytes]
    ) -> None:
        """Messages are delivered."""
        if not self.views[process] or self.views[process][-1].number != view:
            self.complain(f"{process} delivers what is of view {view} in another one")
        for number, payload in enumerate(run, first):
            bit = self._bits.get((view, sender, number))
            if bit is None or self.sent[bit].payload != payload:
                self.complain(f"{process} delivers {number} of {sender}, which was never sent")
                return
            if number != self._count[process, view, sender] + 1:
                self.complain(f"{process} delivers {self.sent[bit].name} out of turn")
            self._count[process, view, sender] = number
            self._in_view[process, view] |= 1 << bit
            self._take(process, bit)

    def read(self, process: str, letter: Letter) -> None:
        """A letter is delivered."""
        _, bit = self._letters.get(id(letter), (letter, -1))
        if bit < 0 or self.sent[bit].to != process:
            self.complain(f"{process} reads a letter that nobody wrote to it")
        else:
            self._take(process, bit)

    def _take(self, process: str, bit: int) -> None:
        message = self.sent[bit]
        if self.done[process] >> bit & 1:
            self.complain(f"{process} delivers {message.name} twice")
        missing = message.past & self._relevant[process] & ~self.done[process]
        if missing and not message.is_fifo:
            for other in bits_of(missing):
                lost = self.sent[other]
                if not lost.to or lost.sender not in self.failed:
                    self.complain(f"causal: {process} delivers {message.name} before {lost.name}")
                    break
        self.done[process] |= 1 << bit
        self.knows[process] |= 1 << bit | (0 if message.is_fifo else message.past)

    # Claims.

    def delivered(self, process: str, view: int, sender: str) -> int:
        """Return how many messages of a member a process has delivered in a view."""
        return self._count[process, view, sender]

    def claim_stable(self, process: str, view: int, count: int) -> None:
        """A process says that its first ``count`` messages of a view have reached everybody."""
        known = self.agreed.get(view)
        for who in known.members if known is not None else ():
            key = f"{who.name}.{who.boot}"
            if self.delivered(key, view, process) < count:
                self.complain(f"{process} takes {count} of view {view} for stable: {key} lacks it")
                return

    # The end.

    def judge(self) -> list[str]:
        """Who goes on from a view to the next one has delivered there what the others have."""
        for number in self.agreed:
            gone_on = [
                process
                for process, views in self.views.items()
                for one, after in pairwise(views)
                if one.number == number and after.number == number + 1
            ]
            for process in gone_on[1:]:
                odd = self._in_view[process, number] ^ self._in_view[gone_on[0], number]
                if odd:
                    name = self.sent[next(bits_of(odd))].name
                    self.complain(f"{process} and {gone_on[0]} leave {number} differing by {name}")
        for process in self.views:
            for bit, message in enumerate(self.sent):
                if (
                    message.sender == process
                    and not message.to
                    and not self.done[process] >> bit & 1
                ):
                    self.complain(f"{process} never delivers its own {message.name}")
        return self.wrong

    def undelivered(self, process: str, view: int, living: set[str]) -> list[str]:
        """Return what a living member has not delivered of its last view, of living senders."""
        return [
            message.name
            for bit, message in enumerate(self.sent)
            if ((message.view == view and not message.to) or message.to == process)
            and message.sender in living
            and not self.done[process] >> bit & 1
        ]


def bits_of(number: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
