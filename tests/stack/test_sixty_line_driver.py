"""A driver that does what the contract asks, and nothing else, loses nothing.

The facts are checked without the oracle: who delivered what, in which order, in which views.
"""

import inspect
from collections import defaultdict
from random import Random

import pytest
from tests.stack.memory_driver import MemoryDriver, Where

from antiphon.core.ids import GroupName, GroupNumber, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Letter, Order
from antiphon.core.views import View
from antiphon.stack.effects import (
    ConcludeCall,
    DeliverRuns,
    Effect,
    HandRequest,
    IgnoreMessage,
    InstallView,
    LeaveGroup,
    RejectPeer,
)
from antiphon.stack.inputs import (
    CallRequested,
    JoinRequested,
    LeaveRequested,
    LetterRequested,
    MulticastRequested,
    RequestAnswered,
)
from antiphon.stack.send_queue import How
from antiphon.toolkit.calls import Wanted

A, B, C, D, E = (ProcessId(name, address=f"at {name}").bare() for name in "abcde")
ONE, TWO = GroupNumber(1), GroupNumber(2)
FOUNDERS = {ONE: (A, B, C, D), TWO: (B, C, D)}
SECOND_US = 1_000_000
WAYS = [How(order) for order in Order] + [How(Order.CAUSAL, uniform=True)]


def member(process: ProcessId) -> ProcessId:
    """Return a process as its groups know it: each is in each of its groups for the first time."""
    return process.numbered(1)


class Applications:
    """What the applications of all processes do and see, by group and process."""

    def __init__(self, seed: int) -> None:
        """Begin in two founding views: a is in one of them, b, c and d are in both."""
        self.random = Random(f"{seed}/words")
        self.said: dict[bytes, tuple[ProcessId, How, set[bytes]]] = {}
        """By message: its sender, how it was multicast, and what the sender had delivered."""
        self.heard: dict[tuple[Where, ProcessId], list[bytes]] = defaultdict(list)
        self.letters: dict[tuple[Where, ProcessId], list[bytes]] = defaultdict(list)
        self.views: dict[tuple[Where, ProcessId], list[View]] = defaultdict(list)
        self.ended: list[ConcludeCall] = []
        self.left: list[tuple[Where, ProcessId]] = []
        self.left_over = 100
        """How many answers are still to be given."""
        self.driver = MemoryDriver(self.see, seed)
        for group, founders in FOUNDERS.items():
            view = View(GroupName(f"g{group}"), ViewNumber(1), tuple(map(member, founders)))
            for me in view.members:
                self.driver.open(group, me, view)

    def say(self, group: GroupNumber, who: ProcessId, how: How, time_us: int = 0) -> bytes:
        """Multicast a message that nobody has said before."""
        word = f"{group}{who.name}{len(self.said)}".encode()
        self.said[word] = who, how, set(self.heard[group, who]) if not time_us else set()
        self.driver.give(who, group, MulticastRequested([word], how, len(word)), time_us)
        return word

    def see(self, who: ProcessId, group: Where, effect: Effect) -> None:  # noqa: C901 - one case each
        """Take what is for the application; answer some of it."""
        match effect:
            case DeliverRuns(runs):
                assert group is not None
                for run in runs:
                    heard = self.letters if isinstance(run, Letter) else self.heard
                    if run.port == PORT_APPLICATION:
                        heard[group, who] += run.payloads
                if self.left_over and self.random.random() < 0.1:
                    self.left_over -= 1
                    self.say(group, who, self.random.choice(WAYS))
            case InstallView(view):
                self.views[group, who].append(view)
            case HandRequest(caller, number, payload) if number:
                self.driver.give(who, group, RequestAnswered(caller, number, payload[::-1]))
            case ConcludeCall():
                self.ended.append(effect)
            case LeaveGroup(why):
                assert not why, "nobody was excluded"
                self.left.append((group, who))
            case RejectPeer() | IgnoreMessage():
                raise AssertionError(effect)
            case _:
                pass


