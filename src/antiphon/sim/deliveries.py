"""Whether what members say to be delivered by all has been: a book of who delivered what.

Law: when a process says that n messages of p are delivered by all members of its view, every member
of that view, crashed ones too, has delivered so many of them in it by now; and what this process
delivers in that view from then on was multicast by who had delivered them before. At rest everybody
knows of all that is delivered. Judged as it happens, by what processes multicast and delivered, and
by nothing that the protocol counts or sends.
"""

from collections import defaultdict

from antiphon.core.views import View
from antiphon.stack.member import Member

Counts = dict[str, int]
"""By the name of the sender, how many messages."""


class DeliveryBook:
    """What all processes of a world have delivered, view by view."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self._delivered: dict[tuple[str, int], Counts] = defaultdict(dict)  # by process and view
        self._before: dict[tuple[str, int], list[tuple[int, Counts]]] = defaultdict(list)
        # By process and view, for each run that it multicast: its last message, and what it had
        # delivered before.
        self._claims: dict[tuple[str, int], Counts] = {}
        self.complaint = ""
        """What is wrong with what somebody said first, if anything is."""

    def multicast(self, who: str, view: int, last: int) -> None:
        """A process multicasts messages up to this one."""
        self._before[who, view].append((last, dict(self._delivered[who, view])))

    def deliver(self, who: str, view: int, sender: str, first: int, last: int) -> None:
        """A process delivers messages."""
        said = self._claims.get((who, view))
        self._delivered[who, view][sender] = last
        if said is None or self.complaint:
            return
        known = self._known_to(sender, view, first)
        for whose, count in said.items():
            if known.get(whose, 0) < count:
                self.complaint = (
                    f"{who} said that {count} messages of {whose} are delivered by all in view "
                    f"{view}, and then delivers message {first} of {sender}, which had delivered "
                    f"{known.get(whose, 0)} before it"
                )

    def _known_to(self, sender: str, view: int, number: int) -> Counts:
        """Return what a process had delivered before it multicast a message."""
        runs = self._before[sender, view]
        return next((known for last, known in runs if number <= last), {})

    def ask(self, member: Member) -> None:
        """Have a process that is up say what it takes to be delivered by all."""
        view = member.view
        if view is not None and member.me in view.members:
            known = member.stability.delivered_by_all
            said = {str(process): known(rank) for rank, process in enumerate(view.members)}
            self.claim(str(member.me), view, said)

    def find_unknown(self, member: Member) -> str:
        """Say what all have delivered without the knowledge of a process; empty if nothing."""
        self.ask(member)
        return self.unknown(str(member.me), member.view) if member.view is not None else ""

    def claim(self, who: str, view: View, said: Counts) -> None:
        """A process says how many messages of each member are delivered by all of this view."""
        if said == self._claims.get((who, view.number)):
            return
        self._claims[who, view.number] = said
        for member in map(str, view.members):
            delivered = self._delivered[member, view.number]
            for sender, count in said.items():
                if delivered.get(sender, 0) < count and not self.complaint:
                    self.complaint = (
                        f"{who} says that {count} messages of {sender} are delivered by all in "
                        f"view {view.number}: by {member}, only {delivered.get(sender, 0)} are"
                    )

    def unknown(self, who: str, view: View) -> str:
        """Say what all members have delivered, and this one does not know of; empty if nothing."""
        said = self._claims.get((who, view.number), {})
        counts = [self._delivered[str(member), view.number] for member in view.members]
        for sender in map(str, view.members):
            least = min(delivered.get(sender, 0) for delivered in counts)
            if said.get(sender, 0) < least:
                return (
                    f"{least} messages of {sender} are delivered by all in view {view.number}, and "
                    f"{who} knows of {said.get(sender, 0)}"
                )
        return ""
