"""A member: one process in one dynamic group, composed.

    application   MulticastRequested   LeaveRequested          DeliverRuns  InstallView  BlockGroup
                         |                   |                      ^            ^
    order          VectorDomain  <-----------|------- runs ---------+            |
    copies         Stability                 |                                   |
    views                           Membership: detector, agreement, flush ------+
                         |                   |                      ^
    transport         SendRun      SendControl, RelayRuns     RunReceived, ControlReceived

Law: virtual synchrony. Messages and views come in one stream of effects; a message is delivered
in the view in which it was multicast, and nothing is multicast while a view is being left.

A run is taken if it is of the current view, from a process that has not failed in a view agreed
on since; kept if of a later view; dropped otherwise. What is received twice, from its sender and
from a relay, is cut to what is new.
"""

from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, field

from antiphon.core.control import Alive, AnyMessage
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import GroupNumber, ProcessId
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.membership.all_to_all_flush import AllToAllFlush
from antiphon.membership.coordinator_flush import CoordinatorFlush
from antiphon.membership.effects import DeliverRuns, Effect, InstallView, Outbox, SendRun
from antiphon.membership.failure_detector import Timing
from antiphon.membership.membership import FlushMaker, Membership
from antiphon.membership.view_atomic_flush import ViewAtomicFlush
from antiphon.ordering.stability import Stability
from antiphon.ordering.vector import VectorDomain

FLUSHES: dict[str, FlushMaker] = {
    "view-atomic": ViewAtomicFlush,
    "coordinator": CoordinatorFlush,
    "all-to-all": AllToAllFlush,
}
"""Ways to leave a view, by name; the first is the default."""

ALIVE_BYTES = 1024 * 1024
"""Bytes received after which the senders are told, without waiting for the heartbeat."""

EARLY_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of one process kept of views that are not installed yet: more is no correct process."""

EARLY_ALIVE_MAX = 10_000

_EARLY_RUN_BYTES = 256

GROUP = GroupNumber(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all members of a group must have in common."""

    flush: str = "view-atomic"
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        """Refuse what does not exist."""
        if self.flush not in FLUSHES:
            message = f"there is no flush {self.flush!r}: choose one of {', '.join(FLUSHES)}"
            raise UsageError(message)


