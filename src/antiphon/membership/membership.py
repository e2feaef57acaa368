"""Membership of one process in one group: from suspicion or request to the next view.

    FailureDetector   whom have I not heard of?          -> Ask the coordinator
    Changes           who shall be in the next view?     -> propose it
    Agreement         what is the next view?             -> a decided view is pending
    Flush             may it be installed?               -> InstallView
    Coordination      who leads, and is it blocked?
    Probing           is it out, if it is blocked?
    JoinRequests      who may join?
    Roster            who is gone, and how far are the others?
    Departure            is this process out?               -> LeaveGroup

Law: views are installed in the order agreed on, one by one. A process that learns that it failed
in the eyes of the others, or that the group goes on under a later lineage (``takeover``), stops at
once; it can come back as a new incarnation.
"""

from collections.abc import Callable, Mapping

from antiphon.core.control import (
    Accept,
    Alive,
    AnyMessage,
    Ask,
    Decide,
    Install,
    JoinRefused,
    JoinRequest,
    Out,
    Promise,
    Reject,
    Report,
    Standing,
    Want,
)
from antiphon.core.control import Flush as FlushMessage
from antiphon.core.errors import PeerError, UsageError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.agreement import AGREEMENT_MESSAGES, Agreement
from antiphon.membership.attention import Attention, Neighbours
from antiphon.membership.changes import Changes, certainly_dead
from antiphon.membership.coordination import Coordination
from antiphon.membership.effects import (
    Outbox,
    SuspectProcess,
)
from antiphon.membership.ending import Departure
from antiphon.membership.failure_detector import BLOCKED, DEAF, FailureDetector, Timing
from antiphon.membership.flush_inbox import FlushInbox
from antiphon.membership.join_requests import JoinRequests
from antiphon.membership.probing import Probing
from antiphon.membership.pulses import Pulses
from antiphon.membership.roster import Roster
from antiphon.membership.takeover import Takeover
from antiphon.membership.transition import Copies, Flush, Transition

FlushMaker = Callable[[Outbox, Transition, Copies], Flush]

PLACES_SAID = 16
"""Members whose places are told to who asks."""

LEAVE_TIMEOUTS = 20
"""Timeouts for which a leaver waits for a flush that may go on without it."""


