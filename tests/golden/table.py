"""The table: the processes of one group, driven by hand, and the channels between them.

Law: this is the one module of the golden conversations that knows how a process is driven. It
decides nothing: each method is one thing that happens, and returns what the processes were told to
do, in order, in words of its own (``Act``). Channels are FIFO and lose nothing; what a process sent
and nobody has received dies with it.

Everything that happens is also written down as rows of a trace, for the oracle to judge.
"""

from collections import Counter, deque
from collections.abc import Sequence

from tests.golden.acts import (
    Act,
    AskedVote,
    Concluded,
    Copied,
    Decided,
    Delivered,
    Handled,
    Held,
    Installed,
    Item,
    Noted,
    Sent,
)

from antiphon.core.control import Alive, Beat
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.runs import Letter, Order, Run
from antiphon.core.views import View
from antiphon.oracle import judge
from antiphon.oracle.letter_checks import find_broken_letter
from antiphon.stack import effects as stack
from antiphon.stack import inputs
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import ACKNOWLEDGE, CALLS, HEARTBEAT, VOTES, Input, Timer, TimerFired
from antiphon.stack.ports import CommitOptions
from antiphon.stack.receiver import GROUP
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.toolkit.calls import Wanted
from antiphon.toolkit.commit import VOTE_US_MAX, Outcome
from antiphon.toolkit.commit_messages import Transaction
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Status

_NAME = "g"
_HEARTBEATS = (Alive, Beat)
_OWN = (CALLS, VOTES)
"""Timers that fire when their time has come; the others fire by a command."""
_UNTOLD = (stack.ExpectPeers, stack.AdmitSenders, stack.NameTransaction)
"""All channels are there, and applications say what the file lets them."""


