"""Membership of one process in one group: from suspicion or request to the next view.

    FailureDetector   whom have I not heard of?          -> Ask the coordinator
    Changes           who shall be in the next view?     -> propose it
    Agreement         what is the next view?             -> a decided view is pending
    Flush             may it be installed?               -> InstallView
    Coordination      who leads, and is it blocked?
    Probing           is it out, if it is blocked?

Law: views are installed in the order agreed on, one by one. A process that learns that it failed
in the eyes of the others, or that the group goes on under a later lineage (``takeover``), stops at
once; it can come back as a new life.
"""

from collections import deque
from collections.abc import Callable

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
from antiphon.core.views import NUMBER_MAX, View, lineage_of, say_number
from antiphon.membership.agreement import AGREEMENT_MESSAGES, Agreement
from antiphon.membership.changes import Changes
from antiphon.membership.coordination import Coordination
from antiphon.membership.effects import (
    LeaveGroup,
    Outbox,
    ProbeProcess,
    RestoreProcess,
    SuspectProcess,
)
from antiphon.membership.failure_detector import BLOCKED, DEAF, FailureDetector, Timing
from antiphon.membership.probing import Probing
from antiphon.membership.takeover import Takeover
from antiphon.membership.transition import Copies, Flush, Transition

FlushMaker = Callable[[Outbox, Transition, Copies], Flush]

EARLY_MAX = 4096
"""Flush messages kept of processes that are in no view known here, the latest ones."""

GONE_MAX = 1024
"""Former members that are remembered, to tell them so when they speak."""

PLACES_SAID = 16
"""Members whose places are told to who asks."""


