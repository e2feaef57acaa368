"""What applications did in the groups of some domains, and what of it should not have been.

Law: all that is kept is what applications see: what they handed over, when; what they read, in
which view; what they were told. It is noted in one sequence. The past of a message is all that its
application had handed over or read before in the domain, with the pasts of that; nothing passes
through a fifo message. Sets of messages are integers, a bit for each. A message is of the view in
which it is read.
"""

from collections import defaultdict
from typing import NamedTuple

from antiphon.core.runs import Order

Scope = tuple[str, int]
"""Group, and the number of a view."""


class Said(NamedTuple):
    """A message, or a letter (``to`` names the process that it is for)."""

    name: str
    group: str
    order: Order
    uniform: bool
    to: str
    past: int
    sure: int
    """Of that, what was not learnt, by anybody, before it was excluded: that may be lost."""
    flushed: int
    """What its application had waited for to be everywhere, whatever the domain."""


class Step(NamedTuple):
    """What a program read: a message (``bit``), or a view, as ``me``."""

    bit: int
    group: str
    view: int
    me: str
    members: tuple[str, ...] = ()


class Reader:
    """One start of a process, as its application sees it."""

    def __init__(self, name: str) -> None:
        """Nothing has been read."""
        self.name = name
        self.steps: list[Step] = []
        self.knows: dict[str, int] = defaultdict(int)
        """By domain."""
        self.sure: dict[str, int] = defaultdict(int)
        self.flushed = 0
        self.unsent = 0
        self.is_harmed = False
        """Whether it was killed, or taken for dead: it may lack what others have."""
        self.left: set[str] = set()
        """Groups that it left, or wanted to: what comes then is not read."""
        self.here: dict[str, Step] = {}
        """By group: its view, as last read."""


class Judge:
    """What happened in a world."""

    def __init__(self, domains: dict[str, str], resilience: int) -> None:
        """Nothing happened yet; ``domains`` tells that of each group."""
        self.domains = domains
        self.resilience = resilience
        self.said: list[Said] = []
        self.readers: list[Reader] = []
        self.has_states = False
        """Whether joiners are given states."""
        self.wrong: list[str] = []
        self.places: dict[int, Scope] = {}
        """In which view each message was read."""
        self.failed: dict[Scope, set[str]] = defaultdict(set)
        """Who did not go on from a view, though it did not leave."""
        self.dead: set[str] = set()
        """Members (as `group/member`) whose process was killed, or excluded."""

    def complain(self, what: str) -> None:
        """Note that something is wrong."""
        self.wrong.append(what)

    # What happens.

    def say(
        self, reader: Reader, group: str, order: Order, *, uniform: bool = False, to: str = ""
    ) -> int:
        """Something is handed over; return its number."""
        domain, bit = self.domains[group], len(self.said)
        how = f"{order.name}{' uniform' * uniform}{f' to {to}' * bool(to)}"
        name = f"{bit}: {reader.name} in {group}, {how}"
        past = reader.knows[domain] if order is not Order.FIFO else 0
        sure = reader.sure[domain] & past
        self.said.append(Said(name, group, order, uniform, to, past, sure, reader.flushed))
        reader.knows[domain] |= 1 << bit
        reader.sure[domain] |= 1 << bit
        return bit

    def learn(self, reader: Reader, group: str, bit: int) -> None:
        """An application knows a message."""
        said, domain = self.said[bit], self.domains[group]
        is_passed = said.order is not Order.FIFO
        reader.knows[domain] |= 1 << bit | (said.past if is_passed else 0)
        reader.sure[domain] |= 1 << bit | (said.sure if is_passed else 0)

    def begin_again(self, reader: Reader, group: str, former: str) -> None:
        """An application goes on as another member, and may have been excluded."""
        self.dead.add(f"{group}/{former}")
        reader.is_harmed = True
        reader.sure.clear()
        reader.flushed = 0

    def view(
        self, reader: Reader, group: str, me: str, number: int, members: tuple[str, ...],
        failed: tuple[str, ...],
    ) -> None:  # fmt: skip
        """A view is read, in which the group goes on."""
        before = reader.here.get(group)
        if before is not None and before.me == me:
            if before.view == number:
                return  # it was blocked, and goes on
            if number < before.view:
                self.complain(f"{reader.name} reads view {number} of {group} after {before.view}")
            self.failed[group, before.view].update(failed)
        step = reader.here[group] = Step(-1, group, number, me, members)
        reader.steps.append(step)

    def read(self, reader: Reader, group: str, bit: int) -> None:
        """A message, or a letter, is read."""
        said, here = self.said[bit], reader.here.get(group)
        if said.group != group:
            self.complain(f"{reader.name} reads {said.name} in {group}")
        if said.to:
            if said.to != reader.name.split(".")[0]:
                self.complain(f"{reader.name} reads {said.name}")
        elif here is None:
            self.complain(f"{reader.name} reads {said.name} outside of any view")
        elif self.places.setdefault(bit, (group, here.view)) != (group, here.view):
            self.complain(f"{reader.name} reads {said.name} in view {here.view}, others in another")
        me = here.me if here is not None else ""
        reader.steps.append(Step(bit, group, here.view if here is not None else 0, me))
        self.learn(reader, group, bit)

    def flushed(self, reader: Reader, before: dict[str, int], inside: set[str]) -> None:
        """A flush has ended: of all that was known when it began, what is of own groups."""
        for known in before.values():
            own = [bit for bit in bits(known) if self.said[bit].group in inside]
            reader.flushed |= sum(1 << bit for bit in own)


def bits(number: int) -> list[int]:
    """Return the places of the bits that are set, in order."""
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