class Membership:
    """The membership machine of one process in one group."""

    def __init__(
        self,
        outbox: Outbox,
        transition: Transition,
        timing: Timing,
        make_flush: FlushMaker,
        copies: Copies,
        now_us: int,
        pulses: Pulses | None = None,
        *,
        former: Mapping[ProcessId, int] | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        """Begin in the current view, agreed on beforehand, or outside; ``pulses`` may be shared.

        ``former`` members failed, each in the view given, as earlier incarnations knew. With
        ``neighbours``, only these are watched in calm.
        """
        self._out = outbox
        self._me = outbox.me
        self._timing = timing
        self.transition = transition
        view = transition.current
        self._agreement = Agreement(outbox, view)
        pulses = pulses if pulses is not None else Pulses(now_us)
        self._pulses = pulses
        self._changes = Changes(outbox.me, pulses.is_dead)
        self.attention = Attention(outbox, transition, timing, neighbours)
        """Whom this process watches, and needs channels with."""
        is_sparse = self.attention.is_sparse
        self._detector = FailureDetector(timing, now_us, pulses, is_sparse=is_sparse)
        self.hear = self._detector.hear
        """Something came from a process: it lives."""
        self._probing = Probing(outbox, timing, self._detector)
        self._copies = copies
        self.flush = make_flush(outbox, transition, copies)
        """The flush, for runs that arrive while it goes on."""
        self.roster = Roster(transition, former or {}, pulses.failures)
        """Who is gone, and how far the others are."""
        self._flush_inbox = FlushInbox(self.flush, transition, self.roster)
        self._join_requests = JoinRequests(outbox, self._agreement, self._changes, self._detector)
        self.coordination = Coordination(
            outbox, timing, self._agreement, self._changes, self._detector, transition,
            self.roster.view_of,
        )  # fmt: skip
        self.ending = Departure(outbox, transition, self._agreement)
        """How this process's part in the group ends."""
        self.takeover = Takeover(
            outbox.me, transition, self._agreement, self._changes, self.coordination, self._probing,
            copies,
        )  # fmt: skip
        self._left_us: int | None = None
        if view is None:
            self._changes.has_state = False
        else:
            self._watch(now_us)

    # What others ask.

    @property
    def is_blocked(self) -> bool:
        """Whether too few members can be reached to decide anything."""
        return self.coordination.is_blocked

    @property
    def is_over(self) -> bool:
        """Whether this process is out of the group."""
        return self.ending.is_over

    @property
    def latest(self) -> View | None:
        """The last view agreed on."""
        return self._agreement.latest

    @property
    def is_idle(self) -> bool:
        """Whether nobody wants to change anything, is suspected, waited for or to be told."""
        return self.coordination.is_idle and not self.takeover.is_telling

    @property
    def accepted(self) -> View | None:
        """The proposal that this process accepted last, if any."""
        return self._agreement.accepted

    @property
    def may_multicast(self) -> bool:
        """Whether the process is in a view that nobody is leaving."""
        current = self.transition.current
        return (
            current is not None
            and not self.transition.pending
            and not self.is_blocked
            and not self.is_over
            and self._me in current.members
        )

    @property
    def heartbeat_us(self) -> int:
        """How often to let hear of oneself, in a group of this size."""
        return self._detector.heartbeat_us

    @property
    def patience_us(self) -> int:
        """The longest silence that this process bears of anybody now."""
        return self._detector.patience_us

    @property
    def suspected(self) -> list[ProcessId]:
        """Whom this process suspects now."""
        return list(self._detector.suspected)

    # What happens.

    def hear_alive(self, peer: ProcessId, alive: Alive, now_us: int) -> None:
        """``peer`` says which view it is in, and which it knows last: catch up, or tell it."""
        self._detector.hear(peer, now_us)
        self._detector.note(peer, BLOCKED, now_us, is_so=alive.is_blocked)
        self.roster.note_view(peer, alive.number)
        if self.is_over:
            return
        if peer in self.roster.gone:
            self._out.send(peer, Out(self.roster.gone[peer]))
        elif self.latest is not None and alive.agreed > self.latest.number:
            self._out.send(peer, Want(self.latest.number))
        if alive.number >= self.transition.lingering.get(peer, alive.number + 1):
            self._forget_leaver(peer, now_us)
        elif self.roster.is_forgotten(peer):
            # A leaver that was forgotten too soon: it waits to hear that it may go.
            number = self.transition.number
            self._out.send(peer, Alive(number, (), 0, number))
            self.flush.dismiss(peer, self.roster.left[peer])

    def _forget_leaver(self, process: ProcessId, now_us: int) -> None:
        if self.transition.forget(process):
            self._watch(now_us)

    def tick(self, now_us: int) -> None:
        """A heartbeat has passed: look at the clock."""
        for process in self._detector.check(now_us):
            self._out.put(SuspectProcess(process))
            self._forget_leaver(process, now_us)
        self.coordination.forget_history()
        patience_us = LEAVE_TIMEOUTS * self._timing.timeout_us
        if self._left_us is not None and now_us - self._left_us > patience_us:
            self.ending.end("it left, but could not learn what the others delivered last")
        self._coordinate(now_us)
        if self.latest is not None and not self.is_over:
            self._probing.look(self.latest.members, now_us, is_blocked=self.is_blocked)

    def lose(self, peer: ProcessId, now_us: int, *, is_certain: bool = True) -> None:
        """``peer`` is dead; or, if that is not certain, is given up because it takes nothing."""
        self._changes.drop_joiner(peer)
        if is_certain:
            self._probing.forget(peer)
        else:
            self._probing.give_up(peer, now_us)
        if self._detector.condemn(peer):
            self._out.put(SuspectProcess(peer))
        self._forget_leaver(peer, now_us)
        self._coordinate(now_us)

    def ask_to_join(self, contact: ProcessId) -> None:
        """Ask a member to be taken in."""
        if self.latest is None and not self.is_over:
            self._out.send(contact, JoinRequest(self._me))

    def leave(self, now_us: int) -> None:
        """Ask to leave; the process takes part until the view without it is installed."""
        self._changes.is_leaving = True
        self._coordinate(now_us)

    def take_over(self, step: int, now_us: int) -> None:
        """Go on alone, under a new lineage, with all others excluded: an operator says so."""
        if why := "it is out of it" if self.is_over else self.takeover.obstacle:
            message = f"{self._me} cannot take the group over: {why}"
            raise UsageError(message)
        self.coordination.announce(self.takeover.begin(step, now_us))
        self._watch(now_us)
        assert not self.is_blocked, "it is all the group there is"

    def gain_state(self, now_us: int) -> None:
        """The process has the group's state now."""
        self._changes.has_state = True
        self._coordinate(now_us)

    def receive(self, peer: ProcessId, message: AnyMessage, now_us: int) -> None:
        """Take a control message."""
        if self.is_over:
            return
        if isinstance(message, Standing):
            if self._probing.hear(peer, message, now_us):
                self._coordinate(now_us)
            return
        self._detector.hear(peer, now_us)
        match message:
            case JoinRequest(process):
                self._on_join_request(peer, process, now_us)
            case JoinRefused(why, next_incarnation):
                self.ending.hear_refusal(why, next_incarnation)
            case Out(number):
                self.ending.hear_out(number)
            case _ if peer in self.roster.gone:
                self._out.send(peer, Out(self.roster.gone[peer]))
            case _:
                self._take_from_member(peer, message, now_us)
        self._coordinate(now_us)

    def _take_from_member(self, peer: ProcessId, message: AnyMessage, now_us: int) -> None:
        """Take a message that only members send each other."""
        match message:
            case Decide((*_, view)) if self.latest is not None and (
                view.lineage > self.latest.lineage
            ):
                self.ending.end_without(view.number)
            case Ask(suspected):
                if peer in self.transition.everybody():
                    self._detector.note(peer, DEAF, now_us, is_so=self._me in suspected)
                    self._changes.take(peer, message)
            case FlushMessage() | Report() | Install():
                self._flush_inbox.take(peer, message)
            case _ if isinstance(message, AGREEMENT_MESSAGES):
                if isinstance(message, Promise | Accept | Reject):
                    self.coordination.hear_vote(now_us)
                views = self._agreement.receive(peer, message)
                self._learn(views, now_us, is_decider=not isinstance(message, Decide))
            case _:
                unexpected = f"{type(message).__name__} is no message of the membership"
                raise PeerError(unexpected)

    def answer(
        self, process: ProcessId, view_number: int, *, has_channel: bool
    ) -> Out | Standing | None:
        """Return what to tell who asks, knowing views up to ``view_number``; None: not a member."""
        latest = self.latest
        if latest is None or self.is_over:
            return None
        if excluded := self.roster.excluded_in(process):
            return Out(excluded)
        is_known = process in latest.members
        if 0 < view_number <= latest.number and not is_known and not has_channel:
            return Out(latest.number)
        places = tuple(who.place for who in latest.members if who != process)
        return Standing(latest.number, self.is_blocked, is_known, places[:PLACES_SAID])

    def _on_join_request(self, peer: ProcessId, process: ProcessId, now_us: int) -> None:
        dead = self._join_requests.take(process) if peer == process else None
        if dead is not None:
            self.lose(dead, now_us)

    # From decided to installed.

    def _learn(self, views: list[View], now_us: int, *, is_decider: bool) -> None:
        for view in views:
            assert not self.is_over, "who is out learns nothing more"
            if is_decider:
                self.coordination.announce(view)
            self.coordination.learn(view)
            self._changes.learn(view)
            for who in certainly_dead(view):
                self._pulses.note_death(who)
            if self._me in view.failed:
                self.coordination.tell_last(view)
                self.ending.end_without(view.number)
                return
            if self._me in view.left:
                self._left_us = now_us
            if not self.transition.pending:
                self._copies.say_last_words()  # ahead of anything the flush sends (000-10)
            self.transition.learn(view)
            self._watch(now_us)
            self.flush.learn()
            self._flush_inbox.take_early()

    def next_installable(self) -> View | None:
        """Return the next view if the flush permits it."""
        pending = self.transition.pending
        if self.is_over or not pending:
            return None
        current = self.transition.current
        if current is not None and pending[0].lineage > current.lineage:
            return pending[0]  # there is nobody to leave the view before with
        if pending[0].number > self.flush.installable:
            return None
        if self.flush.keeps_copies and self._me not in pending[0].members:
            # A leaver holds copies that others may need: it goes last (000-17 f).
            staying = [who for who in self.transition.participants() if who in pending[-1].members]
            if any(self.roster.view_of(who) < pending[0].number for who in staying):
                return None
        return pending[0]

    def enter(self) -> None:
        """The next view becomes the current one."""
        first, current = self.transition.pending[0], self.transition.current
        is_taken_over = current is not None and first.lineage > current.lineage
        is_permitted = self.flush.installable >= first.number or is_taken_over
        assert is_permitted, "the flush permits it, or an operator"
        view = self.transition.enter()
        self.transition.forget(self._me)
        self._probing.meet(view.members)
        self.roster.enter(view)

    def settle(self, now_us: int) -> None:
        """Everything received of the current view has been taken: look what follows."""
        current = self.transition.current
        assert current is not None, "a view has been entered"
        if self._me not in current.members:
            self.ending.end("")
            return
        self._watch(now_us)
        self.flush.installed()
        self._coordinate(now_us)

    def _watch(self, now_us: int) -> None:
        everybody, watches = self.transition.everybody(), self.attention.watches
        watched = [process for process in everybody if process != self._me and watches(process)]
        self._detector.watch(watched, now_us)

    # Attention, where members do not watch everybody all the time.

    def attend(self, now_us: int, *, has_reason: bool) -> None:
        """Everything that has happened has been taken: look whether there is reason for alarm.

        ``has_reason``: there is something to be said, or something is wrong with a member that may
        not be watched.
        """
        transition, number = self.transition, self.transition.number
        is_between = transition.current is None or bool(transition.pending)
        is_settled = self.coordination.is_settled
        others = (who for who in transition.everybody() if who != self._me)
        is_calm = is_settled and not is_between and not has_reason
        is_calm = is_calm and all(self.roster.view_of(who) >= number for who in others)
        if self.attention.look(now_us, has_reason=not is_calm):
            self._watch(now_us)
        self.attention.tell()

    # Coordinating.

    def _coordinate(self, now_us: int) -> None:
        latest = self.latest
        if latest is None or self.is_over or self._me not in latest.members:
            return
        self.coordination.look(latest, now_us)
        if not self._dissolve(latest):
            self._learn(self.coordination.go_on(latest, now_us), now_us, is_decider=True)

    def _dissolve(self, latest: View) -> bool:
        """The last member may leave at once: there is nobody to agree with."""
        is_last = latest.members == (self._me,) and not self.transition.pending
        if is_last and self._changes.is_leaving:
            # Who left before may still wait to hear how far this process is.
            farewell = Alive(latest.number, (), 0, latest.number)
            self._out.send_each(self.transition.everybody(), farewell)
            self.ending.end("")
        return self.is_over
