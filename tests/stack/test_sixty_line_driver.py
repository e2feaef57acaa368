"""A driver that does what the contract asks, and nothing else, loses nothing.

The facts are checked without the oracle: who delivered what, in which order, in which views.
"""

import inspect
from collections import defaultdict
from random import Random

import pytest
from tests.stack.memory_driver import MemoryDriver

from antiphon.core.ids import GroupName, ProcessId, ViewNumber
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

A, B, C, D, E = (ProcessId(name, address=f"at {name}") for name in "abcde")
FOUNDING = View(GroupName("g"), ViewNumber(1), (A, B, C, D))
SECOND_US = 1_000_000
WAYS = [How(order) for order in Order] + [How(Order.CAUSAL, uniform=True)]


class Applications:
    """What the applications of all processes do and see."""

    def __init__(self, seed: int) -> None:
        """Begin in a founding view of four; e joins."""
        self.random = Random(f"{seed}/words")
        self.said: dict[bytes, tuple[ProcessId, How, set[bytes]]] = {}
        """By message: its sender, how it was multicast, and what the sender had delivered."""
        self.heard: dict[ProcessId, list[bytes]] = defaultdict(list)
        self.letters: dict[ProcessId, list[bytes]] = defaultdict(list)
        self.views: dict[ProcessId, list[View]] = defaultdict(list)
        self.ended: list[ConcludeCall] = []
        self.left: list[ProcessId] = []
        self.left_over = 100
        """How many answers are still to be given."""
        self.driver = MemoryDriver(self.see, seed)
        for member in FOUNDING.members:
            self.driver.start(member, FOUNDING)

    def say(self, who: ProcessId, how: How, time_us: int = 0) -> bytes:
        """Multicast a message that nobody has said before."""
        word = f"{who.name}{len(self.said)}".encode()
        self.said[word] = who, how, set(self.heard[who]) if not time_us else set()
        self.driver.give(who, MulticastRequested([word], how, len(word)), time_us)
        return word

    def see(self, who: ProcessId, effect: Effect) -> None:  # noqa: C901 - one case each
        """Take what is for the application; answer some of it."""
        match effect:
            case DeliverRuns(runs):
                for run in runs:
                    heard = self.letters if isinstance(run, Letter) else self.heard
                    if run.port == PORT_APPLICATION:
                        heard[who] += run.payloads
                if self.left_over and self.random.random() < 0.1:
                    self.left_over -= 1
                    self.say(who, self.random.choice(WAYS))
            case InstallView(view):
                self.views[who].append(view)
            case HandRequest(caller, number, payload) if number:
                self.driver.give(who, RequestAnswered(caller, number, payload[::-1]))
            case ConcludeCall():
                self.ended.append(effect)
            case LeaveGroup():
                self.left.append(who)
            case RejectPeer() | IgnoreMessage():
                raise AssertionError(effect)
            case _:
                pass


def play(seed: int) -> Applications:
    """Let all happen: messages of all kinds, letters, a call, a join, a leave, a crash."""
    world = Applications(seed)
    driver, random = world.driver, world.random
    for _ in range(200):
        time_us = 1 + random.randrange(2 * SECOND_US)
        world.say(random.choice((A, B, C)), random.choice(WAYS), time_us)
    for number in range(40):
        who, to = random.sample((A, B, C), 2)
        letter = LetterRequested(to, f"{who.name}>{to.name} {number}".encode())
        driver.give(who, letter, random.randrange(2 * SECOND_US))
    call = CallRequested(1, b"abc", Wanted.ALL, 9 * SECOND_US, Order.CAUSAL)
    driver.give(A, call, SECOND_US // 2)
    driver.run(SECOND_US // 3)
    driver.start(E, None)
    driver.give(E, JoinRequested(B))
    driver.give(D, LeaveRequested(), SECOND_US)
    driver.run(2 * SECOND_US)
    for number in range(10):
        world.say(E, WAYS[number % len(WAYS)])
    driver.run(2 * SECOND_US + 3_000)
    driver.crash(E)
    driver.run(8 * SECOND_US)
    return world


SURVIVORS = (A, B, C)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_and_orders_are_kept(seed: int) -> None:
    """Everybody that stays delivers everything of those that stay, in the orders promised."""
    world = play(seed)
    assert set(world.driver.endpoints) == set(SURVIVORS)
    assert world.left == [D]
    stayed = {word for word, (sender, _, _) in world.said.items() if sender in SURVIVORS}
    assert len(stayed) >= 200
    heard_by_all = [set(world.heard[who]) for who in SURVIVORS]
    assert heard_by_all[0] == heard_by_all[1] == heard_by_all[2]
    assert stayed <= heard_by_all[0]
    for who in SURVIVORS:
        assert len(world.heard[who]) == len(set(world.heard[who])), "nothing comes twice"
    _check_total_order(world)
    _check_causal_order(world)


def _check_total_order(world: Applications) -> None:
    totals = [
        [word for word in world.heard[who] if world.said[word][1].order is Order.TOTAL]
        for who in SURVIVORS
    ]
    assert totals[0] == totals[1] == totals[2]
    assert totals[0]


def _check_causal_order(world: Applications) -> None:
    for who in SURVIVORS:
        place = {word: number for number, word in enumerate(world.heard[who])}
        for word in world.heard[who]:
            _, how, past = world.said[word]
            if how.order is not Order.FIFO:
                late = [cause for cause in past if place[cause] > place[word]]
                assert not late, f"{who} hears {word!r} before {late}"


@pytest.mark.parametrize("seed", range(10))
def test_views_letters_and_calls_are_the_same_everywhere(seed: int) -> None:
    """The views of those that stay, all letters in order, and the replies of all members."""
    world = play(seed)
    views = [world.views[who] for who in SURVIVORS]
    assert views[0] == views[1] == views[2]
    assert [view.number for view in views[0]] == list(range(1, len(views[0]) + 1))
    assert views[0][-1].members == SURVIVORS
    assert {view.joined for view in views[0]} == {(), (E,)}
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
