"""A small adversarial world of virtually synchronous multicast, to put commit machines into.

Law: what the world promises the machines is what membership promises, and nothing more. Messages
are delivered in causal order, in the view they were sent in. Whoever enters the next view has
delivered, in the one before, exactly the messages that one of those who go on had received. A
uniform message is delivered only when every member of its view has received it and its past, or
on leaving the view. Everything else is left to chance: who runs when, who crashes or is shut out
though alive, when views change and who joins, when an application votes and what.

The world judges by its own books: what was voted, delivered and decided.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.toolkit.commit import (
    AskVote,
    Commit,
    Decided,
    Effect,
    KnowPast,
    Multicast,
    Outcome,
)
from antiphon.toolkit.commit_messages import Begin, Decision, State, Transaction, Vote, decode

VOTE_US_MAX = 1000


class ViolationError(AssertionError):
    """What must not happen."""


class Sent(NamedTuple):
    """A message in a view."""

    sender: ProcessId
    payload: bytes
    is_uniform: bool
    past: frozenset[int]
    """Messages of the view that its sender had delivered or sent before, by place."""


@dataclass
class Epoch:
    """A view, and what is sent in it."""

    view: View
    sent: list[Sent] = field(default_factory=list)
    received: dict[ProcessId, dict[int, None]] = field(default_factory=dict)
    cuts: dict[tuple[ProcessId, ProcessId], int] = field(default_factory=dict)
    """Sender and receiver: from which message on nothing arrives, for the sender has died."""
    left_with: list[int] | None = None
    """What has to be delivered before the next view is entered, once that is agreed on."""


class Site:
    """A process: its machine, and where it stands."""

    def __init__(self, me: ProcessId, start: int) -> None:
        """Begin outside of any view."""
        self.me = me
        self.machine = Commit(me, start, VOTE_US_MAX)
        self.at = -1
        self.delivered: dict[int, None] = {}
        self.outbox: list[Multicast] = []
        self.asked: list[Transaction] = []
        self.is_alive = True
        self.first = 0
        self.now_us = 0


class World:
    """Some processes, until everything is decided."""

    def __init__(self, names: str, seed: int, *, fault_count: int = 0) -> None:
        """Found a group; at most ``fault_count`` processes crash or are shut out."""
        self.random = Random(seed)
        self.sites = {me: Site(me, 0) for me in map(ProcessId, names)}
        view = View(GroupName("g"), ViewNumber(1), tuple(self.sites))
        self.epochs = [Epoch(view)]
        self.faults_left = fault_count
        self.joins_left = fault_count
        self.begins_left = 2
        self.quiet_steps = 0
        self.steps = 0
        self.half_told_count = 0
        """How often a coordinator died while it told joiners the past."""
        self.story: list[str] = []
        self.participants: dict[Transaction, tuple[ProcessId, ...]] = {}
        self.yes: dict[Transaction, dict[ProcessId, bool]] = {}
        self.yes_delivered: dict[tuple[ProcessId, Transaction], list[ProcessId]] = {}
        self.outcomes: dict[Transaction, dict[ProcessId, Outcome]] = {}
        self.askings: dict[str, dict[Transaction, ProcessId]] = {}
        """By name, what it was asked to vote on, and in which incarnation."""
        self.mute: dict[Transaction, None] = {}
        self.told = dict.fromkeys(self.sites, 0)
        """Who knows the past, and since which view."""
        for me in self.sites:
            self.enter(me)

    # What machines ask for.

    def do(self, me: ProcessId, effects: Iterable[Effect]) -> None:
        """Do what a machine returned."""
        site = self.sites[me]
        for effect in effects:
            match effect:
                case Multicast(payload):
                    self.check_said(me, payload)
                    site.outbox.append(effect)
                case AskVote(transaction):
                    site.asked.append(transaction)
                    self.askings.setdefault(me.name, {})[transaction] = me
                case Decided(transaction, outcome):
                    self.story.append(f"{me} decides {outcome} on {transaction}")
                    self.check_decided(me, transaction, outcome)
                case KnowPast():
                    self.check_no_doubt(me)

    # What can happen.

    def actions(self) -> list[tuple[str, ProcessId, int]]:
        """Return everything that could happen next, but for faults."""
        found = []
        for me, site in self.sites.items():
            if not site.is_alive or site.at < 0:
                continue
            epoch = self.epochs[site.at]
            found += [("vote", me, at) for at in range(len(site.asked))]
            if epoch.left_with is None:
                found += [("send", me, 0)] * bool(site.outbox)
                found += [("take", me, at) for at in range(len(epoch.sent)) if self.can(me, at)]
            elif me in self.epochs[site.at + 1].view.members:
                found.append(("leave", me, 0))
        return found

    def can(self, me: ProcessId, at: int) -> bool:
        """Tell whether a message can be received, or delivered, at a process."""
        epoch, site = self.epochs[self.sites[me].at], self.sites[me]
        message = epoch.sent[at]
        received = epoch.received[me]
        if at not in received:
            is_cut = at >= epoch.cuts.get((message.sender, me), len(epoch.sent))
            return not is_cut and all(one in received for one in message.past)
        if at in site.delivered or not all(one in site.delivered for one in message.past):
            return False
        return all(at in epoch.received.get(member, ()) for member in epoch.view.members)

    def act(self, kind: str, me: ProcessId, at: int) -> None:
        """Let one thing happen."""
        site = self.sites[me]
        if kind == "vote":
            if self.random.random() < 0.4:  # the application takes its time
                coordinator = self.epochs[site.at].view.members[0]
                self.tick(coordinator, self.random.randrange(VOTE_US_MAX // 2))
                return
            transaction = site.asked.pop(at)
            if self.random.random() < 0.05:
                self.story.append(f"{me} is mute on {transaction}")
                self.mute[transaction] = None
                return
            is_yes = self.random.random() < 0.85
            self.story.append(f"{me} votes {'yes' if is_yes else 'no'} on {transaction}")
            self.do(me, site.machine.vote(transaction, is_yes=is_yes))
        elif kind == "send":
            message = decode(site.outbox[0].payload)
            is_half = isinstance(message, State) and message.place < message.part_count - 1
            self.send(me)
            is_fateful = is_half or isinstance(message, Decision)
            if is_fateful and self.faults_left > 0 and self.random.random() < 0.5:
                self.half_told_count += is_half
                self.faults_left -= 1  # with its last word, and perhaps with what that rests on
                for victim in dict.fromkeys([me, self.random.choice(self.going_on())]):
                    self.crash(victim)
        elif kind == "take":
            self.take(me, at)
        else:
            self.leave(me)

    def send(self, me: ProcessId) -> None:
        """Multicast what the machine asked for first."""
        site, epoch = self.sites[me], self.epochs[self.sites[me].at]
        effect = site.outbox.pop(0)
        own = [at for at, one in enumerate(epoch.sent) if one.sender == me]
        past = frozenset([*own, *site.delivered])
        self.story.append(f"{me} sends #{len(epoch.sent)} {decode(effect.payload)}")
        epoch.sent.append(Sent(me, effect.payload, effect.is_uniform, past))
        self.take(me, len(epoch.sent) - 1)

    def take(self, me: ProcessId, at: int) -> None:
        """Receive a message, or deliver one that was received; a plain one is both at once."""
        epoch = self.epochs[self.sites[me].at]
        epoch.received[me][at] = None
        # One's own plain message may be waiting for the uniform ones before it.
        for place in epoch.received[me]:
            if self.is_due(me, place):
                self.deliver(me, place)

    def is_due(self, me: ProcessId, at: int) -> bool:
        """Tell whether a received message is to be delivered."""
        site, message = self.sites[me], self.epochs[self.sites[me].at].sent[at]
        if at in site.delivered or not all(one in site.delivered for one in message.past):
            return False
        return not message.is_uniform or self.can(me, at)

    def deliver(self, me: ProcessId, at: int) -> None:
        """Hand a message to the machine."""
        site, epoch = self.sites[me], self.epochs[self.sites[me].at]
        message = epoch.sent[at]
        site.delivered[at] = None
        self.story.append(f"{me} delivers #{at} of view {epoch.view.number}")
        self.note(me, message)
        self.do(me, site.machine.deliver(message.sender, message.payload, site.now_us))

    def leave(self, me: ProcessId) -> None:
        """Deliver what is left of a view, one message at a time, or enter the next."""
        site, epoch = self.sites[me], self.epochs[self.sites[me].at]
        assert epoch.left_with is not None
        waiting = [
            at
            for at in epoch.left_with
            if at not in site.delivered
            and all(one in site.delivered for one in epoch.sent[at].past)
        ]
        if waiting:
            self.deliver(me, self.random.choice(waiting))
        else:
            self.enter(me)

    def enter(self, me: ProcessId) -> None:
        """Enter the next view; a process that joins, its first."""
        site = self.sites[me]
        site.at = site.at + 1 if site.at >= 0 else site.first
        site.delivered = {}
        epoch = self.epochs[site.at]
        epoch.received[me] = {}
        self.story.append(f"{me} enters view {epoch.view.number}")
        self.do(me, site.machine.enter(epoch.view, site.now_us))

    # What goes wrong, and who comes and goes.

    def crash(self, me: ProcessId) -> None:
        """End a process; what it has just sent reaches some, or none."""
        self.story.append(f"{me} crashes")
        self.sites[me].is_alive = False
        epoch = self.epochs[self.sites[me].at]
        for other in epoch.view.members:
            epoch.cuts[me, other] = self.random.randint(0, len(epoch.sent))

    def going_on(self) -> list[ProcessId]:
        """Return the living members of the last view."""
        return [me for me in self.epochs[-1].view.members if self.sites[me].is_alive]

    def change(
        self, *, without: ProcessId | None = None, joined: tuple[ProcessId, ...] = ()
    ) -> bool:
        """Agree on the next view, if a quorum of the last one is there to do so."""
        last = self.epochs[-1]
        staying = [me for me in self.going_on() if me != without]
        settled = all(self.sites[me].at == len(self.epochs) - 1 for me in staying)
        if not settled or not last.view.has_quorum(staying):
            return False
        number = ViewNumber(last.view.number + 1)
        view = View(last.view.group, number, (*staying, *joined), joined=joined)
        kept = dict.fromkeys(at for me in staying for at in last.received[me])
        last.left_with = list(kept)
        self.epochs.append(Epoch(view))
        self.story.append(f"view {number} is {' '.join(map(str, view.members))}")
        for joiner in joined:
            site = self.sites[joiner] = Site(joiner, view.number)
            site.first = len(self.epochs) - 1
            self.enter(joiner)
        return True

    def disturb(self) -> None:
        """Let something go wrong, or somebody come."""
        kind = self.random.choice(["crash", "exclude", "change", "join", "tick", "begin"])
        members = self.going_on()
        if not members:
            return
        if kind == "tick":
            self.tick(self.random.choice(members), self.random.randrange(2 * VOTE_US_MAX))
        elif kind == "begin" and self.begins_left:
            self.begin(self.random.choice(members))
        elif kind == "change" and len(members) < len(self.epochs[-1].view.members):
            self.change()
        elif kind == "join" and self.joins_left > 0:
            self.join(members)
        elif kind in {"crash", "exclude"}:
            self.strike(kind, members)

    def strike(self, kind: str, members: list[ProcessId]) -> None:
        """Crash a process or two, or shut one out."""
        if self.faults_left <= 0 or not members:
            return
        # Two at once may take a vote, and the decision that rests on it, with them.
        both = dict.fromkeys([members[0], self.random.choice(members)])
        is_pair = kind == "crash" and self.random.random() < 0.5
        victims = list(both)[0 if is_pair else -1 :]
        rest = [me for me in members if me not in victims]
        if not self.epochs[-1].view.has_quorum(rest) and self.random.random() < 0.95:
            return  # few worlds that block are enough
        self.faults_left -= 1
        if kind == "crash":
            for victim in victims:
                self.crash(victim)
        else:
            self.change(without=victims[0])

    def join(self, members: list[ProcessId]) -> None:
        """Let one or two processes come, or come back."""
        names = [me.name for me in members]
        joined = [name for name in self.random.sample("abcdefgh", 2) if name not in names]
        if self.change(joined=tuple(map(self.next_incarnation, joined))):
            self.joins_left -= 1

    def next_incarnation(self, name: str) -> ProcessId:
        """Return who a process of this name is when it comes, or comes back."""
        numbers = [me.incarnation for me in self.sites if me.name == name]
        return ProcessId(name, max(numbers, default=0) + 1)

    def begin(self, me: ProcessId) -> None:
        """Let a process begin a transaction."""
        if self.sites[me].is_alive:
            self.begins_left -= 1
            self.do(me, self.sites[me].machine.begin(b"body")[1])

    def tick(self, me: ProcessId, later_us: int = 0) -> None:
        """Let time go by at one process: clocks have nothing to do with each other."""
        site = self.sites[me]
        site.now_us += later_us
        if site.is_alive:
            self.do(me, site.machine.tick(site.now_us))

    # Running.

    def run(self, *, crash_at: int = -1, victim: ProcessId | None = None) -> "World":
        """Run until all is decided; perhaps crash one process at one step."""
        self.begin(self.random.choice(list(self.sites)))
        while self.quiet_steps < 10 and self.steps < 300:
            self.quiet_steps = 0 if self.step() else self.quiet_steps + 1
            self.steps += 1
            if self.steps == crash_at and victim is not None and self.sites[victim].is_alive:
                self.crash(victim)
        self.faults_left = self.joins_left = 0
        self.settle()
        return self

    def step(self) -> bool:
        """Let one thing happen, and sometimes something else."""
        if self.random.random() < 0.2:
            self.disturb()
        actions = self.actions()
        if actions:
            self.act(*self.random.choice(actions))
        return bool(actions)

    def settle(self) -> None:
        """Without further faults, let everything happen that can; then judge."""
        for _ in range(2000):
            if actions := self.actions():
                self.act(*self.random.choice(actions))
                continue
            dead = [me for me in self.epochs[-1].view.members if not self.sites[me].is_alive]
            if not (dead and self.change()) and not self.hurry():
                break
        self.check_all_decided()

    def hurry(self) -> bool:
        """Let the time for votes run out; tell whether that changed anything."""
        self.check_none_waits_for_nothing()
        for me in self.going_on():
            self.tick(me, 2 * VOTE_US_MAX)
        return bool(self.actions())

    # Judging.

    def note(self, me: ProcessId, message: Sent) -> None:
        """Keep the books on what is delivered."""
        epoch = self.epochs[self.sites[me].at]
        match decode(message.payload):
            case Begin(number, start):
                transaction = Transaction(str(message.sender), number, start)
                self.participants[transaction] = epoch.view.members
            case Vote(transaction, True):
                self.yes_delivered.setdefault((me, transaction), []).append(message.sender)
            case State(number, place=place, part_count=count) if place == count - 1:
                if number > self.sites[me].first and message.sender in self.told:
                    self.told.setdefault(me, self.sites[me].at)
            case _:
                pass

    def check_said(self, me: ProcessId, payload: bytes) -> None:
        """Note a vote; refuse a decision that has no ground."""
        match decode(payload):
            case Vote(transaction, is_yes):
                self.yes.setdefault(transaction, {})[me] = is_yes
            case Decision(transaction, False):
                seen = self.yes_delivered.get((me, transaction), [])
                if all(who in seen for who in self.participants[transaction]):
                    self.fail(f"{me} aborts {transaction}, to which it saw all agree")
            case _:
                pass

    def check_decided(self, me: ProcessId, transaction: Transaction, outcome: Outcome) -> None:
        """No two decide differently; a commit has everyone's yes."""
        outcomes = self.outcomes.setdefault(transaction, {})
        if me in outcomes:
            self.fail(f"{me} decides {transaction} twice")
        outcomes[me] = outcome
        if len(dict.fromkeys(outcomes.values())) > 1:
            self.fail(f"{transaction} is decided differently")
        votes = self.yes.get(transaction, {})
        missing = [who for who in self.participants[transaction] if not votes.get(who)]
        if outcome is Outcome.COMMIT and missing:
            self.fail(f"{me} commits {transaction} without the yes of {missing[0]}")

    def check_no_doubt(self, me: ProcessId) -> None:
        """Whoever comes back can learn of everything that it was asked before."""
        machine = self.sites[me].machine
        for transaction, asked in self.askings.get(me.name, {}).items():
            is_known = machine.is_open(transaction) or machine.recall(transaction) is not None
            if asked != me and not is_known and not self.is_past_lost():
                self.fail(f"{me} comes back in doubt of {transaction}, and nobody knows of it")

    def check_none_waits_for_nothing(self) -> None:
        """Only a vote that does not come is a reason to wait."""
        members = self.going_on()
        if len(members) < len(self.epochs[-1].view.members):
            return
        for transaction in self.participants:
            is_open = any(self.sites[me].machine.is_open(transaction) for me in members)
            if is_open and transaction not in self.mute:
                self.fail(f"{transaction} is not decided, and nothing is missing")

    def check_all_decided(self) -> None:
        """Whoever lives in a group that goes on has decided, or come later and knows."""
        last, members = self.epochs[-1].view, self.going_on()
        if len(members) < len(last.members):
            return  # blocked: the rest is no quorum
        for me in members:
            if not self.sites[me].machine.knows_past:
                self.fail(f"{me} is never told of the past")
        for transaction in self.participants:
            known = [self.sites[me].machine.recall(transaction) for me in members]
            decided = next(iter(self.outcomes.get(transaction, {}).values()), None)
            if any(self.sites[me].machine.is_open(transaction) for me in members):
                self.fail(f"{transaction} is never decided")
            if known != [known[0]] * len(known):
                self.fail(f"not all know alike how {transaction} ended")
            if known[0] != decided and not self.is_past_lost():
                self.fail(f"nobody knows how {transaction} ended")

    def is_past_lost(self) -> bool:
        """Tell whether there was a view in which nobody knew the past."""
        return any(
            all(self.told.get(me, at + 1) > at for me in epoch.view.members)
            for at, epoch in enumerate(self.epochs)
        )

    def fail(self, what: str) -> None:
        """Say what is wrong, and how it came about."""
        raise ViolationError("\n".join([what, *self.story]))
