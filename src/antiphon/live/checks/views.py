"""Views, as they are installed: the same everywhere, one after the other, and messages in theirs.

Law: the definitions of docs/properties.md. Whether a row lists other members than the first process
by name is looked at as long as the view goes on, for that process may be read later; a row without
its own process is wrong only once something follows it. Cost: a few comparisons per `view` row.
"""

from collections.abc import Iterator

from antiphon.core.views import lineage_of
from antiphon.live.memory.record import (
    EarlyAct,
    GroupStanding,
    Key,
    RunMemory,
    TakenOver,
)
from antiphon.live.memory.remembered import Place
from antiphon.live.memory.scope import InstalledRow, Scope
from antiphon.live.packs import MULTICAST, MessageRow
from antiphon.live.stories import Ledger, Make, Teller
from antiphon.trace.explanations import (
    Explanation,
    MessageEvent,
    explain_not_listed,
    explain_other_members,
    explain_wrong_number,
    explain_wrong_view,
)
from antiphon.trace.verdict import EXAMPLES_MAX, MessageId, Property


def install(memory: RunMemory, scope: Scope, row: InstalledRow, ledger: Ledger) -> None:
    """Take a `view` row, of the scope's view."""
    memory.has_views = True
    group = memory.groups[scope.group]
    standing = group.standings.setdefault(row.process, GroupStanding())
    before = standing.latest
    if before is None and standing.early_count:
        _admit_early(memory, scope, standing, ledger)
    if before is not None:
        row.before = (before.view, before.place)
        is_later = lineage_of(row.view) > lineage_of(before.view)
        row.is_takeover = is_later and row.members == [row.process]
        if row.is_takeover:
            group.takeovers.append(TakenOver(row.process, before.view))
    standing.latest = row
    standing.lineages.add(lineage_of(row.view))
    scope.lineup.append(row)
    scope.installed.setdefault(row.process, row)
    for member in row.members:
        if member not in scope.members:
            scope.members.append(member)


def wrong_views(
    memory: RunMemory, scope: Scope, *, is_over: bool
) -> Iterator[tuple[Key, InstalledRow, InstalledRow | None]]:
    """Yield `view` rows that are wrong: with the one that lists other members, if that is why."""
    if not scope.lineup:
        return
    reference = scope.installed[min(scope.installed, key=memory.name_of)]
    for row in scope.lineup:
        key = (memory.name_of(row.process), row.place[3], 0)
        if row.members != reference.members:
            yield key, row, reference
        elif (
            row.before is not None and row.view != row.before[0] + 1 and not row.is_takeover
        ) or _is_stranger(memory, scope, row, is_over=is_over):
            yield key, row, None


def explain_view(
    teller: Teller, scope: Scope, row: InstalledRow, reference: InstalledRow | None
) -> Explanation[Place]:
    """Tell what is wrong with a `view` row."""
    if reference is not None:
        return explain_other_members(
            teller.installation(scope, reference), teller.installation(scope, row)
        )
    if row.before is not None and row.view != row.before[0] + 1 and not row.is_takeover:
        return explain_wrong_number(
            teller.earlier_installation(scope, row), teller.installation(scope, row)
        )
    return explain_not_listed(teller.installation(scope, row))


def _is_stranger(memory: RunMemory, scope: Scope, row: InstalledRow, *, is_over: bool) -> bool:
    """Whether a process installed a view that it is not in, and was not just leaving."""
    if row.process in row.members:
        return False
    process = memory.processes[row.process]
    has_left = process.has_left() or _is_elsewhere(memory, row.process)
    may_leave = has_left or process.is_cut_off(is_over=is_over)
    latest = memory.groups[scope.group].standings[row.process].latest
    return not (may_leave and latest is not None and latest.place == row.place)


def _is_elsewhere(memory: RunMemory, process: int) -> bool:
    """Whether a process installed views of several groups: it may leave one and go on."""
    standings = (group.standings.get(process) for group in memory.groups)
    return sum(one is not None and one.latest is not None for one in standings) > 1


def check_view(
    memory: RunMemory, scope: Scope, process: int, rows: list[tuple[MessageRow, Place, int]],
    ledger: Ledger,
) -> None:  # fmt: skip
    """Judge whether rows about messages of a view are in it; with each, its sender in the run."""
    standing = memory.groups[scope.group].standings.setdefault(process, GroupStanding())
    standing.is_acting = True
    current = standing.latest
    if current is not None and current.view == scope.view:
        return
    count = sum(row[6] for row, _, _ in rows)
    few = list(_few(memory, scope, rows))
    if current is None:
        standing.early_count += count
        standing.early = (standing.early + few)[:EXAMPLES_MAX]
        return
    scope.count(Property.SENDING_VIEW, count)
    for act in few:
        _offer(memory, scope, process, act, current, ledger)


def _few(
    memory: RunMemory, scope: Scope, rows: list[tuple[MessageRow, Place, int]]
) -> Iterator[EarlyAct]:
    """Yield the first few messages of rows."""
    left = EXAMPLES_MAX
    group = memory.groups[scope.group].name
    for row, place, sender in rows:
        for number in range(row[5], row[5] + min(row[6], left)):
            message = MessageId(memory.name_of(sender), number, group, scope.view)
            yield EarlyAct(message, bool(row[0] & MULTICAST), place)
        left -= min(row[6], left)
        if not left:
            return


def _admit_early(memory: RunMemory, scope: Scope, standing: GroupStanding, ledger: Ledger) -> None:
    """Count what a process did before its first view: it has one, so it is held to it."""
    scope.count(Property.SENDING_VIEW, standing.early_count)
    for act in standing.early:
        _offer(memory, scope, act.place[0], act, None, ledger)
    standing.early_count, standing.early = 0, []


def _offer(
    memory: RunMemory, scope: Scope, process: int, act: EarlyAct, current: InstalledRow | None,
    ledger: Ledger,
) -> None:  # fmt: skip
    key = (memory.name_of(process), act.place[3], act.message.number)
    ledger.offer(scope, Property.SENDING_VIEW, key, _telling(scope, act, current, ledger))


def _telling(scope: Scope, act: EarlyAct, current: InstalledRow | None, ledger: Ledger) -> Make:
    def tell() -> Explanation[Place]:
        teller = ledger.teller
        name = teller.memory.name_of(act.place[0])
        wrong = MessageEvent(name, act.message, act.is_multicast, act.place)
        multicast = None
        sender = scope.numbers.get(teller.memory.process(act.message.sender))
        if not act.is_multicast and sender is not None and act.message.view == scope.view:
            multicast = teller.multicast(scope, sender, act.message.number)
        there = None if current is None else teller.installation(scope, current)
        return explain_wrong_view(wrong, multicast, there)

    return tell
