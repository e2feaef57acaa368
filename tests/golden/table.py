"""The table: the processes of one group, driven by hand, and the channels between them.

Law: this is the one module of the golden conversations that knows how a process is driven. It
decides nothing: each method is one thing that happens, and returns what the processes were told to
do, in order, in words of its own (``Act``). Channels are FIFO and lose nothing; what a process sent
and nobody has received dies with it.

Everything that happens is also written down as rows of a trace, for the oracle to judge.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence

from antiphon.stack.outgoing import How, Outgoing, WaitingLetter, WaitingRun
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

from antiphon.core.control import Alive
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, PORT_COMMIT, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership import effects as stack
from antiphon.oracle import judge
from antiphon.oracle.letter_checks import find_broken_letter
from antiphon.stack.member import GROUP, Member
from antiphon.stack.settings import Settings
from antiphon.toolkit import calls as call_effects
from antiphon.toolkit import commit as commit_effects
from antiphon.toolkit.calls import Calls, Wanted
from antiphon.toolkit.commit import Commit
from antiphon.toolkit.commit_messages import Transaction
from antiphon.trace.rows import Rows
from antiphon.trace.schema import LEFT, QUIESCENT, Event
from antiphon.trace.verdict import Status

_NAME = "g"


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
        return self._do(lambda: None)

    def join(self, name: str, contact: str, life: int = 0) -> list[Act]:
        """A new process asks a member to be taken in; a name that was there is a new life.

        Unless it takes itself for an earlier one, number ``life``.
        """
        lives = sum(seat.me.name == name for seat in self.seats.values())
        me = ProcessId(name, life or lives + 1)
        self._start(me, None)
        seat, to = self.seats[str(me)], self.seats[contact].me
        return self._do(lambda: seat.do(seat.member.ask_to_join(to, self.now_us)))

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
        seat, other = self.seats[who], self.seats[whom].me
        return self._do(lambda: seat.do(seat.member.lose(other, self.now_us)))

    def leave(self, who: str) -> list[Act]:
        """A process asks to leave."""
        seat = self.seats[who]
        return self._do(lambda: seat.do(seat.member.leave(self.now_us)))

    # The application.

    def multicast(
        self, who: str, texts: Sequence[str], order: Order, *, uniform: bool = False
    ) -> list[Act]:
        """The application multicasts; what may not go out now waits."""
        return self._do(lambda: self.seats[who].put([*texts], How(order, uniform)))

    def send(self, who: str, to: str, text: str) -> list[Act]:
        """The application sends a letter; if it may not go out now, it waits."""
        seat, addressee = self.seats[who], self.seats[to].me
        letter = WaitingLetter(addressee, text.encode(), PORT_APPLICATION)
        return self._do(lambda: seat.outgoing.put(letter))

    def call(self, who: str, text: str, wanted: str, wait_us: int | None = None) -> list[Act]:
        """The application calls the group."""
        seat = self.seats[who]
        deadline_us = None if wait_us is None else self.now_us + wait_us
        _, payload = seat.calls.begin(text.encode(), Wanted(wanted), deadline_us)
        return self._do(lambda: seat.put([payload], How(Order.CAUSAL, port=PORT_CALLS)))

    def answer(self, who: str, caller: str, number: int, text: str, *, is_yes: bool) -> list[Act]:
        """The application's handler returns, or raises."""
        seat, to = self.seats[who], self.seats[caller].me
        said = Calls.answer(number, text.encode()) if is_yes else Calls.refuse(number, text)
        return self._do(lambda: seat.outgoing.put(WaitingLetter(to, said, PORT_CALLS)))

    def begin(self, who: str, text: str, needs: Sequence[str] = ()) -> list[Act]:
        """The application begins a transaction."""
        seat = self.seats[who]
        _, effects = seat.commit.begin(text.encode(), needs)
        return self._do(lambda: seat.do_commit(effects))

    def vote(self, who: str, transaction: Transaction, why: str, *, is_yes: bool) -> list[Act]:
        """The application votes."""
        seat = self.seats[who]
        number = transaction.number
        seat.rows.vote(self.now_us, transaction.initiator, number, is_yes=is_yes)
        return self._do(
            lambda: seat.do_commit(seat.commit.vote(transaction, is_yes=is_yes, why=why))
        )

    # Time and channels.

    def beat(self, who: str) -> list[Act]:
        """A heartbeat has passed at a process."""
        self.now_us += self.settings.timing.heartbeat_us
        return self._do(self.seats[who].tick)

    def pass_time(self, time_us: int) -> list[Act]:
        """Time passes everywhere; heartbeats arrive at once, and are nothing to speak of."""
        acts: list[Act] = []
        end_us = self.now_us + time_us
        while self.now_us < end_us:
            self.now_us += min(self.settings.timing.heartbeat_us, end_us - self.now_us)
            for who in [who for who, seat in self.seats.items() if seat.is_up]:
                acts += self._do(self.seats[who].tick)
            for source, target in self.busy():
                while isinstance(self.next_item(source, target), Alive):
                    acts += self.receive(source, target)
        return [act for act in acts if not (isinstance(act, Sent) and isinstance(act.item, Alive))]

    def acknowledge(self, who: str) -> list[Act]:
        """A process tells the others what they wait for: its timer for that fires."""
        seat = self.seats[who]
        return self._do(lambda: seat.do(seat.member.pay(self.now_us)))

    def owes(self, who: str) -> bool:
        """Whether others wait for a process's acknowledgement."""
        seat = self.seats[who]
        return seat.is_up and (seat.member.is_due or seat.member.letters.is_due)

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
        return self._do(lambda: self.seats[target].take(self.seats[source].me, item))

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
        return len(self.seats[who].outgoing.waiting)

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

    def _do(self, action: Callable[[], object]) -> list[Act]:
        action()
        for seat in self.seats.values():
            if seat.is_up:
                seat.go_on()
        acts, self.acts = self.acts, []
        return acts


