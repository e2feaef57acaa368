"""The event graph of a trace: who multicast and delivered which single message, in what order.

Law: nothing is known here but the rows themselves, message by message; no clocks, no prefix
counts, no protocol. Edges: from each event to the next at its process, and from a multicast to
each delivery of the message (Lamport's "happened before", ISIS 3.1). Only the first multicast
and, per process, the first delivery of a message are events of the graph; the rest is surplus.
A set of messages is the bits of a Python integer. Cost: O(messages x events) bits: for thousands
of messages, not millions.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.views import lineage_of
from antiphon.trace.domains import OF_A_GROUP, DomainKey, GroupKey
from antiphon.trace.schema import EARLY, LATE, LEFT, QUIESCENT, Event
from antiphon.trace.verdict import ALL, Terms

Message = tuple[str, int]
"""Sender and number; group and view are those of the scope."""

MULTICASTS_MAX = 20_000
ACTS_MAX = 2_000_000


class TooLargeError(UsageError):
    """A trace has more messages, or deliveries, than the oracle judges."""


class Act(NamedTuple):
    """One message multicast, or delivered, at one process."""

    position: tuple[int, int]
    """Place of the row in its record, then place of the message in the row."""
    process: str
    message: Message
    is_multicast: bool
    event: Event
    file: str
    line: int


class Entry(NamedTuple):
    """A row with its place in its record and in the files."""

    place: int
    run: str
    event: Event
    file: str
    line: int


@dataclass(slots=True)
class Scope:
    """What happened in one view of one group of one run: everything is judged in here."""

    run: str
    group: str
    view: int
    acts: dict[str, list[Act]] = field(default_factory=lambda: defaultdict(list))
    """The events of the graph, by process, in local order."""
    multicasts: dict[Message, Act] = field(default_factory=dict)
    first_sent: dict[str, int] = field(default_factory=dict)
    """The number that each sender multicast first."""
    first_got: dict[tuple[str, str], int] = field(default_factory=dict)
    """By process and sender: the number that was delivered first."""
    audience: dict[str, None] | None = None
    """Who is to receive its messages, if that is said; otherwise its members are."""
    aims: dict[str, dict[tuple[str, ...], None]] = field(default_factory=lambda: defaultdict(dict))
    """By sender: whom its rows are `to`; nobody: all."""
    highest: dict[str, int] = field(default_factory=dict)
    """The highest number that each sender multicast."""
    deliveries: dict[str, dict[Message, Act]] = field(default_factory=lambda: defaultdict(dict))
    surplus: list[tuple[Act, Act]] = field(default_factory=list)
    """Multicasts and deliveries of what had been multicast or delivered there: (first, again)."""
    own: dict[str, None] = field(default_factory=dict)
    """Processes that record deliveries of their own messages, or would have to."""
    viewed: dict[str, None] = field(default_factory=dict)
    """Processes that view rows list."""
    bits: dict[Message, int] = field(default_factory=dict)
    """Messages as sets of one; only what was multicast has a bit."""
    told: dict[Message, list[Event]] = field(default_factory=lambda: defaultdict(list))
    """The deliver rows that ask for total order or uniform delivery, by message."""
    asks: dict[tuple[bool, bool], None] = field(default_factory=dict)
    """What is asked for in its rows about messages: (total order, uniform delivery)."""

    def is_total(self, message: Message) -> bool:
        """Whether a message is in total order."""
        return any(row.order == "total" for row in self._asked_in(message))

    def is_uniform(self, message: Message) -> bool:
        """Whether a message is uniform."""
        return any(row.uniform for row in self._asked_in(message))

    def _asked_in(self, message: Message) -> list[Event]:
        """Return the row of a message's multicast; without one, those of its deliveries."""
        multicast = self.multicasts.get(message)
        return [multicast.event] if multicast else self.told.get(message, [])

    @property
    def members(self) -> list[str]:
        """Return who must agree: those who are to receive, or are listed in views, or took part."""
        if self.audience is not None:
            return sorted(self.audience)
        return sorted(self.viewed or {*self.acts, *self.named})

    @property
    def named(self) -> set[str]:
        """Return everybody whom some message is `to`."""
        return {name for aims in self.aims.values() for aim in aims for name in aim}

    def may_reach(self, process: str, senders: Iterable[str]) -> bool:
        """Whether something of these senders is to be received by a process."""
        aims = [aim for name in senders for aim in self.aims.get(name, ())]
        return any(not aim or process in aim for aim in aims)

    def is_shared(self, processes: Collection[str]) -> bool:
        """Whether something is to be received by two of these, as far as rows say."""
        aims = [aim for of_sender in self.aims.values() for aim in of_sender]
        shared = (not aim or sum(name in aim for name in processes) > 1 for aim in aims)
        return not aims or any(shared)


