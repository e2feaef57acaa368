"""One run, as far as it has been read: processes, groups, findings, what is left of ended views.

Law: this is all that is remembered besides the views that still go on. A process takes a few words,
an ended view none if one like it (the same processes, doing the same) has ended before, a
transaction none once everybody has decided it.
"""

import msgspec

from antiphon.core.views import lineage_of
from antiphon.live.memory.number_sets import Numbers
from antiphon.live.memory.remembered import Place
from antiphon.live.memory.scope import InstalledRow, OrderStory, Scope
from antiphon.trace.distribution import Distribution
from antiphon.trace.schema import EARLY, LEFT, QUIESCENT
from antiphon.trace.verdict import MessageId, Violation

Key = tuple[int | str, ...]
"""Where an example stands among the others of its property."""


def nowhere(process: int) -> Place:
    """Return the place of a row of a process that has been forgotten."""
    return (process, -1, 0, -1)


class ProcessRecord(msgspec.Struct, array_like=True):
    """One process."""

    name: str
    row_count: int = 0
    is_numbered: bool = False
    has_start: bool = False
    has_crash: bool = False
    stop: str | None = None
    """The detail of its last row, if that is a `stop`."""
    last: Place = (0, -1, 0, -1)
    """Where its last row is."""
    groups: set[int] = set()
    """In which it has rows about views or messages."""
    heard_ms: int = 0
    """When a row of it was read last."""
    record: str = ""
    """In whose record its rows are: it may be another name of the same process."""

    @property
    def is_ended(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.has_crash or self.stop is not None

    def is_whole(self, *, is_over: bool) -> bool:
        """Whether its record is known to be complete; ``is_over``: all records just end here."""
        if self.has_crash or not self.row_count:
            return False
        if self.stop in {QUIESCENT, LEFT}:
            return True
        may_just_end = not self.has_start and self.stop != EARLY
        return may_just_end and (is_over or self.stop is not None)

    def may_be_whole(self) -> bool:
        """Whether its record may turn out to be complete."""
        return self.is_whole(is_over=True) or not self.is_ended

    def has_left(self) -> bool:
        """Whether it ended by leaving its group."""
        return self.stop == LEFT

    def is_cut_off(self, *, is_over: bool) -> bool:
        """Whether its record ends with a crash, or in the middle; or goes on."""
        is_stopped = self.stop is not None and self.stop != EARLY
        return not self.is_whole(is_over=is_over) and not is_stopped


class EarlyAct(msgspec.Struct, array_like=True):
    """A message at a process that had not installed a view."""

    message: MessageId
    is_multicast: bool
    place: Place


class GroupStanding(msgspec.Struct, array_like=True):
    """A process in a group."""

    latest: InstalledRow | None = None
    lineages: set[int] = set()
    """Of the views that it installed."""
    is_acting: bool = False
    early_count: int = 0
    """Messages before its first view."""
    early: list[EarlyAct] = []


class TakenOver(msgspec.Struct, array_like=True):
    """A process left a view alone, for another lineage."""

    process: int
    view: int


class Ballot(msgspec.Struct, array_like=True):
    """A vote or a decision."""

    process: int
    view: int
    is_vote: bool
    says: str
    place: Place


class OpenTransaction(msgspec.Struct, array_like=True):
    """What is known of one transaction."""

    group: int
    sender: int
    number: int
    ballots: list[Ballot] = []


class GroupRecord(msgspec.Struct, array_like=True):
    """One group."""

    name: str
    standings: dict[int, GroupStanding] = {}
    """By process."""
    takeovers: list[TakenOver] = []
    transactions: dict[str, OpenTransaction] = {}
    """Those that somebody has yet to decide, by lineage, who began them and number."""
    references: dict[int, InstalledRow] = {}
    """Of the last views that have ended: the row of the first process, by name, to install it."""
    closed: Numbers = 0
    """The views that have ended everywhere: their numbers, plus one."""


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """What is left of a view that has ended, or would be of one if it ended now."""

    group: int
    lineage: int
    members: tuple[int, ...]
    acting: tuple[int, ...]
    delivering: tuple[int, ...]
    having: tuple[int, ...]
    """Who delivered anything, or counts as having."""
    senders: tuple[int, ...]
    own: tuple[int, ...]
    went_on: tuple[int, ...]
    movers: tuple[int, ...]
    """Those who installed the view and the next one."""
    asks: tuple[int, ...]
    is_tested: bool
    has_takeover: bool
    takers: tuple[int, ...]
    """Who is not held to it, as it had left the lineage, or was never in it."""


class Example(msgspec.Struct, array_like=True):
    """One violation, explained."""

    key: Key
    violation: Violation
    story: OrderStory | None = None
    """To be told anew, as long as what is missing may still come."""
    scope: str = ""
    """Where that would be seen."""


class Uncast(msgspec.Struct, array_like=True):
    """Deliveries of messages whose multicast may have been lost."""

    count: int = 0
    examples: list[Example] = []
    """The first few: made up, if the record of the sender turns out to be complete."""


class RunMemory(msgspec.Struct, array_like=True):
    """One run."""

    name: str
    processes: list[ProcessRecord] = []
    numbers: dict[str, int] = {}
    """Of processes, by name."""
    groups: list[GroupRecord] = []
    group_numbers: dict[str, int] = {}
    files: list[str] = []
    lines: dict[str, int] = {}
    """By file: lines read."""
    row_count: int = 0
    message_count: int = 0
    delivery_count: int = 0
    has_views: bool = False
    has_causal: bool = False
    """Whether anything was multicast in another order than fifo."""
    has_fifo: bool = False
    is_decided: bool = False
    is_ballot_tested: bool = False
    counts: dict[str, int] = {}
    """By property: what was wrong in views that have ended, and with ballots."""
    examples: dict[str, list[Example]] = {}
    """By property: the first few."""
    uncast: dict[int, Uncast] = {}
    """By sender: deliveries, in ended views, of messages whose multicast is not on record, but may
    have been lost with the end of it."""
    left_out: int = 0
    """Deliveries in ended views of messages whose multicast is not on record."""
    too_late: int = 0
    """Rows about messages that came too late to be judged: what they are about was forgotten."""
    late_views: list[Scope] = []
    """Of views that had ended: `view` rows that were read after that, and nothing else."""
    raised: dict[str, list[str]] = {}
    """By property: which examples have been raised, where no view is concerned."""
    unseen: set[int] = set()
    """Senders of messages that were delivered in ended views."""
    ended: dict[str, Ended] = {}
    ended_count: int = 0
    alarm_count: int = 0
    held_back: list[Violation] = []
    """What is raised once there is a delivery: before, there is nothing to judge."""
    delays: Distribution = msgspec.field(default_factory=Distribution)
    """From multicast to delivery at another process, of what was judged last."""
    is_skewed: bool = False
    """Whether something was delivered before it was multicast: clocks cannot be compared."""
    newest_us: int = 0
    """The latest time that a row has."""
    now_ms: int = 0
    """When the last batch was read."""
    timer_ms: int = 0
    """When the judge is to look at the clock again; it is for whoever drives it."""

    def process(self, name: str) -> int:
        """Return the number of a process."""
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = len(self.processes)
            self.processes.append(ProcessRecord(name))
        return number

    def group(self, name: str) -> int:
        """Return the number of a group."""
        number = self.group_numbers.get(name)
        if number is None:
            number = self.group_numbers[name] = len(self.groups)
            self.groups.append(GroupRecord(name))
        return number

    def name_of(self, process: int) -> str:
        """Return the name of a process."""
        return self.processes[process].name

    def is_held(self, group: int, view: int, process: int, *, is_over: bool) -> bool:
        """Whether a process has to agree with others on a view: it was there to the end.

        Who takes over leaves its view, and those of the same lineage that it may know of; who was
        in views of other lineages only was not there.
        """
        is_whole = self.processes[process].is_whole(is_over=is_over)
        return is_whole and not self.is_elsewhere(group, view, process)

    def is_elsewhere(self, group: int, view: int, process: int) -> bool:
        """Whether a process left the lineage of a view, or was never in it."""
        about = self.groups[group]
        standing = about.standings.get(process)
        lineage = lineage_of(view)
        if standing is not None and standing.lineages and lineage not in standing.lineages:
            return True
        return any(
            one.process == process and one.view <= view and lineage_of(one.view) == lineage
            for one in about.takeovers
        )

    def is_bound(self, scope: Scope, process: int, *, is_over: bool) -> bool:
        """Whether a process was there to the end of the view, or of all."""
        return self.processes[process].is_whole(is_over=is_over) or process in scope.went_on