class Member:
    """One process in one dynamic group."""

    def __init__(self, me: ProcessId, view: View | None, settings: Settings, now_us: int) -> None:
        """Begin in ``view``, agreed on beforehand by all its members, or outside."""
        self.me = me
        self._out = Outbox(me)
        self._ordering = VectorDomain()
        self._stability = Stability(1, 0)
        self._past: list[tuple[View, Stability]] = []
        self._early: list[tuple[ProcessId, Run, bool]] = []
        self._early_bytes: dict[ProcessId, int] = {}
        self._early_alive: dict[ProcessId, list[Alive]] = {}
        self._received_bytes = self._sent_bytes = 0
        self._alive_us = now_us
        self._members: tuple[ProcessId, ...] = ()
        self._ranks: dict[ProcessId, int] = {}
        self._plain_view = 0
        self.membership = Membership(
            self._out, view, settings.timing, FLUSHES[settings.flush], self, now_us
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
        """Whether a multicast would go out now; if not, wait for the next view."""
        return self.membership.may_multicast

    @property
    def ordering(self) -> VectorDomain:
        """The ordering machine, to look into: clocks, what is held and why."""
        return self._ordering

    @property
    def stability(self) -> Stability:
        """What is known to have reached whom in the current view."""
        return self._stability

    @property
    def kept_bytes(self) -> int:
        """Payload bytes of copies kept, of this view and earlier ones."""
        return self._stability.kept_bytes + sum(past.kept_bytes for _, past in self._past)

    @property
    def is_alive_due(self) -> bool:
        """Whether enough was received to tell the senders before the next heartbeat."""
        return self._received_bytes >= ALIVE_BYTES

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
        return [
            run
            for view, past in self._past
            for rank, copies in past.copies.items()
            if view.members[rank] not in staying
            for run in copies
        ] + [
            run
            for _, run, _ in self._early
            if run.view in later
            and run.sender < len(later[run.view])
            and later[run.view][run.sender] not in staying
        ]

    # What happens: the application.

    def multicast(
        self, payloads: list[bytes], order: Order, now_us: int, byte_count: int | None = None
    ) -> list[Effect]:
        """Multicast a run and deliver it here; only while ``may_multicast``."""
        if not self.membership.may_multicast:
            message = "the group is between two views, or blocked: wait for the next view"
            raise UsageError(message)
        run = self._ordering.multicast(GROUP, payloads, order, byte_count)
        self._stability.keep(run)
        alive = None
        self._sent_bytes += run.byte_count
        is_due = (
            self._sent_bytes >= ALIVE_BYTES
            or now_us - self._alive_us >= self.membership.heartbeat_us // 2
        )
        if len(self._members) == 1:
            self._stability.release_alone()
        elif is_due and len(self.membership.transition.everybody()) == len(self._members):
            alive = self._say_alive(now_us)  # all whom it concerns get the run
        return [SendRun(run, alive), DeliverRuns([run])]

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

    def tick(self, now_us: int) -> list[Effect]:
        """Called every heartbeat: look who is silent, and be heard."""
        if self.membership.is_over:
            return []
        self.membership.tick(now_us)
        if self.membership.latest is not None and (
            now_us - self._alive_us >= self.membership.heartbeat_us or self.is_alive_due
        ):
            everybody = self.membership.transition.everybody()
            self._out.send_each(everybody, self._say_alive(now_us))
        return self._settled(now_us)

    def lose(self, peer: ProcessId, now_us: int) -> list[Effect]:
        """``peer`` is certainly dead."""
        self.membership.lose(peer, now_us)
        return self._settled(now_us)

    def hear(self, peer: ProcessId, now_us: int) -> None:
        """Something came from ``peer``: it lives."""
        self.membership.hear(peer, now_us)

    def receive(self, peer: ProcessId, run: Run) -> list[Run] | None:
        """Take a run in the common case; return what to deliver, or None for the long way.

        The common case is a run of the current view by its own sender, with no newer view
        agreed on. Every run at every member passes here: no effects are wrapped.
        """
        if (
            run.view != self._plain_view
            or run.sender >= len(self._members)
            or self._members[run.sender] != peer
        ):
            return None
        try:
            ready = self._ordering.receive(run)
        except PeerError:  # perhaps only a copy came first: the long way tells
            return None
        self._stability.keep(run)
        self._received_bytes += run.byte_count
        return ready

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
            self._keep_early(peer, run, relayed=relayed)
        elif run.view == transition.number:
            fresh = self._take_fresh(run)
            if fresh is not None and transition.pending:
                membership.flush.take_runs([fresh])
        return self._settled(now_us)

    def _is_of(self, peer: ProcessId, run: Run) -> bool:
        """Whether ``peer`` is the sender that a run of the current view names."""
        return run.sender < len(self._members) and self._members[run.sender] == peer

    def _keep_early(self, peer: ProcessId, run: Run, *, relayed: bool) -> None:
        """Keep a run of a later view; who it is from is checked when the view begins."""
        kept = self._early_bytes.get(peer, 0) + run.byte_count + _EARLY_RUN_BYTES
        if kept > EARLY_BYTES_MAX:
            message = f"{peer} sends ever more of a view that is not installed here"
            raise PeerError(message)
        self._early_bytes[peer] = kept
        self._early.append((peer, run, relayed))

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
        if ready:
            self._out.put(DeliverRuns(ready))
        return fresh

    def take_control(self, peer: ProcessId, message: AnyMessage, now_us: int) -> list[Effect]:
        """Take a control message."""
        if peer == self.me:
            claim = f"another process claims to be {peer}"
            raise PeerError(claim)
        if isinstance(message, Alive):
            self.membership.hear_alive(peer, message, now_us)
            self._take_alive(peer, message)
            return self._settled(now_us)
        self.membership.receive(peer, message, now_us)
        return self._settled(now_us)

    # Stability.

    def _say_alive(self, now_us: int) -> Alive:
        self._alive_us = now_us
        self._received_bytes = self._sent_bytes = 0
        latest = self.membership.latest
        agreed = latest.number if latest is not None else 0
        if self.view is None:  # taken in, but still to install the first view
            return Alive(0, (), 0, agreed)
        received = self._ordering.received(GROUP)
        return self._stability.alive(self.membership.transition.number, received, agreed)

    def _take_alive(self, peer: ProcessId, alive: Alive) -> None:
        number = self.membership.transition.number
        if alive.number > number:
            kept = self._early_alive.setdefault(peer, [])
            if len(kept) >= EARLY_ALIVE_MAX:
                message = f"{peer} speaks ever more of a view that is not installed here"
                raise PeerError(message)
            kept.append(alive)
        elif alive.number == number and (rank := self._ranks.get(peer)) is not None:
            is_fair = alive.stable <= self._ordering.received_of(GROUP, rank)
            sent = self._ordering.received_of(GROUP, self._stability.rank)
            if not is_fair or not self._stability.learn(rank, alive, sent):
                message = f"{peer} claims to have received what was never multicast"
                raise PeerError(message)
        if self._past:
            self._drop_past()

    def _drop_past(self) -> None:
        """Drop the copies of views that every member is known to have left."""
        self._past = [
            (view, past)
            for view, past in self._past
            if any(
                member != self.me and self.membership.view_of(member) <= view.number
                for member in self.membership.transition.everybody()
                if member in view.members
            )
        ]

    # Views.

    def _settled(self, now_us: int) -> list[Effect]:
        """Install what may be installed; return all effects of the step."""
        membership = self.membership
        while (view := membership.next_installable()) is not None:
            self._install(view, now_us)
        is_plain = not membership.transition.pending and not membership.is_over
        self._plain_view = membership.transition.number if is_plain else 0
        return self._out.take()

    def _install(self, view: View, now_us: int) -> None:
        membership = self.membership
        before = membership.transition.current
        if before is not None and membership.flush.keeps_copies:
            self._past.append((before, self._stability))
        membership.enter()
        self._out.put(InstallView(view))
        if self.me in view.members:
            self._begin(view)
            self._take_early(view)
        else:  # the last word of a leaver: it needs nothing more
            farewell = Alive(view.number, (), 0, view.number)
            self._out.send_each(membership.transition.everybody(), farewell)
        membership.settle(now_us)

    def _begin(self, view: View) -> None:
        rank = view.rank_of(self.me)
        self._ordering.advance(GROUP, view, rank)
        self._stability = Stability(len(view.members), rank)
        self._members = view.members
        self._ranks = {member: place for place, member in enumerate(view.members)}
        self._plain_view = view.number if not self.membership.transition.pending else 0

    def _take_early(self, view: View) -> None:
        """Take what came too early, in the order in which it came."""
        early, self._early, self._early_bytes = self._early, [], {}
        for peer, run, relayed in early:
            if run.view > view.number:
                self._keep_early(peer, run, relayed=relayed)
            elif run.view == view.number and (relayed or self._is_of(peer, run)):
                # Whoever sent nonsense earlier must not spoil what others did right.
                with suppress(PeerError):
                    self._take_fresh(run)
        alive, self._early_alive = self._early_alive, {}
        for peer, messages in alive.items():
            with suppress(PeerError):
                for message in messages:
                    self._take_alive(peer, message)