@dataclass(slots=True)
class History:
    """A whole trace, taken apart."""

    records: dict[tuple[str, str], list[Entry]]
    """The rows of each (run, process), in local order."""
    scopes: list[Scope]
    delivery_count: int

    whole: set[tuple[str, str]]
    """The (run, process) whose record is known to be complete, at its end."""
    late: set[tuple[str, str]]
    """Those whose record lacks its beginning."""

    views: dict[tuple[str, str, str], list[Entry]] = field(default_factory=dict)
    """The view rows by run, group and process, in local order."""
    installed: dict[tuple[str, str, int], dict[str, Entry]] = field(default_factory=dict)
    """Of each run, group and view: the first view row of each process, by name in order."""
    takeovers: dict[tuple[str, str, int], dict[str, Entry]] = field(default_factory=dict)
    """Of each run, group and view: who left it by taking over, with the row that says so."""
    domains: dict[GroupKey, DomainKey | None] = field(default_factory=dict)
    """The causality domain of each group; None: nothing says."""
    persons: dict[tuple[str, str], str] = field(default_factory=dict)
    """Of each (run, process): in whose record it is; names of one process are in one record."""

    def is_late(self, scope: Scope, process: str) -> bool:
        """Whether something of ``scope`` may lie before a record; not where it shows the view."""
        installed = self.installed.get((scope.run, scope.group, scope.view), {})
        return (scope.run, process) in self.late and process not in installed

    def is_excused(self, scope: Scope, process: str, message: Message) -> bool:
        """Whether a process that has not delivered a message on record need not have.

        It is not to receive it, or may have delivered it before its record begins: if it delivered
        anything of that sender, then what it delivered first is above all that came before.
        """
        if scope.audience is not None and process not in scope.audience:
            return True
        multicast = scope.multicasts.get(message)
        if multicast and multicast.event.to and process not in multicast.event.to:
            return True
        sender, number = message
        if not self.is_late(scope, process) or (sender == process and message in scope.multicasts):
            return False
        first = scope.first_got.get((process, sender))
        return first is None or number < first

    def owed(self, scope: Scope, process: str) -> int:
        """Return the messages that a process has to have, if it has what depends on them."""
        if scope.audience is None and not scope.named and not self.is_late(scope, process):
            return -1
        deliveries = scope.deliveries.get(process, {})
        return sum(
            bit
            for message, bit in scope.bits.items()
            if message in deliveries or not self.is_excused(scope, process, message)
        )

    def has_takeover(self, scope: Scope) -> bool:
        """Whether somebody left the view of ``scope`` alone, for a new lineage."""
        return (scope.run, scope.group, scope.view) in self.takeovers

    def is_held(self, scope: Scope, process: str) -> bool:
        """Whether a process has to agree with others on ``scope``: it was there to the end."""
        return (scope.run, process) in self.whole and not self.is_elsewhere(scope, process)

    def is_elsewhere(self, scope: Scope, process: str) -> bool:
        """Whether a process has nothing to do with others in ``scope``, for lack of a majority.

        Who takes over leaves its view, and those of the same lineage that it may know of; who was
        in views of other lineages only was not there.
        """
        rows = self.views.get((scope.run, scope.group, process), [])
        lineages = {lineage_of(row.event.view) for row in rows}
        if lineages and lineage_of(scope.view) not in lineages:
            return True
        return any(
            process in takers
            and (run, group) == (scope.run, scope.group)
            and view <= scope.view
            and lineage_of(view) == lineage_of(scope.view)
            for (run, group, view), takers in self.takeovers.items()
        )

    def successors(self, scope: Scope) -> dict[str, Entry]:
        """Return who went on to the view after that of ``scope``, with the rows that say so."""
        return self.installed.get((scope.run, scope.group, scope.view + 1), {})

    def has_left(self, run: str, process: str) -> bool:
        """Whether a record ends with the process leaving its group."""
        last = self.records[run, process][-1].event
        return last.kind == "stop" and last.detail == LEFT

    def is_cut_off(self, run: str, process: str) -> bool:
        """Whether a record ends with a crash, or in the middle."""
        last = self.records[run, process][-1].event
        is_stopped = last.kind == "stop" and last.detail != EARLY
        return (run, process) not in self.whole and not is_stopped

    def end_of(self, scope: Scope, process: str) -> Entry:
        """Return the last row of a process."""
        return self.records[scope.run, process][-1]


