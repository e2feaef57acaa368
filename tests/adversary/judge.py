"""A judge of causality domains that shares nothing with the oracle: it keeps what really happened.

Law: what happens is noted in real time, in one sequence. The past of a message, or of a letter, is
all that its sender had multicast, sent or delivered before, in whatever group, with the pasts of
that; through fifo messages nothing passes. Sets of messages are integers, a bit for each.

A letter is a message to one process: unlike elsewhere it is in the pasts of what comes after it.
"""

from collections import defaultdict
from typing import NamedTuple

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_ORDER, Letter, Order, Run
from antiphon.core.views import View


class Sent(NamedTuple):
    """A message, or a letter (``to`` is who it is for)."""

    name: str
    group: int
    view: int
    sender: str
    order: Order
    uniform: bool
    past: int
    to: str


class Judge:
    """What happened in a world, and what of it should not have."""

    def __init__(self, resilience: int, *, is_view_atomic: bool = True) -> None:
        """Nothing happened yet; the flushes of ISIS promise nothing to who fails later."""
        self.resilience = resilience
        self._is_view_atomic = is_view_atomic
        self.wrong: list[str] = []
        self.sent: list[Sent] = []
        self._bits: dict[tuple[int, int, ProcessId, int], int] = {}
        self._letters: dict[int, tuple[Letter, int]] = {}
        self._knows: dict[str, int] = defaultdict(int)
        self._done: dict[str, int] = defaultdict(int)
        self._steps: list[tuple[str, int, int]] = []
        self.views: dict[tuple[str, int], list[View]] = defaultdict(list)
        self.members: dict[tuple[str, int], list[ProcessId]] = defaultdict(list)
        self._in_view: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        self.failed: set[str] = set()
        self.took_over: set[int] = set()
        self.left: set[tuple[str, int]] = set()
        """Who left which group: a letter that comes later is nobody's."""
        self._handed_over: dict[str, list[int]] = defaultdict(list)

    def complain(self, what: str) -> None:
        """Note that something is wrong."""
        self.wrong.append(what)

    # What happens.

    def hand_over(self, process: str, tag: int) -> None:
        """The application multicasts, or sends, something."""
        self._handed_over[process].append(tag)

    def _new(self, run: Run, name: str, process: str, to: str = "") -> int:
        bit = len(self.sent)
        self.sent.append(
            Sent(name, run.group, run.view, process, run.order, run.uniform,
                 self._knows[process], to)
        )  # fmt: skip
        self._knows[process] |= 1 << bit
        return bit

    def multicast(self, process: str, me: ProcessId, run: Run) -> None:
        """A run leaves."""
        if run.port == PORT_ORDER:
            return
        for number, payload in enumerate(run.payloads, run.first):
            name = f"{me}#{number}@{run.group}.{run.view}({payload.decode(errors='replace')[:6]})"
            self._bits[run.group, run.view, me, number] = self._new(run, name, process)
            self._leaves(process, payload)

    def write(self, process: str, to: str, letter: Letter) -> None:
        """A letter leaves."""
        name = f"letter {process}->{to}@{letter.group}.{letter.view}"
        self._letters[id(letter)] = letter, self._new(letter, name, process, to)
        self._leaves(process, letter.payloads[0])

    def _leaves(self, process: str, payload: bytes) -> None:
        """What is handed over leaves in that order; letters to who is gone never do."""
        if not payload.startswith(b"t"):
            return
        tag, waiting = int(payload[1:]), self._handed_over[process]
        if tag not in waiting:
            self.complain(f"program order: {process} sends {tag} out of its turn")
            return
        while waiting[0] != tag:
            waiting.pop(0)
        waiting.pop(0)

    def install(self, process: str, me: ProcessId, group: int, view: View) -> None:
        """A view is installed."""
        views = self.views[process, group]
        if views and view.number <= views[-1].number and me == self.members[process, group][-1]:
            self.complain(f"{process} installs view {view.number} of {group} again")
        views.append(view)
        self.members[process, group].append(me)
        self.failed.update(who.name + f".{who.boot}" for who in view.failed)

    def deliver(self, process: str, run: Run, sender: ProcessId) -> None:
        """A run, or a letter, is delivered."""
        if isinstance(run, Letter):
            known = self._letters.get(id(run))
            if known is None or self.sent[known[1]].to != process:
                self.complain(f"{process} takes a letter that was not sent to it")
            else:
                self._take(process, known[1])
            return
        if run.port == PORT_ORDER:
            return
        views = self.views[process, run.group]
        if not views or views[-1].number != run.view:
            self.complain(f"{process} delivers a run of view {run.view} of {run.group} outside")
        for number in range(run.first, run.last + 1):
            bit = self._bits.get((run.group, run.view, sender, number))
            if bit is None:
                self.complain(f"{process} delivers {number} of {sender}, which was never sent")
            else:
                self._in_view[process, run.group, run.view].append(bit)
                self._take(process, bit)

    def _take(self, process: str, bit: int) -> None:
        if self._done[process] >> bit & 1:
            self.complain(f"{process} delivers {self.sent[bit].name} twice")
        self._steps.append((process, bit, self._done[process]))
        self._done[process] |= 1 << bit
        message = self.sent[bit]
        passed = 0 if message.order is Order.FIFO else message.past
        self._knows[process] |= 1 << bit | passed

    # Judging.

    def judge(self) -> list[str]:
        """Return all that is wrong."""
        self._judge_past()
        groups = {group for _, group in self.views}
        for group in sorted(groups):
            if group not in self.took_over:
                self._judge_group(group)
        return self.wrong

    def _relevant(self, process: str) -> int:
        """Return what a process has to deliver if it is in the past of what it delivers."""
        scopes = {
            (group, view.number)
            for (who, group), views in self.views.items()
            if who == process
            for view, me in zip(views, self.members[who, group], strict=True)
            if me in view.members
        }
        found = 0
        for bit, message in enumerate(self.sent):
            is_for = message.to == process if message.to else True
            if is_for and (message.group, message.view) in scopes:
                found |= 1 << bit
        return found

    def _judge_past(self) -> None:
        relevant = {process: self._relevant(process) for process, _, _ in self._steps}
        is_excused = len(self.failed) > self.resilience or bool(self.took_over)
        for process, bit, done in self._steps:
            message = self.sent[bit]
            if message.order is Order.FIFO:
                continue
            missing = message.past & relevant[process] & ~done
            if not missing:
                continue
            late = missing & self._done[process]
            for other in _bits(missing):
                lost = self.sent[other]
                is_same = (lost.group, lost.view) == (message.group, message.view)
                if late >> other & 1:
                    self.complain(f"causal: {process} delivers {message.name} before {lost.name}")
                    return
                is_lost_letter = bool(lost.to) and (
                    lost.sender in self.failed or (process, lost.group) in self.left
                )
                if process in self.failed and not is_same:
                    continue  # out, without knowing it yet: who was to tell it does not name it
                if (is_same or not is_excused) and not is_lost_letter:
                    self.complain(f"hole: {process} delivers {message.name}, never {lost.name}")
                    return

    def _judge_group(self, group: int) -> None:
        """Two that leave a view for the same next one have delivered the same in it."""
        in_view, next_of = self._histories(group)
        for view_number, processes in in_view.items():
            gone_on = next_of[view_number]
            sets = {who: self._in_view[who, group, view_number] for who in processes}
            for who in gone_on:
                if set(sets[who]) != set(sets[gone_on[0]]):
                    odd = set(sets[who]) ^ set(sets[gone_on[0]])
                    self.complain(
                        f"view synchrony: {who} and {gone_on[0]} differ in view {view_number} of "
                        f"{group} by {self.sent[min(odd)].name}"
                    )
                    return
            uniform = {bit for who in processes for bit in sets[who] if self.sent[bit].uniform}
            for who in gone_on:
                if not uniform <= set(sets[who]):
                    lost = self.sent[min(uniform - set(sets[who]))].name
                    self.complain(f"uniform: {who} leaves view {view_number} without {lost}")
                    return
            self._judge_total(group, view_number, gone_on or processes, processes, sets)

    def _histories(self, group: int) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        """Return, by view, who was in it, and who of them went on to the next one."""
        next_of: dict[int, list[str]] = defaultdict(list)
        in_view: dict[int, list[str]] = defaultdict(list)
        for process, number in self.views:
            if number != group:
                continue
            steps = list(zip(self.views[process, group], self.members[process, group], strict=True))
            followers = [*steps[1:], (None, None)]
            for (view, me), (later, me_later) in zip(steps, followers, strict=True):
                if me not in view.members:
                    continue
                in_view[view.number].append(process)
                is_next = later is not None and later.number == view.number + 1 and me == me_later
                if is_next and (self._is_view_atomic or process not in self.failed):
                    next_of[view.number].append(process)
        return in_view, next_of

    def _judge_total(
        self,
        group: int,
        view: int,
        survivors: list[str],
        everybody: list[str],
        sets: dict[str, list[int]],
    ) -> None:
        """Total messages come in one order; uniform ones also to who crashes."""
        for who, uniform_only in ((survivors, False), (everybody, True)):
            chosen = {
                process: [
                    bit
                    for bit in sets[process]
                    if self.sent[bit].order is Order.TOTAL
                    and (self.sent[bit].uniform or not uniform_only)
                ]
                for process in who
                if uniform_only or f"{process}" not in self.failed
            }
            for one, first in chosen.items():
                for other, second in chosen.items():
                    common = set(first) & set(second)
                    if one < other and [b for b in first if b in common] != [
                        b for b in second if b in common
                    ]:
                        self.complain(f"total: {one} and {other} differ in {view} of {group}")
                        return

    # The end.

    def undelivered(self, process: str, group: int, view: View, living: set[str]) -> list[str]:
        """Return what a living member has not delivered of its last view, of living senders."""
        done = self._done[process]
        return [
            message.name
            for bit, message in enumerate(self.sent)
            if (message.group, message.view) == (group, view.number)
            and message.sender in living
            and message.to in {"", process}
            and not done >> bit & 1
        ]


def _bits(number: int) -> list[int]:
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
