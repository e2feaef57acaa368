"""A member: one process in one dynamic group, composed.

    application    multicast, send       leave             DeliverRuns  InstallView  BlockGroup
                         |                 |                    ^            ^
    order           MixedDomain  <---------|------- runs -------+            |
    letters         Letters                |                                 |
    copies          Stability              |                                 |
    views                         Membership: detector, agreement, flush ----+
                         |                 |                    ^
    transport    SendRun, SendLetter   SendControl, RelayRuns   runs, letters, control messages

Law: virtual synchrony. Messages and views come in one stream of effects; a message is delivered
in the view in which it was multicast, and nothing is multicast while a view is being left, but
the token holder's last list; nor while a letter is not acknowledged.

A run is taken if it is of the current view, from a process that has not failed in a view agreed
on since; kept if of a later view; dropped otherwise. What is received twice, from its sender and
from a relay, is cut to what is new.
"""

from collections.abc import Container, Sequence
from contextlib import suppress

from antiphon.core.control import Alive, AnyMessage, Beat, Confirm, LetterAsked, LetterTaken
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import PORT_APPLICATION, PORT_CALLS, Letter, Order, Run
from antiphon.core.views import View
from antiphon.membership.effects import (
    DeliverRuns,
    Effect,
    InstallView,
    Outbox,
    SendLetter,
    SendRun,
)
from antiphon.membership.membership import Membership
from antiphon.membership.pulses import Pulses
from antiphon.ordering.letters import Letters
from antiphon.ordering.mixed import MixedDomain
from antiphon.ordering.stability import Stability
from antiphon.stack.early import Early
from antiphon.stack.past import Past
from antiphon.stack.settings import FLUSHES, Settings

ALIVE_BYTES = 1024 * 1024
"""Bytes received after which the senders are told along with the next own multicast."""

GROUP = GroupNumber(0)