def history_of(
    rows: Iterable[Event | tuple[Event, str, int]], run: str, terms: Terms = ALL
) -> History:
    """Take a trace apart into single events; rows that name no run belong to ``run``."""
    records = _records_of(rows, run)
    entries = [entry for record in records.values() for entry in record]
    scopes = _scopes_of(entries)
    for entry in entries:
        if entry.event.kind not in OF_A_GROUP:
            continue
        scope = scopes[_scope_key(entry)]
        if entry.event.kind == "view":
            scope.viewed.update(dict.fromkeys(entry.event.members or ()))
            continue
        scope.asks[entry.event.order == "total", entry.event.uniform] = None
        if entry.event.kind == "multicast":
            scope.aims[entry.event.process][tuple(entry.event.to or ())] = None
            _add_multicasts(scope, entry, delivers=entry.event.process not in scope.own)
        else:
            _add_deliveries(scope, entry)
    for scope in scopes.values():
        scope.bits = {message: 1 << place for place, message in enumerate(scope.multicasts)}
    delivery_count = sum(entry.event.count for entry in entries if entry.event.kind == "deliver")
    terms.check((group for _, group, _ in scopes), (process for _, process in records))
    for scope in scopes.values():
        if scope.group in terms.subscriptions:
            scope.audience = dict.fromkeys(terms.subscriptions[scope.group])
    whole = {key for key, record in records.items() if _is_whole(record, terms)}
    late = {key for key, record in records.items() if _is_late(record, terms)}
    history = History(records, [scopes[key] for key in sorted(scopes)], delivery_count, whole, late)
    _add_views(history, entries)
    return history


def _scopes_of(entries: Iterable[Entry]) -> dict[tuple[str, str, int], Scope]:
    """Return all scopes, still empty but for who records deliveries of its own."""
    scopes: dict[tuple[str, str, int], Scope] = {}
    for entry in entries:
        if entry.event.kind in OF_A_GROUP:
            key = _scope_key(entry)
            scope = scopes.setdefault(key, Scope(*key))
            if _tells_of_own(entry):
                scope.own[entry.event.process] = None
    return scopes


def fifo_predecessors(scope: Scope) -> dict[Message, int]:
    """Return, for each message, those that its sender multicast before it."""
    return _known_at_multicast(
        scope, lambda act: scope.bits[act.message] if act.is_multicast else 0
    )


def direct_predecessors(scope: Scope) -> dict[Message, int]:
    """Return, for each message, those that its sender multicast or delivered before it.

    For a message in fifo order, none: it is not held to causal order.
    """
    known = _known_at_multicast(scope, lambda act: scope.bits.get(act.message, 0))
    return {
        message: 0 if scope.multicasts[message].event.order == "fifo" else mask
        for message, mask in known.items()
    }