class Membership:
    """The membership machine of one process in one group."""

    def __init__(
        self,
        outbox: Outbox,
        view: View | None,
        timing: Timing,
        make_flush: FlushMaker,
        copies: Copies,
        now_us: int,
    ) -> None:
        """Begin in ``view``, agreed on beforehand, or outside."""
        self._out = outbox
        self._me = outbox.me
        self._timing = timing
        self.transition = Transition(view)
        self._agreement = Agreement(outbox, view)
        self._changes = Changes(outbox.me)
        self._detector = FailureDetector(timing, now_us)
        self._probing = Probing(timing)
        self._copies = copies
        self._flush = make_flush(outbox, self.transition, copies)
        self._gone: dict[ProcessId, int] = {}
        self._left: dict[ProcessId, int] = {}
        self._early: deque[tuple[ProcessId, FlushMessage | Report | Install]]
        self._early = deque(maxlen=EARLY_MAX)
        self._in_view: dict[ProcessId, int] = {}
        self._coordination = Coordination(
            outbox, timing, self._agreement, self._changes, self._detector, self.transition,
            self.view_of,
        )  # fmt: skip
        self.takeover = Takeover(
            outbox.me, self.transition, self._agreement, self._changes, self._coordination,
            self._probing, copies,
        )  # fmt: skip
        self._left_us: int | None = None
        self.is_over = False
        if view is None:
            self._changes.has_state = False
        else:
            self._watch(now_us)

    # What others ask.

    @property
    def is_blocked(self) -> bool:
        """Whether too few members can be reached to decide anything."""
        return self._coordination.is_blocked

    @property
    def latest(self) -> View | None:
        """The last view agreed on."""
        return self._agreement.latest

    def has_accepted(self, process: ProcessId) -> bool:
        """Whether the proposal that this process accepted last has ``process`` as a member."""
        accepted = self._agreement.accepted
        return accepted is not None and process in accepted.members

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

    def takes_from(self, peer: ProcessId, view_number: int) -> bool:
        """Whether messages of a view that come from ``peer`` still count (003-3, 000-17 b)."""
        return peer not in self._gone and not any(
            peer in view.failed for view in self.transition.pending if view.number > view_number
        )

    # What happens.

    def hear(self, peer: ProcessId, now_us: int) -> None:
        """Something came from ``peer``: it lives."""
        self._detector.hear(peer, now_us)

    def hear_alive(self, peer: ProcessId, alive: Alive, now_us: int) -> None:
        """``peer`` says which view it is in, and which it knows last: catch up, or tell it."""
        self._detector.hear(peer, now_us)
        self._detector.note(peer, BLOCKED, now_us, is_so=alive.is_blocked)
        if peer in self.transition.everybody():
            self._in_view[peer] = max(alive.number, self.view_of(peer))
        if self.is_over:
            return
        if peer in self._gone:
            self._out.send(peer, Out(self._gone[peer]))
        elif self.latest is not None and alive.agreed > self.latest.number:
            self._out.send(peer, Want(self.latest.number))
        if alive.number >= self.transition.lingering.get(peer, alive.number + 1):
            self._forget_leaver(peer, now_us)
        elif self._is_forgotten(peer):
            # A leaver that was forgotten too soon: it waits to hear that it may go.
            number = self.transition.number
            self._out.send(peer, Alive(number, (), 0, number))
            self._flush.dismiss(peer, self._left[peer])

    def _is_forgotten(self, peer: ProcessId) -> bool:
        """Whether a process left, is waited for no longer, and has failed in no view."""
        is_out = peer in self._gone or peer in self.transition.failed_until(NUMBER_MAX)
        return peer in self._left and not is_out and peer not in self.transition.everybody()

    def view_of(self, peer: ProcessId) -> int:
        """Return the last view that ``peer`` is known to have installed."""
        return self._in_view.get(peer, 0)

    def _forget_leaver(self, process: ProcessId, now_us: int) -> None:
        if self.transition.forget(process):
            self._watch(now_us)

    def tick(self, now_us: int) -> None:
        """A heartbeat has passed: look at the clock."""
        for process in self._detector.check(now_us):
            self._out.put(SuspectProcess(process))
            self._forget_leaver(process, now_us)
        self._forget_history()
        if self._left_us is not None and now_us - self._left_us > self._patience_us():
            self._end("it left, but could not learn what the others delivered last")
        self._coordinate(now_us)
        self._probe(now_us)

    def _probe(self, now_us: int) -> None:
        """Ask those that are not heard how they stand, while blocked or given up for long."""
        members = self.latest.members if self.latest is not None and not self.is_over else ()
        suspects = [process for process in self._detector.suspected if process in members]
        for process in self._probing.look(suspects, now_us, is_blocked=self.is_blocked):
            self._out.put(ProbeProcess(process))

    def _forget_history(self) -> None:
        """Drop the views that everybody has installed: nobody can want them any more."""
        if len(self._agreement.history) < 2:
            return
        everybody = [who for who in self.transition.everybody() if who != self._me]
        views = [self.view_of(who) for who in everybody]
        self._agreement.forget_before(min([*views, self.transition.number]))

    def _patience_us(self) -> int:
        """Return how long a leaver waits for a flush that may go on without it."""
        return 20 * self._timing.timeout_us

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
        self._announce(self.takeover.begin(step, now_us))
        self._watch(now_us)

    def gain_state(self, now_us: int) -> None:
        """The process has the group's state now."""
        self._changes.has_state = True
        self._coordinate(now_us)

    def receive(self, peer: ProcessId, message: AnyMessage, now_us: int) -> None:
        """Take a control message."""
        if self.is_over:
            return
        if isinstance(message, Standing):
            self._on_standing(peer, message, now_us)
            return
        self._detector.hear(peer, now_us)
        match message:
            case JoinRequest(process):
                self._on_join_request(peer, process, now_us)
            case JoinRefused(why, next_life):
                self._on_refused(why, next_life)
            case Out(number):
                self._on_out(number)
            case _ if peer in self._gone:
                self._out.send(peer, Out(self._gone[peer]))
            case _:
                self._take_from_member(peer, message, now_us)
        self._coordinate(now_us)

    def _take_from_member(self, peer: ProcessId, message: AnyMessage, now_us: int) -> None:
        """Take a message that only members send each other."""
        match message:
            case Decide((*_, view)) if self.latest is not None and (
                view.lineage > self.latest.lineage
            ):
                self._end_without(view.number)
            case Ask(suspected):
                if peer in self.transition.everybody():
                    self._detector.note(peer, DEAF, now_us, is_so=self._me in suspected)
                    self._changes.take(peer, message)
            case FlushMessage() | Report() | Install():
                self._take_flush(peer, message)
            case _ if isinstance(message, AGREEMENT_MESSAGES):
                if isinstance(message, Promise | Accept | Reject):
                    self._coordination.hear_vote(now_us)
                views = self._agreement.receive(peer, message)
                self._learn(views, now_us, is_decider=not isinstance(message, Decide))
            case _:
                unexpected = f"{type(message).__name__} is no message of the membership"
                raise PeerError(unexpected)

    def _take_flush(self, peer: ProcessId, message: FlushMessage | Report | Install) -> None:
        """Take a message of the flush; of a process that is not known yet, when it is.

        It may be a member of a view that has not been heard of here, or a stranger.
        """
        if peer not in self.transition.everybody() and peer not in self._left:
            self._early.append((peer, message))
        elif self.takes_from(peer, self.transition.number):
            self._flush.receive(peer, message)

    def _take_early(self) -> None:
        """Take what came from processes before a view made them known."""
        early, self._early = self._early, deque(maxlen=EARLY_MAX)
        for peer, message in early:
            self._take_flush(peer, message)

    def _on_join_request(self, peer: ProcessId, process: ProcessId, now_us: int) -> None:
        latest = self.latest
        if latest is None or peer != process:
            return  # not yet a member: the joiner asks again, or somebody else
        if process in latest.members:
            self._out.send(process, Decide(tuple(self._agreement.history)))
            return
        namesake = next((who for who in latest.members if who.name == process.name), None)
        is_same_place = namesake is not None and namesake.address == process.address
        if namesake is not None and not is_same_place and namesake not in self._detector.suspected:
            why = f"the name {process.name} is taken by a member at {namesake.address}"
            self._out.send(process, JoinRefused(why, 0))
            return
        last_life = latest.last_life_of(process.name)
        if process.incarnation <= last_life:
            why = f"{process.name} has lived {last_life} times already"
            self._out.send(process, JoinRefused(why, last_life + 1))
            return
        self._changes.joining[process] = None
        if namesake is not None and is_same_place:
            self.lose(namesake, now_us)  # nobody else can listen where it did

    def has_left(self, process: ProcessId) -> bool:
        """Whether ``process`` went of its own will."""
        return process in self._left

    def answer(
        self, process: ProcessId, view_number: int, *, has_channel: bool
    ) -> Out | Standing | None:
        """Return what to tell who asks, knowing views up to ``view_number``; None: not a member."""
        latest = self.latest
        if latest is None or self.is_over:
            return None
        views = [view.number for view in self.transition.pending if process in view.failed]
        if process in self._gone or views:
            return Out(self._gone.get(process) or views[0])
        is_known = process in latest.members
        if 0 < view_number <= latest.number and not is_known and not has_channel:
            return Out(latest.number)
        places = tuple(who.place for who in latest.members if who != process)
        return Standing(latest.number, self.is_blocked, is_known, places[:PLACES_SAID])

    def _on_standing(self, peer: ProcessId, standing: Standing, now_us: int) -> None:
        """``peer`` has answered; it counts as heard only when its channel carries something."""
        if standing.is_known and self._probing.may_pardon(peer, now_us):
            self._probing.forget(peer)
            self._detector.pardon(peer, now_us)
            self._out.put(RestoreProcess(peer))
            self._coordinate(now_us)

    def _on_refused(self, why: str, next_life: int) -> None:
        if self.latest is None:
            self._end(why, next_life, is_refused=not next_life)

    def _on_out(self, number: int) -> None:
        if self.latest is None or number > self.latest.number:
            self._end_without(number)

    def _end_without(self, number: int) -> None:
        """End: the group is in view ``number``, without this process."""
        own = self.latest.number if self.latest is not None else 0
        said = say_number(number)
        if own and lineage_of(number) > lineage_of(own):
            # Who took over may not know all of these, nor reach them.
            self._out.send_each(self.transition.everybody(), Out(number))
            self._end(f"a member has taken the group over, without this process, since {said}")
        else:
            self._end(f"the others have gone on without this process since {said}")

    def hear_question(self, view_number: int) -> None:
        """A process asks, in a view of this number: maybe it has taken the group over."""
        latest = self.latest
        if latest is not None and lineage_of(view_number) > latest.lineage and not self.is_over:
            self._end_without(view_number)

    def _end(self, why: str, next_life: int = 0, *, is_refused: bool = False) -> None:
        if not self.is_over:
            self.is_over = True
            self._out.put(LeaveGroup(why, next_life, is_refused))

    # From decided to installed.

    def _learn(self, views: list[View], now_us: int, *, is_decider: bool) -> None:
        for view in views:
            if is_decider:
                self._announce(view)
            self._coordination.learn(view)
            self._changes.learn(view)
            if self._me in view.failed:
                self._tell_last(view)
                self._end_without(view.number)
                return
            if self._me in view.left:
                self._left_us = now_us
            if not self.transition.pending:
                self._copies.say_last_words()  # ahead of anything the flush sends (000-10)
            self.transition.learn(view)
            self._watch(now_us)
            self._flush.learn()
            self._take_early()

    def _tell_last(self, view: View) -> None:
        """Tell the members of the view in which this process is out: maybe nobody else alive can.

        Its own vote may have decided the view, and who decided it have died since.
        """
        self._out.send_each(view.members, Decide(tuple(self._agreement.history)))

    def _announce(self, view: View) -> None:
        """Tell everybody whom it concerns, also those that failed: they may only seem so."""
        to = dict.fromkeys([*self.transition.everybody(), *view.members, *view.failed])
        self._out.send_each(list(to), Decide((view,)))

    def next_installable(self) -> View | None:
        """Return the next view if the flush permits it."""
        pending = self.transition.pending
        if self.is_over or not pending:
            return None
        current = self.transition.current
        if current is not None and pending[0].lineage > current.lineage:
            return pending[0]  # there is nobody to leave the view before with
        if pending[0].number > self._flush.installable:
            return None
        if self._flush.keeps_copies and self._me not in pending[0].members:
            # A leaver holds copies that others may need: it goes last (000-17 f).
            staying = [who for who in self.transition.participants() if who in pending[-1].members]
            if any(self.view_of(who) < pending[0].number for who in staying):
                return None
        return pending[0]

    def enter(self) -> None:
        """The next view becomes the current one."""
        view = self.transition.enter()
        self.transition.forget(self._me)
        self._probing.meet(view.members)
        self._in_view = {who: self.view_of(who) for who in self.transition.everybody()}
        for known, news in ((self._gone, view.failed), (self._left, view.left)):
            known.update(dict.fromkeys(news, view.number))
            while len(known) > GONE_MAX:
                known.pop(next(iter(known)))

    def settle(self, now_us: int) -> None:
        """Everything received of the current view has been taken: look what follows."""
        current = self.transition.current
        if current is not None and self._me not in current.members:
            self._end("")
            return
        self._watch(now_us)
        self._flush.installed()
        self._coordinate(now_us)

    @property
    def flush(self) -> Flush:
        """The flush, for runs that arrive while it goes on."""
        return self._flush

    def _watch(self, now_us: int) -> None:
        everybody = self.transition.everybody()
        self._detector.watch([process for process in everybody if process != self._me], now_us)

    # Coordinating.

    def _coordinate(self, now_us: int) -> None:
        latest = self.latest
        if latest is None or self.is_over or self._me not in latest.members:
            return
        self._coordination.look(latest, now_us)
        if not self._dissolve(latest):
            self._learn(self._coordination.go_on(latest, now_us), now_us, is_decider=True)

    def _dissolve(self, latest: View) -> bool:
        """The last member may leave at once: there is nobody to agree with."""
        is_last = latest.members == (self._me,) and not self.transition.pending
        if is_last and self._changes.is_leaving:
            # Who left before may still wait to hear how far this process is.
            farewell = Alive(latest.number, (), 0, latest.number)
            self._out.send_each(self.transition.everybody(), farewell)
            self._end("")
        return self.is_over