class Seat:
    """One process: its machines, and what it has yet to send."""

    def __init__(self, table: Table, me: ProcessId, view: View | None) -> None:
        """Begin to live, in a view or outside."""
        self._table = table
        self.me = me
        self.view: View | None = None
        self.is_up = True
        self.outgoing = Outgoing()
        self.calls = Calls(me)
        self.commit = Commit(me)
        self._letters: Counter[tuple[str, str]] = Counter()
        self._index = 0
        self.rows = Rows(str(me), _NAME, self._append)
        self.rows.start(table.now_us)
        self.member = Member(me, view, table.settings, table.now_us)
        self.do(self.member.take_effects())

    def _append(self, event: Event) -> None:
        event.index = self._index
        self._index += 1
        self._table.events.append(event)

    def _act(self, act: Act) -> None:
        self._table.acts.append(act)

    # What happens to it.

    def put(self, payloads: Sequence[str | bytes], how: How) -> None:
        """Let a run wait its turn to be sent."""
        said = [word.encode() if isinstance(word, str) else word for word in payloads]
        self.outgoing.put(WaitingRun(how, said, sum(map(len, said))))

    def go_on(self) -> None:
        """Send what waits and may go out."""
        if not self.outgoing.send(self):
            self.do(self.member.hurry())

    def tick(self) -> None:
        """A heartbeat has passed."""
        now_us = self._table.now_us
        self.do(self.member.tick(now_us))
        self._do_calls(self.calls.tick(now_us))
        if self._table.has_commit:
            self.do_commit(self.commit.tick(now_us))

    def take(self, source: ProcessId, item: Item) -> None:
        """Something has arrived."""
        member, now_us = self.member, self._table.now_us
        if isinstance(item, Letter):
            self.do(member.take_letter(source, item, now_us))
        elif isinstance(item, Run):
            delivered = member.receive(source, item)
            if delivered is None:
                self.do(member.take_run(source, item, now_us))
            else:
                member.hear(source, now_us)
                self.do([stack.DeliverRuns(delivered)])
        elif isinstance(item, Copied):
            self.do(member.take_run(source, item.run, now_us, relayed=True))
        else:
            self.do(member.take_control(source, item, now_us))

    # What the queue of what is to be sent asks.

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now."""
        return self.member.may_multicast

    def may_send(self, to: ProcessId, port: int) -> bool:
        """Whether a letter would go out now."""
        return self.member.may_send(to)

    def has_member(self, process: ProcessId) -> bool:
        """Whether a process is in the current view."""
        return self.view is not None and process in self.view.members

    def multicast(self, payloads: Sequence[bytes], how: How, byte_count: int) -> None:
        """Multicast a run."""
        order, uniform, port = how
        now_us = self._table.now_us
        self.do(
            self.member.multicast(payloads, order, now_us, byte_count, uniform=uniform, port=port)
        )

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a letter."""
        self.do(self.member.send_letter(to, payload, port))

    # Effects.

    def do(self, effects: list[stack.Effect]) -> None:
        """Do what the machine returned, in order."""
        for effect in effects:
            match effect:
                case stack.SendControl(to, message):
                    self._send(to, message)
                case stack.RelayRuns(to, runs):
                    for run in runs:
                        self._send(to, Copied(run))
                case stack.DeliverRuns(runs):
                    self._deliver_each(runs)
                case stack.InstallView(view):
                    self._enter(view)
                case stack.SendRun() | stack.SendLetter():
                    self._send_own(effect)
                case _:
                    self._note(effect)

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

    def _deliver_each(self, runs: list[Run]) -> None:
        for run in runs:
            self._deliver(run)

    def _deliver(self, run: Run) -> None:
        sender = self._table.views[run.view].members[run.sender]
        if isinstance(run, Letter):
            self._letters["from", str(sender)] += 1
            count = self._letters["from", str(sender)]
            self.rows.take_letter(self._table.now_us, str(sender), count)
        else:
            self.rows.run(self._table.now_us, "deliver", run, 0)
        self._act(Delivered(str(self.me), run))
        for payload in run.payloads:
            if run.port == PORT_COMMIT:
                self.do_commit(self.commit.deliver(sender, payload, self._table.now_us))
            elif run.port == PORT_CALLS and isinstance(run, Letter):
                self._do_calls(self.calls.take_reply(sender, payload))
            elif run.port == PORT_CALLS:
                self._do_calls(self.calls.deliver(sender, payload))

    def _enter(self, view: View) -> None:
        self.view = view
        self._table.views.setdefault(view.number, view)
        self.rows.view(self._table.now_us, view)
        self._act(Installed(str(self.me), view))
        self._do_calls(self.calls.enter(view))
        if self._table.has_commit:
            self.do_commit(self.commit.enter(view, self._table.now_us))

    def _note(self, effect: stack.Effect) -> None:
        match effect:
            case stack.SuspectProcess(process):
                self.rows.suspect(self._table.now_us, str(process), "")
                said = f"suspects {process}"
            case stack.BlockGroup(reachable):
                self.rows.block(self._table.now_us, " ".join(map(str, reachable)))
                said = f"is blocked: it reaches only {' '.join(map(str, reachable))}"
            case stack.ResumeGroup():
                self.rows.resume(self._table.now_us)
                said = "goes on"
            case stack.LeaveGroup(why):
                self.is_up = False
                self.rows.stop(self._table.now_us, why or LEFT)
                said = f"is out: {why}" if why else "has left"
            case stack.ProbeProcess(process):
                said = f"asks at the address of {process} how it stands"
            case _:
                said = f"takes up the channel with {effect} again"
        self._act(Noted(str(self.me), said))

    def _do_calls(self, effects: list[call_effects.Effect]) -> None:
        me = str(self.me)
        for effect in effects:
            match effect:
                case call_effects.Handle(caller, number, body):
                    self._act(Handled(me, str(caller), number, body.decode()))
                case call_effects.Conclude(number, replies, error):
                    self._act(Concluded(me, number, replies, error))

    def do_commit(self, effects: list[commit_effects.Effect]) -> None:
        """Do what the commit machine returned."""
        me = str(self.me)
        for effect in effects:
            match effect:
                case commit_effects.Multicast(payload, is_uniform):
                    self.put([payload], How(Order.CAUSAL, is_uniform, PORT_COMMIT))
                case commit_effects.AskVote(transaction, body):
                    self._act(AskedVote(me, transaction, body.decode()))
                case commit_effects.Decided(transaction, outcome, why):
                    is_commit = outcome is commit_effects.Outcome.COMMIT
                    self.rows.decide(
                        self._table.now_us, transaction.initiator, transaction.number,
                        is_commit=is_commit,
                    )  # fmt: skip
                    self._act(Decided(me, transaction, outcome.value, why))
                case commit_effects.KnowPast():
                    self._act(Noted(me, "knows what was decided before it came"))
