"""One view of one group: who has delivered what of whom, and what is remembered of it.

Law: everything is judged within a scope, as docs/properties.md has it. Processes have numbers of
their own here, in the order in which they turn up. What each has delivered is a set of numbers per
sender, so one integer each where nothing is wrong; single messages are remembered only until all
have them.
"""

import msgspec

from antiphon.live.memory.number_sets import Numbers, union
from antiphon.live.memory.remembered import Place, Shelf, Stretch
from antiphon.live.packs import TOTAL, UNIFORM
from antiphon.trace.verdict import MessageId


class InstalledRow(msgspec.Struct, array_like=True):
    """A `view` row."""

    process: int
    """Its number in the run."""
    view: int
    members: list[int]
    place: Place
    before: tuple[int, Place] | None = None
    """The view that the process had installed before, and where."""
    is_takeover: bool = False


class Told(msgspec.Struct, array_like=True):
    """A process multicast, or delivered, a message: as an explanation tells it."""

    process: str
    message: MessageId
    is_multicast: bool
    place: Place


class OrderStory(msgspec.Struct, array_like=True):
    """A delivery that came before, or without, an earlier message."""

    property: str
    wrong: Told
    multicast: Told
    earlier: Told
    known: Told | None


class Doubt(msgspec.Struct, array_like=True):
    """Deliveries without something that had to come first, if it was multicast at all."""

    property: str
    process: int
    sender: int
    first: int
    last: int
    place: Place
    missing: dict[int, Numbers]
    """By sender."""
    sending: Place
    """Where they were multicast."""


class Hunch(msgspec.Struct, array_like=True):
    """Deliveries without messages of the process's own: wrong if it records deliveries of these."""

    count: int = 0
    first: list[Doubt] = []
    """A few of them."""


class Orphans(msgspec.Struct, array_like=True):
    """Deliveries at one process that lacked the same messages, which may come yet."""

    process: int
    missing: dict[int, Numbers]
    """By sender."""
    count: int = 0
    first: list[Doubt] = []
    """A few of them."""


class Scope(msgspec.Struct, array_like=True):
    """One view of one group."""

    group: int
    view: int
    who: list[int] = []
    """By number in the scope: the number in the run."""
    numbers: dict[int, int] = {}
    """The other way round."""
    shelves: list[Shelf] = []
    """By sender."""
    have: list[list[Numbers]] = []
    """By process and sender: what was delivered."""
    members: list[int] = []
    """Whom `view` rows list, by number in the run."""
    installed: dict[int, InstalledRow] = {}
    """By number in the run: who installed the view."""
    went_on: dict[int, InstalledRow] = {}
    """By number in the run: who installed the next one."""
    lineup: list[InstalledRow] = []
    """All `view` rows of the view."""
    has_takeover: bool = False
    own: set[int] = set()
    """Who records deliveries of its own messages, or would have to."""
    acting: set[int] = set()
    """Who has rows about messages that are not repeated."""
    latest: dict[int, int] = {}
    """By process: where its last row about messages is in its record."""
    delivering: set[int] = set()
    """Who has `deliver` rows."""
    asks: set[int] = set()
    """What rows ask for: UNIFORM and TOTAL, put together."""
    doubts: list[Doubt] = []
    orphans: dict[str, Orphans] = {}
    """By process and what is missing."""
    hunches: dict[int, Hunch] = {}
    """By process: deliveries out of causal order."""
    blocks: list[list[tuple[int, Stretch]]] = []
    """Messages in total order, with their senders, that all have delivered, in different orders."""
    counts: dict[str, int] = {}
    """By property: what was found to be wrong, for good."""
    raised: dict[str, dict[str, int]] = {}
    """By property: what has been raised, and when."""
    too_late: int = 0
    """Deliveries of what had been forgotten."""
    is_tested: bool = False
    """Whether a `deliver` row is of a message that was multicast."""
    settled_ms: int = 0
    """Since when all but those who are silent have left the view; 0: they have not."""
    seen_ms: int = 0
    """When its first row was read."""

    def number_of(self, process: int) -> int:
        """Return the number of a process here; it gets one when it turns up."""
        number = self.numbers.get(process)
        if number is None:
            number = self.numbers[process] = len(self.who)
            self.who.append(process)
            self.shelves.append(Shelf(number))
            for row in self.have:
                row.append(0)
            self.have.append([0] * len(self.who))
        return number

    def delivered(self, process: int, sender: int) -> Numbers:
        """Return what a process has delivered of a sender, or counts as having delivered."""
        explicit = self.have[process][sender]
        if process != sender or process in self.own:
            return explicit
        return union(explicit, self.shelves[sender].sent)

    @property
    def stretch_count(self) -> int:
        """Return how much is remembered."""
        return sum(len(shelf.stretches) for shelf in self.shelves)

    @property
    def is_total(self) -> bool:
        """Whether anything is in total order here."""
        return any(asked & TOTAL for asked in self.asks)

    @property
    def is_uniform(self) -> bool:
        """Whether anything is uniform here."""
        return any(asked & UNIFORM for asked in self.asks)

    def count(self, which: str, how_many: int) -> None:
        """Note that something is wrong."""
        self.counts[which] = self.counts.get(which, 0) + how_many