def causal_pasts(scope: Scope) -> dict[Message, int]:
    """Return, for each message, all whose multicast happened before its own.

    Causality does not pass through messages in fifo order: they have no past here. Otherwise, the
    least solution of "what a process knows grows by what it multicasts, and by what it delivers
    and everything before that". In causal order one sweep finds it and a second sees
    that nothing changes; only a forged trace, with a cycle, takes more.
    """
    order, bits = list(_causal_order(scope)), scope.bits
    past: dict[Message, int] = dict.fromkeys(scope.multicasts, 0)
    has_changed = True
    while has_changed:
        has_changed = False
        known: dict[str, int] = defaultdict(int)
        for act in order:
            if act.is_multicast and act.event.order != "fifo":
                has_changed |= past[act.message] != known[act.process]
                past[act.message] = known[act.process]
            known[act.process] |= bits.get(act.message, 0) | past.get(act.message, 0)
    return {message: mask & ~bits[message] for message, mask in past.items()}


def out_of_order(
    history: History, scope: Scope, before: dict[Message, int]
) -> Iterator[tuple[Act, int]]:
    """Yield each delivery made while some message that must come before it was missing."""
    for process in sorted(scope.deliveries):
        delivered, owed = 0, history.owed(scope, process)
        for message, act in scope.deliveries[process].items():
            missing = before.get(message, 0) & owed & ~delivered
            if missing:
                yield act, missing
            delivered |= scope.bits.get(message, 0)


def without_past(
    history: History, scope: Scope, before: dict[Message, int]
) -> Iterator[tuple[Act, int]]:
    """Yield each delivery at a process that never delivers some message that belongs with it."""
    for process in sorted(scope.deliveries):
        delivered, owed = 0, history.owed(scope, process)
        for message in scope.deliveries[process]:
            delivered |= scope.bits.get(message, 0)
        for message, act in scope.deliveries[process].items():
            missing = before.get(message, 0) & owed & ~delivered
            if missing:
                yield act, missing


def _records_of(
    rows: Iterable[Event | tuple[Event, str, int]], run: str
) -> dict[tuple[str, str], list[Entry]]:
    """Sort rows by run and process, each process's by index, or as they came if not numbered.

    Places of names in one record are comparable.
    """
    records: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    row_counts: Counter[tuple[str, str]] = Counter()
    act_count = multicast_count = 0
    for row in rows:
        event, file, line = (row, "", 0) if isinstance(row, Event) else row
        record = (event.run or run, event.record)
        place = event.index if event.index >= 0 else row_counts[record]
        row_counts[record] += 1
        entry = Entry(place, event.run or run, event, file, line)
        records[event.run or run, event.process].append(entry)
        act_count += event.count if event.kind in {"multicast", "deliver"} else 0
        multicast_count += event.count if event.kind == "multicast" else 0
        if act_count > ACTS_MAX or multicast_count > MULTICASTS_MAX:
            message = (
                f"the oracle judges up to {MULTICASTS_MAX} messages and {ACTS_MAX} deliveries: "
                f"judge more with `antiphon verify` without `--engine oracle`"
            )
            raise TooLargeError(message)
    for entries in records.values():
        entries.sort(key=lambda entry: entry.place)
    return {key: records[key] for key in sorted(records)}


def _is_whole(record: list[Entry], terms: Terms) -> bool:
    """Whether nothing can be missing at the end: a user's log, or a quiet stop, or a leave."""
    kinds = {entry.event.kind for entry in record}
    last = record[-1].event
    is_quiet_end = last.kind == "stop" and last.detail in {QUIESCENT, LEFT}
    is_early = terms.may_end_early(last.process) or (last.kind == "stop" and last.detail == EARLY)
    may_just_end = "start" not in kinds and not is_early
    return "crash" not in kinds and (is_quiet_end or may_just_end)


def _is_late(record: list[Entry], terms: Terms) -> bool:
    """Whether something may be missing before a record: it says so, or does not show its start."""
    starts = [entry.event for entry in record if entry.event.kind == "start"]
    is_told = any(row.detail == LATE for row in starts)
    return is_told or (not starts and terms.may_begin_late(record[0].event.process))


def _scope_key(entry: Entry) -> tuple[str, str, int]:
    return entry.run, entry.event.group, entry.event.view


