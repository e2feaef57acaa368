"""Letters: causal messages to one member (ISIS 7.2, corrected by 000-24).

Rule. A letter carries the stamp that its sender's next multicast would, and is delivered when its
past has been; but it is in nobody's numbers, so its cost does not depend on the size of the group.
Until the addressee has acknowledged its RECEIPT, the sender starts nothing else: no multicast, no
letter to anybody else. As printed only multicasts wait; then a letter to a third process can carry
the news past the first (000-24).

An acknowledgement of a reply may take its time, and serve several: nearly always the replier has
nothing else to send before. If it has, it asks for it. Who reads too slowly may withhold the
acknowledgements of letters to its application, and so hold up their senders; not those of replies,
which are taken when they come.

More letters to the same addressee may follow at once: the channel is FIFO, and whatever the first
one waits for the next one waits for too. So does the next multicast, because a fifo one that
follows a letter gets a stamp as well (``mixed``).

Invariant. Whatever depends on a letter was sent after the letter had been received, so at the
addressee it comes later in the order of receipt, lacks at least what the letter lacks, and is
delivered later.

Fault model. A letter can be lost with its sender, and waits in vain for an addressee that fails:
the view that says so sets the sender free.

Cost. Two messages, one round before the sender may go on.
"""

from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Letter
from antiphon.core.views import View

VIEWS_MAX = 32
"""Views, the current one included, of which letters are still taken."""

SENDERS_MAX = 10_000
"""Processes, dead ones included, of which it is known how many letters they have sent."""


class Letters:
    """How many letters were sent to whom, received from whom, and acknowledged."""

    __slots__ = (
        "_acknowledged", "_has_asked", "_members_of", "_received", "_sent", "is_due",
        "unacknowledged", "waiting_for",
    )  # fmt: skip

    def __init__(self) -> None:
        """None yet."""
        self._sent: dict[ProcessId, int] = {}
        self._acknowledged: dict[ProcessId, int] = {}
        self._received: dict[ProcessId, int] = {}
        self.waiting_for: ProcessId | None = None
        """Who is to acknowledge before anything else is sent."""
        self._has_asked = False
        self._members_of: dict[int, tuple[ProcessId, ...]] = {}
        self.unacknowledged: dict[ProcessId, bool] = {}
        """Whose letters are to be acknowledged, sooner or later; whether all are replies."""
        self.is_due = False
        """Whether somebody waits for an acknowledgement of this process, and may have to send."""

    def request_acknowledgement(self) -> ProcessId | None:
        """There is something to send: return whom to ask for its acknowledgement, once."""
        if self.waiting_for is None or self._has_asked:
            return None
        self._has_asked = True
        assert self._acknowledged.get(self.waiting_for, 0) < self._sent[self.waiting_for], (
            "an acknowledgement is awaited"
        )
        return self.waiting_for

    def hear_request(self, peer: ProcessId) -> None:
        """``peer`` has something to send, and asks for its acknowledgement."""
        self.is_due |= peer in self.unacknowledged

    def send(self, to: ProcessId) -> None:
        """A letter goes to ``to``."""
        assert self.waiting_for is None or self.waiting_for == to, "the caller has looked"
        self.waiting_for, self._has_asked = to, False
        self._sent[to] = self._sent.get(to, 0) + 1

    def receive(self, sender: ProcessId, *, is_reply: bool) -> None:
        """A letter has come."""
        self._received[sender] = self._received.get(sender, 0) + 1
        self.unacknowledged[sender] = is_reply and self.unacknowledged.get(sender, True)
        self.is_due |= not is_reply

    def may_acknowledge(self, *, withhold: bool) -> bool:
        """Whether somebody waits for an acknowledgement, and may get it now."""
        return self.is_due and (not withhold or any(self.unacknowledged.values()))

    def take_acknowledgements(self, *, withhold: bool = False) -> list[tuple[ProcessId, int]]:
        """Return whom to tell how many letters have come; perhaps only those that replied."""
        waiting = self.unacknowledged
        self.unacknowledged = {
            who: False for who, is_reply in waiting.items() if withhold and not is_reply
        }
        self.is_due = self.is_due and bool(self.unacknowledged)
        return [
            (sender, self._received[sender])
            for sender in waiting
            if sender not in self.unacknowledged and sender in self._received
        ]

    def hear_acknowledgement(self, peer: ProcessId, count: int) -> bool:
        """``peer`` has got so many letters; return whether that sets this process free."""
        if peer not in self._sent:
            return False  # it is in no view any more
        if count > self._sent[peer]:
            message = f"{peer} acknowledges a letter that was never sent"
            raise PeerError(message)
        self._acknowledged[peer] = max(count, self._acknowledged.get(peer, 0))
        assert self._acknowledged[peer] <= self._sent[peer], "only what was sent is acknowledged"
        is_free = peer == self.waiting_for and self._acknowledged[peer] == self._sent[peer]
        if is_free:
            self.waiting_for = None
        return is_free

    def acknowledged_by(self, peer: ProcessId) -> int:
        """Return how many letters ``peer`` has acknowledged."""
        return self._acknowledged.get(peer, 0)

    def is_known(self, peer: ProcessId, letter: Letter) -> bool:
        """Whether a letter is of a view that is remembered; refuse it if it is not of ``peer``."""
        members = self._members_of.get(letter.view)
        if members is None:
            return False
        if letter.sender >= len(members) or members[letter.sender] != peer:
            message = f"a letter of member {letter.sender} comes from another process, {peer}"
            raise PeerError(message)
        return True

    def enter(self, view: View) -> None:
        """A view begins: forget who is not in it.

        Not how much came from whom: a letter may be of a view that is still to begin here.
        """
        assert view.number not in self._members_of, "a view is entered once"
        members = self._members_of[view.number] = view.members
        if len(self._members_of) > VIEWS_MAX:
            del self._members_of[next(iter(self._members_of))]
        if self.waiting_for is not None and self.waiting_for not in members:
            self.waiting_for = None
        self._sent = {who: count for who, count in self._sent.items() if who in members}
        self._acknowledged = {who: n for who, n in self._acknowledged.items() if who in members}
        if len(self._received) > SENDERS_MAX:
            self._received = {who: n for who, n in self._received.items() if who in members}