class Member:
    """One process in one dynamic group."""

    def __init__(
        self,
        me: ProcessId,
        view: View | None,
        settings: Settings,
        now_us: int,
        pulses: Pulses | None = None,
    ) -> None:
        """Begin in ``view``, agreed on beforehand by all its members, or outside.

        ``pulses`` are shared by the groups of a process.
        """
        self.me = me
        self._out = Outbox(me)
        self._settings = settings
        self._ordering = MixedDomain(settings.token)
        self.letters = Letters()
        """Whose acknowledgement is awaited, and what is owed: :meth:`pay` sooner or later."""
        self._stability = Stability(1, 0)
        self._past = Past()
        self._early = Early()
        self._received_bytes = self._sent_bytes = 0
        self._confirmed_bytes_max = settings.limits.confirmed_bytes
        self._unstable_bytes_max = settings.limits.unstable_bytes
        self._alive_us = now_us
        self._is_unsaid = True
        """Whether something was received or multicast since the last Alive."""
        self._said: tuple[object, ...] = ()
        self._said_to: dict[ProcessId, None] = {}
        self._heard: dict[ProcessId, Alive] = {}
        """What each process said last of how it stands."""
        self._members: tuple[ProcessId, ...] = ()
        self._ranks: dict[ProcessId, int] = {}
        self._plain_view = 0
        self.is_open = False
        """Whether this process is in a view that nobody is leaving, and that is not blocked."""
        self.membership = Membership(
            self._out, view, settings.timing, FLUSHES[settings.flush], self, now_us, pulses
        )
        if view is not None:
            self._begin(view)
            self._out.put(InstallView(view))

    # What others ask.

    @property
    def view(self) -> View | None:
        """The current view."""
        return self.membership.transition.current

    @property
    def may_multicast(self) -> bool:
        """Whether a multicast would go out now; if not, wait for a view, or for a letter."""
        return self.is_open and self.letters.waiting_for is None

    def may_send(self, to: ProcessId) -> bool:
        """Whether a letter to this process would go out now."""
        awaited = self.letters.waiting_for
        is_other = to in self._ranks and to != self.me
        return self.is_open and is_other and (awaited is None or awaited == to)

    @property
    def owes_nothing(self) -> bool:
        """Whether nobody waits for this process, now or later."""
        return not (self.letters.owed or self._ordering.is_due(GROUP))

    @property
    def is_due(self) -> bool:
        """Whether others wait for a sets-order list or a confirmation: :meth:`pay`."""
        return self._ordering.is_due(GROUP) and self.membership.may_multicast

    @property
    def ordering(self) -> MixedDomain:
        """The ordering machine, to look into: clocks, what is held and why."""
        return self._ordering

    @property
    def stability(self) -> Stability:
        """What is known to have reached whom in the current view."""
        return self._stability

    @property
    def kept_bytes(self) -> int:
        """Payload bytes of copies kept, of this view and earlier ones."""
        return self._stability.kept_bytes + self._past.kept_bytes

    @property
    def members(self) -> tuple[ProcessId, ...]:
        """The members of the current view, by rank; none outside."""
        return self._members

    def has_member(self, process: ProcessId) -> bool:
        """Whether a process is in the current view."""
        return process in self._ranks

    @property
    def is_confirmation_due(self) -> bool:
        """Whether enough was received to tell the senders before the next heartbeat."""
        return self._received_bytes >= self._confirmed_bytes_max

    def confirm_receipts(self, now_us: int) -> list[Effect]:
        """Tell the others what was received."""
        if self.membership.latest is not None and not self.membership.is_over:
            everybody = self.membership.transition.everybody()
            self._out.send_each(everybody, self._say_alive(now_us))
        return self._out.take()

    def take_effects(self) -> list[Effect]:
        """Hand over what is to be done, in order."""
        return self._out.take()

    # What a flush asks (Copies).

    def received(self) -> list[int]:
        """Return, for each member of the current view, how many of its messages were received."""
        return self._ordering.received(GROUP)

    def unstable(self, rank: int) -> list[Run]:
        """Return the unstable runs of one member in the current view, in order."""
        return list(self._stability.copies.get(rank, ()))

    def unstable_elsewhere(self, staying: Container[ProcessId]) -> list[Run]:
        """Return the runs kept of other views, of senders that are not ``staying``."""
        later = {view.number: view.members for view in self.membership.transition.pending}
        early = (run for _, run, _ in self._early.runs if type(run) is Run and run.view in later)
        return [
            *self._past.runs(staying),
            *(
                run
                for run in early
                if run.sender < len(later[run.view]) and later[run.view][run.sender] not in staying
            ),
        ]

    # What happens: the application.

    def multicast(
        self,
        payloads: Sequence[bytes],
        order: Order,
        now_us: int,
        byte_count: int | None = None,
        *,
        uniform: bool = False,
        port: int = PORT_APPLICATION,
    ) -> list[Effect]:
        """Multicast a run, and deliver it here in its turn; only while ``may_multicast``."""
        if not self.may_multicast:
            message = "the group is between two views, or blocked: wait for the next view"
            raise UsageError(message)
        if uniform or order is Order.TOTAL or not self._ordering.is_clear(GROUP):
            self._settings.check(order, uniform=uniform)
            run, ready = self._ordering.multicast_any(
                GROUP, payloads, order, byte_count, uniform=uniform, port=port
            )
        else:
            run = self._ordering.multicast(GROUP, payloads, order, byte_count, port)
            ready = [run]
        self._sent_bytes += run.byte_count
        is_due = (
            self._sent_bytes >= ALIVE_BYTES
            or now_us - self._alive_us >= self.membership.heartbeat_us // 2
        )
        effects: list[Effect] = [self._send_run(run, now_us, is_alive_due=is_due)]
        if ready:
            effects.append(DeliverRuns(ready))
        return effects

    def _send_run(self, run: Run, now_us: int, *, is_alive_due: bool) -> SendRun:
        """Keep a copy of an own run; return the effect that sends it."""
        self._stability.keep(run)
        self._is_unsaid = True
        alive = None
        if len(self._members) == 1:
            self._stability.release_alone()
        elif is_alive_due and len(self.membership.transition.everybody()) == len(self._members):
            alive = self._say_alive(now_us)  # all whom it concerns get the run
        return SendRun(run, alive)

    def send_letter(self, to: ProcessId, payload: bytes, port: int) -> list[Effect]:
        """Send a message to one member; only while ``may_send``."""
        if not self.may_send(to):
            message = f"a letter to {to} cannot go out now: it must be another member of the view"
            raise UsageError(message)
        return [SendLetter(to, self.write_letter(to, payload, port))]

    def write_letter(self, to: ProcessId, payload: bytes, port: int) -> Letter:
        """Do the same, without wrapping it up: the letter is to be sent at once."""
        self.letters.send(to)
        return self._ordering.write_letter(GROUP, payload, port)

    def pay(self, now_us: int, *, withhold: bool = False) -> list[Effect]:
        """Tell the others what they wait for: lists, confirmations, marks, acknowledgements.

        Called when a burst of arrivals is over, so that one message serves many. Acknowledgements
        of letters to an application that reads too slowly are withheld; never the rest.
        """
        for sender, count in self.letters.say(withhold=withhold):
            self._out.send(sender, LetterTaken(count))
        if self.is_due:
            said = self._ordering.multicast_order(GROUP)
            if said is not None:
                self._say(*said, now_us)
            for rank, confirm in self._ordering.confirmations(GROUP):
                self._out.send(self._members[rank], confirm)
        return self._settled(now_us)

    def hurry(self) -> list[Effect]:
        """There is something to send: see to it that no letter holds it up for long."""
        to = self.letters.hurry()
        if to is not None:
            self._out.send(to, LetterAsked())
        return self._out.take()

    def say_last_words(self) -> None:
        """The current view is about to be left: say which turns were given in it."""
        for run, ready in self._ordering.stop(GROUP):
            self._say(run, ready, self._alive_us)

    def _say(self, run: Run, ready: list[Run], now_us: int) -> None:
        self._out.put(self._send_run(run, now_us, is_alive_due=False))
        if ready:
            self._out.put(DeliverRuns(ready))

    def leave(self, now_us: int) -> list[Effect]:
        """Ask to leave the group."""
        self.membership.leave(now_us)
        return self._settled(now_us)

    def ask_to_join(self, contact: ProcessId, now_us: int) -> list[Effect]:
        """Ask a member to be taken in."""
        self.membership.ask_to_join(contact)
        return self._settled(now_us)

    def gain_state(self, now_us: int) -> list[Effect]:
        """The application has the group's state."""
        self.membership.gain_state(now_us)
        return self._settled(now_us)

    # What happens: time and other processes.

    def tick(self, now_us: int, *, is_due: bool = False) -> list[Effect]:
        """Called every heartbeat: look who is silent; say how this process stands if that is news.

        Channels are reliable, so once is enough. ``is_due``: something was withheld before.
        """
        if self.membership.is_over:
            return []
        self.membership.tick(now_us)
        if self.membership.latest is not None and (is_due or self._has_news()):
            everybody = self.membership.transition.everybody()
            self._out.send_each(everybody, self._say_alive(now_us))
        return self._settled(now_us)

    def _standing(self) -> tuple[object, ...]:
        """Return what Alive says beside receipts."""
        membership, latest = self.membership, self.membership.latest
        agreed = latest.number if latest is not None else 0
        stable = self._stability.stable(self._stability.rank)
        return membership.transition.number, agreed, membership.is_blocked, stable

    def _has_news(self) -> bool:
        """Whether others do not know how this process stands, or somebody has not been told."""
        is_told = self._said_to is self.membership.transition.everybody()
        return self._is_unsaid or not is_told or self._said != self._standing()

    def hear_beat(self, peer: ProcessId, now_us: int) -> list[Effect]:
        """``peer`` has nothing to add: what it said last still holds, and may matter only now."""
        self.membership.hear(peer, now_us)
        alive = self._heard.get(peer)
        if alive is None or self._is_settled(peer, alive):
            return []
        self.membership.hear_alive(peer, alive, now_us)
        return self._settled(now_us)

    def _is_settled(self, peer: ProcessId, alive: Alive) -> bool:
        """Whether ``peer`` is a member of the same view, as is everybody, and nothing is to do."""
        membership = self.membership
        transition, latest = membership.transition, membership.latest
        if latest is None or transition.pending or membership.is_blocked or alive.is_blocked:
            return False
        is_same = alive.number == alive.agreed == transition.number == latest.number
        return is_same and peer in self._ranks and not transition.lingering

    def lose(self, peer: ProcessId, now_us: int, *, is_certain: bool = True) -> list[Effect]:
        """``peer`` is dead; or, if that is not certain, is given up because it takes nothing."""
        self.membership.lose(peer, now_us, is_certain=is_certain)
        return self._settled(now_us)

    def hear(self, peer: ProcessId, now_us: int) -> None:
        """Something came from ``peer``: it lives."""
        self.membership.hear(peer, now_us)

    def receive_plain(self, peer: ProcessId, run: Run) -> bool:
        """Take a run in the common case; return whether that is so: then deliver it, no more.

        The common case is a plain run of the current view by its own sender, which lacks nothing
        and for which nothing waits, with no newer view agreed on and little unconfirmed. Every run
        at every member passes here. If it is not so, nothing has happened.
        """
        if (
            run.view != self._plain_view
            or run.sender >= len(self._members)
            or self._members[run.sender] != peer
            or self._received_bytes + run.byte_count >= self._confirmed_bytes_max
            or self._stability.kept_bytes > self._unstable_bytes_max
            or not self._ordering.receive_plain(run)
        ):
            return False
        self._stability.keep(run)
        self._received_bytes += run.byte_count
        self._is_unsaid = True
        return True

    def take_run(
        self, peer: ProcessId, run: Run, now_us: int, *, relayed: bool = False
    ) -> list[Effect]:
        """Take a run, the long way: also relayed ones, and while a view is being left."""
        membership = self.membership
        transition = membership.transition
        if peer == self.me:
            message = f"another process claims to be {peer}"
            raise PeerError(message)
        membership.hear(peer, now_us)
        if membership.is_over or not membership.takes_from(peer, run.view):
            return []
        if relayed:
            membership.flush.take_copies(peer, [run])
        elif run.view == transition.number and not self._is_of(peer, run):
            message = f"a run of member {run.sender} comes from another process, {peer}"
            raise PeerError(message)
        if run.view > transition.number:
            self._early.keep(peer, run, relayed=relayed)
        elif run.view == transition.number:
            fresh = self._take_fresh(run)
            if fresh is not None and transition.pending:
                membership.flush.take_runs([fresh])
        return self._settled(now_us)

    def _is_of(self, peer: ProcessId, run: Run) -> bool:
        """Whether ``peer`` is the sender that a run of the current view names."""
        return run.sender < len(self._members) and self._members[run.sender] == peer

    def _take_fresh(self, run: Run) -> Run | None:
        """Take what is new in a run; return it."""
        size = len(self._members)
        if run.sender >= size:
            message = f"a run claims sender number {run.sender} in a view of {size}"
            raise PeerError(message)
        count = self._ordering.received_of(GROUP, run.sender)
        if run.last <= count:
            return None
        fresh = run if run.first > count else run.after(count)
        ready = self._ordering.receive(fresh)
        self._stability.keep(fresh)
        self._received_bytes += fresh.byte_count
        self._is_unsaid = True
        if ready:
            self._out.put(DeliverRuns(ready))
        return fresh

    def take_control(self, peer: ProcessId, message: AnyMessage, now_us: int) -> list[Effect]:
        """Take a control message."""
        if peer == self.me:
            claim = f"another process claims to be {peer}"
            raise PeerError(claim)
        if isinstance(message, Beat):
            return self.hear_beat(peer, now_us)
        if isinstance(message, Alive):
            self._heard[peer] = message
            self.membership.hear_alive(peer, message, now_us)
            self._take_alive(peer, message)
        elif isinstance(message, Confirm):
            self.membership.hear(peer, now_us)
            self._take_confirm(peer, message)
        elif isinstance(message, LetterTaken):
            self.membership.hear(peer, now_us)
            self.letters.acknowledge(peer, message.count)
        elif isinstance(message, LetterAsked):
            self.membership.hear(peer, now_us)
            self.letters.hear_hurry(peer)
        else:
            self.membership.receive(peer, message, now_us)
        return self._settled(now_us)

    def _take_confirm(self, peer: ProcessId, confirm: Confirm) -> None:
        """Take what a member confirms; while the view is being left, that is not needed.

        Of a later view it cannot be: nothing is marked there before this process confirms it.
        """
        transition = self.membership.transition
        if confirm.number != transition.number or transition.pending or peer not in self._ranks:
            return
        ready = self._ordering.confirm(GROUP, self._ranks[peer], confirm)
        if ready:
            self._out.put(DeliverRuns(ready))

    def take_letter(self, peer: ProcessId, letter: Letter, now_us: int) -> list[Effect]:
        """Take a letter; it is acknowledged when all that came with it has been taken."""
        membership = self.membership
        if peer == self.me or letter.group != GROUP or letter.view < 1:
            message = f"{peer} sends a letter that cannot be for this process"
            raise PeerError(message)
        membership.hear(peer, now_us)
        if membership.is_over or not membership.takes_from(peer, letter.view):
            return []
        if letter.view > membership.transition.number:
            self._early.keep(peer, letter, relayed=False)
        else:
            self._read_letter(peer, letter)
        self.letters.receive(peer, is_reply=letter.port == PORT_CALLS)
        return self._settled(now_us)

    def _read_letter(self, peer: ProcessId, letter: Letter) -> None:
        """Deliver a letter, or hold it; one of an earlier view lacks nothing any more."""
        if not self.letters.is_known(peer, letter):
            return  # of long ago, or of before this process came
        is_current = letter.view == self.membership.transition.number
        ready: list[Run] = self._ordering.receive_letter(letter) if is_current else [letter]
        if ready:
            self._out.put(DeliverRuns(ready))

    # Stability.

    def _say_alive(self, now_us: int) -> Alive:
        self._alive_us = now_us
        self._received_bytes = self._sent_bytes = 0
        self._is_unsaid = False
        self._said = self._standing()
        self._said_to = self.membership.transition.everybody()
        latest = self.membership.latest
        agreed = latest.number if latest is not None else 0
        is_blocked = self.membership.is_blocked
        if self.view is None:  # taken in, but still to install the first view
            return Alive(0, (), 0, agreed, is_blocked)
        received = self._ordering.received(GROUP)
        number = self.membership.transition.number
        return self._stability.alive(number, received, agreed, is_blocked=is_blocked)

    def _take_alive(self, peer: ProcessId, alive: Alive) -> None:
        number = self.membership.transition.number
        if alive.number > number:
            self._early.keep_alive(peer, alive)
        elif alive.number == number and (rank := self._ranks.get(peer)) is not None:
            is_fair = alive.stable <= self._ordering.received_of(GROUP, rank)
            sent = self._ordering.received_of(GROUP, self._stability.rank)
            if not is_fair or not self._stability.learn(rank, alive, sent):
                message = f"{peer} claims to have received what was never multicast"
                raise PeerError(message)
        self._drop_past()

    def _drop_past(self) -> None:
        """Drop the copies of views that everybody else has left."""
        if self._past:
            everybody = self.membership.transition.everybody()
            others = (member for member in everybody if member != self.me)
            self._past.drop(others, self.membership.view_of)

    # Views.

    def _settled(self, now_us: int) -> list[Effect]:
        """Install what may be installed; return all effects of the step."""
        membership = self.membership
        while (view := membership.next_installable()) is not None:
            self._install(view, now_us)
        is_plain = not membership.transition.pending and not membership.is_over
        self._plain_view = membership.transition.number if is_plain else 0
        self.is_open = membership.may_multicast
        return self._out.take()

    def _install(self, view: View, now_us: int) -> None:
        membership = self.membership
        before = membership.transition.current
        if before is not None:
            left_over = self._ordering.finish(GROUP)
            if left_over:
                self._out.put(DeliverRuns(left_over))
            if membership.flush.keeps_copies:
                self._past.keep(before, self._stability)
        membership.enter()
        self._out.put(InstallView(view))
        if self.me in view.members:
            self._begin(view)
            self._take_early(view)
            self._drop_past()  # who is alone now hears of nobody any more
        else:  # the last word of a leaver: it needs nothing more
            farewell = Alive(view.number, (), 0, view.number)
            self._out.send_each(membership.transition.everybody(), farewell)
        membership.settle(now_us)

    def _begin(self, view: View) -> None:
        rank = view.rank_of(self.me)
        has_holder = not self.membership.transition.pending
        self._ordering.advance(GROUP, view, rank, has_holder=has_holder)
        self.letters.enter(view)
        self._stability = Stability(len(view.members), rank)
        self._members = view.members
        self._ranks = {member: place for place, member in enumerate(view.members)}
        everybody = self.membership.transition.everybody()
        self._heard = {who: said for who, said in self._heard.items() if who in everybody}
        self._plain_view = view.number if not self.membership.transition.pending else 0
        self.is_open = self.membership.may_multicast

    def _take_early(self, view: View) -> None:
        """Take what came too early, in the order in which it came."""
        for peer, run, relayed in self._early.take_runs():
            if run.view > view.number:
                self._early.keep(peer, run, relayed=relayed)
            elif run.view == view.number and (relayed or self._is_of(peer, run)):
                # Whoever sent nonsense earlier must not spoil what others did right.
                with suppress(PeerError):
                    if isinstance(run, Letter):
                        self._read_letter(peer, run)
                    else:
                        self._take_fresh(run)
        for peer, messages in self._early.take_alive():
            with suppress(PeerError):
                for message in messages:
                    self._take_alive(peer, message)