def _add_views(history: History, entries: Iterable[Entry]) -> None:
    for entry in entries:
        if entry.event.kind == "view":
            process = entry.event.process
            history.views.setdefault((entry.run, entry.event.group, process), []).append(entry)
            history.installed.setdefault(_scope_key(entry), {}).setdefault(process, entry)
    for rows in history.views.values():
        for before, entry in pairwise(rows):
            if is_takeover(before.event, entry.event):
                takers = history.takeovers.setdefault(_scope_key(before), {})
                takers.setdefault(before.event.process, entry)


def is_takeover(before: Event, row: Event) -> bool:
    """Whether a view row begins a new lineage: its process goes on, alone."""
    is_later = lineage_of(row.view) > lineage_of(before.view)
    return is_later and row.members == [row.process]


def _tells_of_own(entry: Entry) -> bool:
    """Whether a row shows that its process records deliveries of its own, or would have to."""
    row = entry.event
    if row.kind == "multicast":
        return row.order == "total" or row.uniform
    return row.kind == "deliver" and row.sender == row.process


def acts_of(entry: Entry, *, is_multicast: bool) -> Iterator[Act]:
    """Yield what a row says, message by message."""
    row = entry.event
    sender = row.process if is_multicast else row.sender
    for within in range(row.count):
        yield Act(
            (entry.place, within), row.process, (sender, row.first + within), is_multicast,
            row, entry.file, entry.line,
        )  # fmt: skip


def _add_multicasts(scope: Scope, entry: Entry, *, delivers: bool) -> None:
    """Add multicasts; they are deliveries too if the sender records none of its own."""
    for act in acts_of(entry, is_multicast=True):
        first = scope.multicasts.setdefault(act.message, act)
        if first is not act:
            scope.surplus.append((first, act))
            continue
        sender, number = act.message
        scope.first_sent.setdefault(sender, number)
        scope.highest[sender] = max(number, scope.highest.get(sender, 0))
        scope.acts[act.process].append(act)
        if delivers:
            scope.deliveries[act.process][act.message] = act._replace(is_multicast=False)


def _add_deliveries(scope: Scope, entry: Entry) -> None:
    asks = entry.event.order == "total" or entry.event.uniform
    scope.first_got.setdefault((entry.event.process, entry.event.sender), entry.event.first)
    for act in acts_of(entry, is_multicast=False):
        if asks:
            scope.told[act.message].append(entry.event)
        first = scope.deliveries[act.process].setdefault(act.message, act)
        if first is act:
            scope.acts[act.process].append(act)
        else:
            scope.surplus.append((first, act))


def _known_at_multicast(scope: Scope, teaches: Callable[[Act], int]) -> dict[Message, int]:
    """Return, for each message, what its sender had come to know before multicasting it."""
    known_at: dict[Message, int] = {}
    for process in sorted(scope.acts):
        known = 0
        for act in scope.acts[process]:
            if act.is_multicast:
                known_at[act.message] = known & ~scope.bits[act.message]
            known |= teaches(act)
    return known_at


def _causal_order(scope: Scope) -> Iterator[Act]:
    """Yield all events, each process's in local order, multicasts before their deliveries.

    A process waits at a delivery for the multicast. If all wait for each other, the trace has a
    cycle, and the first may pass: then no such order exists, and ``causal_pasts`` sweeps again.
    """
    remaining = {process: deque(scope.acts[process]) for process in sorted(scope.acts)}
    ready = deque(remaining)
    waiting: dict[Message, list[str]] = {}
    passed: set[Message] = set()
    while ready or waiting:
        if not ready:
            stuck = next(iter(waiting))
            passed.add(stuck)
            ready.extend(waiting.pop(stuck))
        process = ready.popleft()
        acts = remaining[process]
        while acts:
            act = acts[0]
            if act.is_multicast:
                passed.add(act.message)
                ready.extend(waiting.pop(act.message, ()))
            elif act.message in scope.bits and act.message not in passed:
                waiting.setdefault(act.message, []).append(process)
                break
            yield acts.popleft()
