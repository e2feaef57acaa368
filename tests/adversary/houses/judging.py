"""What of all that applications did in a house should not have been.

Law: nobody reads a message without those of its past that it was to receive, or before them; who
goes on from one view to the next has read the same in it; total messages come in one order, and
what is uniform to all. Of a view in which more failed than the domain bears, something may
be lost; so may what a process heard before it was excluded.
"""

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

from tests.adversary.houses.judge import Judge, Reader, Scope, Step, bits

from antiphon.core.runs import Order


class _Part(NamedTuple):
    """What one reader read in one view."""

    who: str
    goes_on: bool
    read: list[int]


def judge(house: Judge) -> list[str]:
    """Return all that is wrong."""
    of_scope: dict[Scope, int] = defaultdict(int)
    for bit, scope in house.places.items():
        of_scope[scope] |= 1 << bit
    for reader in house.readers:
        _judge_reader(house, reader, of_scope)
    for (group, number), parts in _parts(house).items():
        _judge_view(house, f"view {number} of {group}", parts)
    read = sum({1 << step.bit for one in house.readers for step in one.steps if step.bit >= 0})
    for reader in house.readers:
        for bit in bits(reader.unsent & read):
            house.complain(f"{house.said[bit].name} was said to be unsent, and is read")
    return house.wrong


def _judge_reader(house: Judge, reader: Reader, of_scope: dict[Scope, int]) -> None:
    """Look at one sequence of reading."""
    bits_read = [step.bit for step in reader.steps if step.bit >= 0]
    everything = sum(1 << bit for bit in set(bits_read))
    if len(bits_read) != len(set(bits_read)):
        house.complain(f"{reader.name} reads something twice")
    done = 0
    owed = left_behind = 0  # of views that it is in; of views that it went on from
    here: dict[str, Step] = {}
    for step in reader.steps:
        if step.bit >= 0:
            wrong = _wrong(house, reader, step, (everything, done, owed, left_behind), here)
            if wrong:
                house.complain(wrong)
                return
            done |= 1 << step.bit
            continue
        before, here[step.group] = here.get(step.group), step
        if before is not None:
            owed &= ~of_scope[step.group, before.view]
            left_behind |= of_scope[step.group, before.view] if before.me == step.me else 0
        owed |= of_scope[step.group, step.view]


def _wrong(
    house: Judge, reader: Reader, step: Step, sets: tuple[int, int, int, int], here: dict[str, Step]
) -> str:
    """Say what is wrong with reading a message here, if anything is."""
    everything, done, owed, left_behind = sets
    said = house.said[step.bit]
    past = said.past if said.order is not Order.FIFO else 0
    for bit in bits((past | said.flushed) & everything & ~done):
        other = house.said[bit]
        scope = house.places.get(bit)
        is_loading = scope is not None and (scope[0] not in here or here[scope[0]].view < scope[1])
        # Who is out of a group and does not know it may be told by who does not know, too; and
        # who loads a state reads on if somebody waits for its own.
        is_excused = reader.is_harmed or (house.has_states and is_loading)
        if not (is_excused and other.group != said.group):
            return f"causal: {reader.name} reads {said.name} before {other.name}"
    never = (past & said.sure | said.flushed) & (owed | left_behind) & ~everything
    for bit in bits(never):
        other, scope = house.said[bit], house.places[bit]
        has_failed = len(_failures(house, scope)) > house.resilience
        is_lost = has_failed and scope != (step.group, step.view)
        is_out = owed >> bit & 1 and (reader.is_harmed or scope[0] in reader.left)
        if not (is_lost or is_out or other.to):
            return f"hole: {reader.name} reads {said.name}, never {other.name}"
    return ""


def _failures(house: Judge, scope: Scope) -> set[str]:
    """Return who failed in a view."""
    group, number = scope
    members = {
        member
        for reader in house.readers
        for step in reader.steps
        if step.bit < 0 and (step.group, step.view) == (group, number)
        for member in step.members
    }
    dead = {member for member in members if f"{group}/{member}" in house.dead}
    return dead | house.failed[scope]


def _parts(house: Judge) -> dict[Scope, list[_Part]]:
    """Return who read what in each view, and whether it went on to the next."""
    found: dict[Scope, list[_Part]] = defaultdict(list)
    for reader in house.readers:
        for group in {step.group for step in reader.steps}:
            own = [step for step in reader.steps if step.group == group]
            views = [place for place, step in enumerate(own) if step.bit < 0]
            for begin, end in zip(views, [*views[1:], len(own)], strict=True):
                view, later = own[begin], own[end] if end < len(own) else None
                goes_on = later is not None and (later.me, later.view) == (view.me, view.view + 1)
                read = [one.bit for one in own[begin + 1 : end] if not house.said[one.bit].to]
                found[group, view.view].append(_Part(f"{reader.name}/{view.me}", goes_on, read))
    return found


def _judge_view(house: Judge, where: str, parts: list[_Part]) -> None:
    said, survivors = house.said, [part for part in parts if part.goes_on]
    uniform = {bit for part in parts for bit in part.read if said[bit].uniform}
    for part in survivors:
        if odd := set(part.read) ^ set(survivors[0].read):
            both = f"{part.who}, {survivors[0].who}"
            house.complain(f"agreement: {both}, {where}: {said[min(odd)].name}")
        if missing := uniform - set(part.read):
            house.complain(f"uniform: {part.who} leaves {where} without {said[min(missing)].name}")
    for one, other in combinations(parts, 2):
        is_sure = one.goes_on and other.goes_on
        total = {
            bit
            for bit in set(one.read) & set(other.read)
            if said[bit].order is Order.TOTAL and (is_sure or said[bit].uniform)
        }
        if [bit for bit in one.read if bit in total] != [b for b in other.read if b in total]:
            house.complain(f"total: {one.who} and {other.who} differ in {where}")
    for part in parts:
        _judge_fifo(house, where, part)


def _judge_fifo(house: Judge, where: str, part: _Part) -> None:
    last: dict[str, int] = {}
    for bit in part.read:
        sender = house.said[bit].name.split(" ")[1]
        if last.get(sender, -1) > bit:
            house.complain(f"fifo: {part.who} reads {house.said[bit].name} late in {where}")
        last[sender] = bit