class Table:
    """A group whose processes do nothing unless told to."""

    def __init__(
        self, flush: str = "view-atomic", token: str = "follow", *, has_commit: bool = False
    ) -> None:
        """Begin without processes; ``has_commit``: they take part in transactions."""
        self.settings = Settings(flush=flush, token=token)
        self.has_commit = has_commit
        self.now_us = 0
        self.seats: dict[str, Seat] = {}
        self.channels: dict[tuple[str, str], deque[Item]] = {}
        self.views: dict[int, View] = {}
        self.runs: list[Run] = []
        self.acts: list[Act] = []
        self.events: list[Event] = []

    # Processes.

    def found(self, names: Sequence[str]) -> list[Act]:
        """Everybody begins in view 1."""
        members = tuple(map(ProcessId, names))
        view = View(GroupName(_NAME), ViewNumber(1), members)
        for member in members:
            self._start(member, view)
        return self._taken()

    def join(self, name: str, contact: str, number: int = 0) -> list[Act]:
        """A new process asks a member to be taken in; a name that was there is a new incarnation.

        Unless it takes itself for an earlier one, of that ``number``.
        """
        count = sum(seat.me.name == name for seat in self.seats.values())
        me = ProcessId(name, number or count + 1)
        self._start(me, None)
        return self._give(str(me), inputs.JoinRequested(self.seats[contact].me))

    def _start(self, me: ProcessId, view: View | None) -> None:
        self.seats[str(me)] = Seat(self, me, view)

    def crash(self, who: str) -> list[Act]:
        """A process dies, and what it sent and nobody has received dies with it."""
        seat = self.seats[who]
        seat.is_up = False
        seat.rows.crash(self.now_us)
        for pair in [pair for pair in self.channels if who in pair]:
            del self.channels[pair]
        return []

    def suspect(self, who: str, whom: str) -> list[Act]:
        """A process takes another for dead, rightly or wrongly."""
        return self._give(who, inputs.PeerLost(self.seats[whom].me))

    def leave(self, who: str) -> list[Act]:
        """A process asks to leave."""
        return self._give(who, inputs.LeaveRequested())

    # The application.

    def multicast(
        self, who: str, texts: Sequence[str], order: Order, *, uniform: bool = False
    ) -> list[Act]:
        """The application multicasts; what may not go out now waits."""
        payloads = [text.encode() for text in texts]
        how, byte_count = How(order, uniform), sum(map(len, payloads))
        return self._give(who, inputs.MulticastRequested(payloads, how, byte_count))

    def send(self, who: str, to: str, text: str) -> list[Act]:
        """The application sends a letter; if it may not go out now, it waits."""
        return self._give(who, inputs.LetterRequested(self.seats[to].me, text.encode()))

    def call(self, who: str, text: str, wanted: str, wait_us: int | None = None) -> list[Act]:
        """The application calls the group."""
        seat = self.seats[who]
        seat.call_count += 1
        deadline_us = None if wait_us is None else self.now_us + wait_us
        asked = inputs.CallRequested(
            seat.call_count, text.encode(), Wanted(wanted), deadline_us, Order.CAUSAL
        )
        return self._give(who, asked)

    def answer(self, who: str, caller: str, number: int, text: str, *, is_yes: bool) -> list[Act]:
        """The application's handler returns, or raises."""
        said, why = (text.encode(), "") if is_yes else (None, text)
        return self._give(who, inputs.RequestAnswered(self.seats[caller].me, number, said, why))

    def begin(self, who: str, text: str, needs: Sequence[str] = ()) -> list[Act]:
        """The application begins a transaction."""
        return self._give(who, inputs.TransactionRequested(1, text.encode(), tuple(needs)))

    def vote(self, who: str, transaction: Transaction, why: str, *, is_yes: bool) -> list[Act]:
        """The application votes."""
        number, initiator = transaction.number, transaction.initiator
        self.seats[who].rows.vote(self.now_us, initiator, number, is_yes=is_yes)
        return self._give(who, inputs.VoteCast(transaction, is_yes, why))

    # Time and channels.

    def beat(self, who: str) -> list[Act]:
        """A heartbeat has passed at a process: its timers fire, but not that for acknowledging."""
        self.now_us += self.settings.timing.heartbeat_us
        self.seats[who].tick()
        return self._taken()

    def pass_time(self, time_us: int) -> list[Act]:
        """Time passes everywhere; heartbeats arrive at once, and are nothing to speak of."""
        acts: list[Act] = []
        heartbeat_us = self.settings.timing.heartbeat_us
        end_us = self.now_us + time_us
        next_us = self.now_us + heartbeat_us
        while self.now_us < end_us:
            living = [seat for seat in self.seats.values() if seat.is_up]
            due_us = min(
                (seat.due_us for seat in living if seat.due_us is not None), default=end_us
            )
            self.now_us = max(self.now_us, min(end_us, next_us, due_us))
            for seat in living:
                if self.now_us in {next_us, end_us}:
                    seat.tick()
                else:
                    seat.fire_due()
            if self.now_us >= next_us:
                next_us += heartbeat_us
            acts += self._taken()
            for source, target in self.busy():
                while isinstance(self.next_item(source, target), _HEARTBEATS):
                    acts += self.receive(source, target)
        return [
            act for act in acts if not (isinstance(act, Sent) and isinstance(act.item, _HEARTBEATS))
        ]

    def acknowledge(self, who: str) -> list[Act]:
        """A process tells the others what they wait for: its timer for that fires."""
        return self._give(who, TimerFired(ACKNOWLEDGE))

    def owes(self, who: str) -> bool:
        """Whether others wait for a process's acknowledgement."""
        seat = self.seats[who]
        return seat.is_up and ACKNOWLEDGE in seat.timers

    def next_item(self, source: str, target: str) -> Item | None:
        """Return what comes next on a channel."""
        channel = self.channels.get((source, target))
        return channel[0] if channel else None

    def busy(self) -> list[tuple[str, str]]:
        """Return the channels on which something is, by name."""
        return sorted(pair for pair, items in self.channels.items() if items)

    def receive(self, source: str, target: str) -> list[Act]:
        """The next thing on a channel arrives."""
        item = self.channels[source, target].popleft()
        self.seats[target].take(self.seats[source].me, item)
        return self._taken()

    # What can be asked.

    def held(self, who: str) -> list[Held]:
        """Return what a process has received and not delivered, in order of receipt."""
        seat = self.seats[who]
        if seat.view is None:
            return []
        names = [str(member) for member in seat.view.members]
        ordering = seat.member.ordering
        held = [Held(run, (names[rank], number)) for run, (_, rank, number) in ordering.waiting()]
        for run in ordering.gate(GROUP).waiting():
            turn = ["its turn"] if run.order is Order.TOTAL else []
            mark = ["its mark"] if run.uniform else []
            held.append(Held(run, " and ".join(turn + mark)))
        return held

    def unsent(self, who: str) -> int:
        """Return how many runs and letters wait to be sent."""
        return len(self.seats[who].endpoint.queue.waiting)

    def kept(self, who: str) -> int:
        """Return the bytes of the copies that a process keeps (ISIS 5.5)."""
        return self.seats[who].member.kept_bytes

    def stable(self, who: str, sender: str) -> int:
        """Return how many messages of ``sender`` a process knows to have reached everybody."""
        seat = self.seats[who]
        assert seat.view is not None, "only members know"
        return seat.member.stability.stable(seat.view.rank_of(self.seats[sender].me))

    def k_stable(self, who: str, k: int) -> int:
        """Return how many own messages a process knows to have reached ``k`` others."""
        return self.seats[who].member.stability.k_stable(k)

    def latest_view(self, who: str) -> int:
        """Return the last view that a process knows to be agreed on, installed or not."""
        latest = self.seats[who].member.membership.latest
        return latest.number if latest is not None else 0

    def judged(self) -> tuple[list[str], dict[str, str]]:
        """Let the oracle judge: which promises were kept, and what broke the others."""
        is_over = not self.busy() and not any(self.unsent(who) for who in self.seats)
        detail = QUIESCENT if is_over else "the conversation ends"
        for seat in self.seats.values():
            if seat.is_up:
                seat.is_up = False
                seat.rows.stop(self.now_us, detail)
        verdict = judge(self.events)
        kept = [item.property.value for item in verdict.properties if item.status is Status.HOLDS]
        broken = {
            item.property.value: item.violations[0].text
            for item in verdict.properties
            if item.status is Status.VIOLATED
        }
        if said := find_broken_letter(self.events):
            broken["letters"] = said
        return kept, broken

    # Inside.

    def _give(self, who: str, happened: Input) -> list[Act]:
        self.seats[who].give(happened)
        return self._taken()

    def _taken(self) -> list[Act]:
        acts, self.acts = self.acts, []
        return acts