def play(seed: int) -> Applications:
    """Let all happen in two groups: messages of all kinds, letters, a call, joins, leaves, a crash.

    a joins the second group; d leaves the first and stays in the second; e joins both, and dies.
    """
    world = Applications(seed)
    driver, random = world.driver, world.random
    for _ in range(300):
        time_us = 1 + random.randrange(2 * SECOND_US)
        group = random.choice((ONE, TWO))
        who = random.choice((A, B, C) if group == ONE else (B, C, D))
        world.say(group, who, random.choice(WAYS), time_us)
    for number in range(40):
        who, to = random.sample((A, B, C), 2)
        letter = LetterRequested(member(to), f"{who.name}>{to.name} {number}".encode())
        driver.give(who, ONE, letter, random.randrange(2 * SECOND_US))
    call = CallRequested(1, b"abc", Wanted.ALL, 9 * SECOND_US, Order.CAUSAL)
    driver.give(A, ONE, call, SECOND_US // 2)
    driver.world.run(SECOND_US // 3)
    for who, group in ((E, ONE), (E, TWO), (A, TWO)):
        driver.open(group, member(who), None)
        driver.give(who, group, JoinRequested(member(B)))
    driver.give(D, ONE, LeaveRequested(), SECOND_US)
    driver.world.run(2 * SECOND_US)
    for number in range(20):
        world.say((ONE, TWO)[number % 2], E, WAYS[number // 2 % len(WAYS)])
    driver.world.run(2 * SECOND_US + 3_000)
    driver.crash(E)
    driver.world.run(8 * SECOND_US)
    return world


STAYED = {ONE: (A, B, C), TWO: (B, C, D, A)}
"""Who is in each group in the end, by seniority."""


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_and_orders_are_kept(seed: int) -> None:
    """Everybody that stays delivers everything of those that stay, in the orders promised.

    Who has joined delivers all that the others do from its first view on.
    """
    world = play(seed)
    assert set(world.driver.processes) == {A, B, C, D}
    assert world.driver.processes[D].groups == (TWO,)
    assert world.left == [(ONE, D)]
    for group, members in STAYED.items():
        founders = [who for who in members if who in FOUNDERS[group]]
        everything = set(world.heard[group, founders[0]])
        stayed = {
            word
            for word, (sender, _, _) in world.said.items()
            if word.startswith(b"%d" % group) and sender in founders
        }
        assert len(stayed) >= 100
        assert stayed <= everything
        for who in founders:
            assert set(world.heard[group, who]) == everything
        for who in members:
            heard = world.heard[group, who]
            assert len(heard) == len(set(heard)), "nothing comes twice"
            assert set(heard) <= everything
        _check_total_order(world, group)
        _check_causal_order(world, group)
    last = [word for word, (sender, _, _) in world.said.items() if sender == E]
    heard_by_joiner = world.heard[TWO, A]
    assert all((word in heard_by_joiner) == (word in world.heard[TWO, B]) for word in last)


def _check_total_order(world: Applications, group: GroupNumber) -> None:
    totals = [
        [word for word in world.heard[group, who] if world.said[word][1].order is Order.TOTAL]
        for who in STAYED[group]
    ]
    longest = max(totals, key=len)
    for total in totals:
        assert total, "something was"
        assert total == longest[-len(total) :], "who joined has the rest of it"


def _check_causal_order(world: Applications, group: GroupNumber) -> None:
    for who in STAYED[group]:
        heard = world.heard[group, who]
        place = {word: number for number, word in enumerate(heard)}
        for word in heard:
            _, how, past = world.said[word]
            if how.order is not Order.FIFO:
                late = [cause for cause in past if place.get(cause, -1) > place[word]]
                assert not late, f"{who} hears {word!r} before {late}"


@pytest.mark.parametrize("seed", range(10))
def test_views_letters_and_calls_are_the_same_everywhere(seed: int) -> None:
    """The views of those that stay, all letters in order, and the replies of all members."""
    world = play(seed)
    for group, stayed in STAYED.items():
        members = tuple(map(member, stayed))
        views = world.views[group, B]
        assert [view.number for view in views] == list(range(1, len(views) + 1))
        assert views[-1].members == members
        for who in stayed:
            mine = world.views[group, who]
            assert mine == views[-len(mine) :]
            assert len(mine) == len(views) or who not in FOUNDERS[group]
        failed = [who for view in views for who in view.failed]
        assert failed == [member(E)], "it is dead in both groups"
    assert sum(len(letters) for letters in world.letters.values()) == 40
    (end,) = world.ended
    assert end.error is None
    assert {str(who): said for who, said in end.replies.answers.items()} == dict.fromkeys(
        ["b", "c", "d", "e"][: len(end.replies.answers)], b"cba"
    )
    assert {"b", "c"} <= {str(who) for who in end.replies.answers}


def test_driver_is_short() -> None:
    """The contract fits into sixty lines of code."""
    lines = inspect.getsource(MemoryDriver).splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) <= 60