class Seat:
    """One process: its machine, and the driver of it."""

    def __init__(self, table: Table, me: ProcessId, view: View | None) -> None:
        """Begin to live, in a view or outside."""
        self._table = table
        self.me = me
        self.view: View | None = None
        self.is_up = True
        self.timers: dict[Timer, int] = {}
        self.call_count = 0
        self._letters: Counter[tuple[str, str]] = Counter()
        self._index = 0
        self.rows = Rows(str(me), _NAME, self._append)
        self.rows.start(table.now_us)
        commit = CommitOptions(VOTE_US_MAX) if table.has_commit else None
        self.endpoint = Endpoint(me, view, table.settings, table.now_us, commit=commit)
        self.member = self.endpoint.member
        self._do(self.endpoint.start())

    def _append(self, event: Event) -> None:
        event.index = self._index
        self._index += 1
        self._table.events.append(event)

    def _act(self, act: Act) -> None:
        self._table.acts.append(act)

    # What happens to it.

    def give(self, happened: Input) -> None:
        """Give something to the machine, and do what it returns."""
        if isinstance(happened, TimerFired):
            self.timers.pop(happened.timer, None)
        self._do(self.endpoint.step(happened, self._table.now_us))

    def tick(self) -> None:
        """A heartbeat has passed."""
        self.give(TimerFired(HEARTBEAT))
        self.fire_due()

    @property
    def due_us(self) -> int | None:
        """When a timer fires next that is not for heartbeats or acknowledgements."""
        return min(
            (time_us for timer, time_us in self.timers.items() if timer in _OWN), default=None
        )

    def fire_due(self) -> None:
        """Fire the timers whose time has come, other than those."""
        for timer, time_us in list(self.timers.items()):
            if timer in _OWN and time_us <= self._table.now_us:
                self.give(TimerFired(timer))

    def take(self, source: ProcessId, item: Item) -> None:
        """Something has arrived."""
        if isinstance(item, Letter):
            self.give(inputs.LetterReceived(source, item))
        elif isinstance(item, Run):
            self.give(inputs.RunsReceived(source, [item]))
        elif isinstance(item, Copied):
            self.give(inputs.RunsReceived(source, [item.run], is_relayed=True))
        else:
            self.give(inputs.ControlReceived(source, item))

    # Effects.

    def _do(self, effects: list[stack.Effect]) -> None:
        """Do what the machine returned, in order."""
        for effect in effects:
            match effect:
                case stack.SendControl(to, message):
                    self._send(to, message)
                case stack.RelayRuns() | stack.DeliverRuns():
                    self._do_each(effect)
                case stack.InstallView(view):
                    self._enter(view)
                case stack.SendRun() | stack.SendLetter():
                    self._send_own(effect)
                case stack.SetTimer(timer, time_us):
                    self.timers[timer] = time_us
                case _:
                    self._do_rest(effect)

    def _do_each(self, effect: stack.RelayRuns | stack.DeliverRuns) -> None:
        for run in effect.runs:
            if isinstance(effect, stack.RelayRuns):
                self._send(effect.to, Copied(run))
            else:
                self._deliver(run)

    def _send_own(self, effect: stack.SendRun | stack.SendLetter) -> None:
        now_us = self._table.now_us
        match effect:
            case stack.SendRun(run, alive):
                self.rows.run(now_us, "multicast", run, 0)
                self._table.runs.append(run)
                assert self.view is not None, "only members multicast"
                if alive is not None:
                    self._send(self.view.members, alive)
                self._send(self.view.members, run)
            case stack.SendLetter(to, letter):
                self._letters["to", str(to)] += 1
                self.rows.send_letter(now_us, str(to), self._letters["to", str(to)])
                self._send((to,), letter)

    def _send(self, to: tuple[ProcessId, ...], item: Item) -> None:
        names = tuple(str(process) for process in to if process != self.me)
        for name in names:
            if name in self._table.seats and self._table.seats[name].is_up:
                self._table.channels.setdefault((str(self.me), name), deque()).append(item)
        if names or isinstance(item, Run):
            self._act(Sent(str(self.me), names, item))

    def _deliver(self, run: Run) -> None:
        sender = str(self._table.views[run.view].members[run.sender])
        if isinstance(run, Letter):
            self._letters["from", sender] += 1
            self.rows.take_letter(self._table.now_us, sender, self._letters["from", sender])
        else:
            self.rows.run(self._table.now_us, "deliver", run, 0)
        self._act(Delivered(str(self.me), run))

    def _enter(self, view: View) -> None:
        self.view = view
        self._table.views.setdefault(view.number, view)
        self.rows.view(self._table.now_us, view)
        self._act(Installed(str(self.me), view))

    def _do_rest(self, effect: stack.Effect) -> None:
        me = str(self.me)
        match effect:
            case stack.HandRequest(caller, number, body):
                self._act(Handled(me, str(caller), number, body.decode()))
            case stack.ConcludeCall(number, replies, error):
                self._act(Concluded(me, number, replies, error))
            case stack.AskVote(transaction, body):
                self._act(AskedVote(me, transaction, body.decode()))
            case stack.Decided(transaction, outcome, why):
                self.rows.decide(
                    self._table.now_us, transaction.initiator, transaction.number,
                    is_commit=outcome is Outcome.COMMIT,
                )  # fmt: skip
                self._act(Decided(me, transaction, outcome.value, why))
            case stack.RejectPeer(peer, why):
                self._act(Noted(me, f"rejects {peer}: {why}"))
                self.give(inputs.PeerLost(peer))
            case _:
                if not isinstance(effect, _UNTOLD):
                    self._note(effect)

    def _note(self, effect: stack.Effect) -> None:
        now_us = self._table.now_us
        match effect:
            case stack.SuspectProcess(process):
                self.rows.suspect(now_us, str(process), "")
                said = f"suspects {process}"
            case stack.BlockGroup(reachable):
                self.rows.block(now_us, " ".join(map(str, reachable)))
                said = f"is blocked: it reaches only {' '.join(map(str, reachable))}"
            case stack.ResumeGroup():
                self.rows.resume(now_us)
                said = "goes on"
            case stack.LeaveGroup(why):
                self.is_up = False
                self.rows.stop(now_us, why or LEFT)
                said = f"is out: {why}" if why else "has left"
            case _:
                said = _told(effect)
        self._act(Noted(str(self.me), said))


def _told(effect: stack.Effect) -> str:
    """Return words for what leaves no row in a trace."""
    match effect:
        case stack.ProbeProcess(process):
            return f"asks at the address of {process} how it stands"
        case stack.KnowPast():
            return "knows what was decided before it came"
        case stack.RestoreProcess(process):
            return f"takes up the channel with {process} again"
        case stack.GiveUpProcess(process, why):
            return f"gives up {process}: {why}"
        case _:
            return f"is told: {effect}"
