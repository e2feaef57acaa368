"""What is to change in the next view: who asks for it, and what the coordinator makes of it.

Law: every member tells the coordinator whom it suspects, who wants to join through it, and
whether it wants to leave; the newest such word of a member replaces its earlier ones. What has
come together makes ONE view, however many changes that is.

While a view is still being left, only failures make another one: they may be what holds it up.
Joins and leaves wait, so a long sequence of them cannot starve a view (ISIS 5.5; 000-19).

Who goes. Whom the coordinator suspects itself; who has long been unfit (it does not hear the
coordinator, or is blocked: ``failure_detector``); and who is accused by others, from the senior
down, but not by who goes already: of two members that cannot reach each other the senior one stays.
The unfit and the accused go only as far as those who stay are a quorum: a view of fewer could
not be decided, and one without the coordinator's own suspects is the better for being smaller. Who
is still accused then goes in the view after.

A view says of whom it is not certain that they are dead (``doubted``), until somebody else is where
they were: one that lives may be a member of other groups, and not know that it is out (``reach``).

A member tells the coordinator what it asks for, and each process that it suspects that it does not
hear it: that one may well hear this one.
"""

from collections.abc import Callable, Sequence

from antiphon.core.control import Ask
from antiphon.core.ids import ProcessId
from antiphon.core.views import COUNT_BITS, View

PAST_MAX = 4096
"""Names of the departed that are remembered, the latest ones."""

DOUBTED_MAX = 64
"""Failed members that may live and are remembered as such, the latest ones."""

NOTHING = Ask((), (), leaving=False, has_state=False)


def certainly_dead(view: View) -> list[ProcessId]:
    """Return who failed in a view and is not doubted; nobody, if not all who are may be named."""
    if len(view.doubted) >= DOUBTED_MAX:
        return []
    return [who for who in view.failed if who not in view.doubted]


class Changes:
    """What this process, and as coordinator others, ask for."""

    def __init__(
        self, me: ProcessId, is_dead: Callable[[ProcessId], bool] = lambda _who: False
    ) -> None:
        """Nothing is asked for yet; ``is_dead`` tells of whom that is certain."""
        self._me = me
        self._is_dead = is_dead
        self._asked: dict[ProcessId, Ask] = {}
        self._told: dict[ProcessId, tuple[int, Ask]] = {}
        self.joining: dict[ProcessId, None] = {}
        """Who asked this process to be taken in."""
        self.is_leaving = False
        self.has_state = True

    @property
    def is_quiet(self) -> bool:
        """Whether neither this process nor anybody that told it so asks for a change."""
        own = self.joining or self.is_leaving or not self.has_state
        return not own and all(ask == NOTHING for ask in self._asked.values())

    def is_settled(self, latest: View) -> bool:
        """Whether no member waits for a change; who has the state, or waits for it, is another."""
        own = self.joining or self.is_leaving
        asks = (self._asked.get(who, NOTHING) for who in latest.members)
        return not own and not any(ask.suspected or ask.joining or ask.leaving for ask in asks)

    def news(
        self,
        latest: View,
        coordinator: ProcessId,
        suspected: list[ProcessId],
        doubted: Sequence[ProcessId] = (),
        *,
        is_blocked: bool = False,
    ) -> list[tuple[ProcessId, Ask]]:
        """Return whom to tell what: nothing new is worth no message.

        ``doubted`` are the suspected that may live. A blocked process accuses nobody: it is itself
        the one that has lost touch.
        """
        has_news = self.has_state and self._me in latest.stateless
        concerned = dict.fromkeys([*self._told, *(who for who in doubted if who in latest.members)])
        concerned[coordinator] = None
        concerned.pop(self._me, None)
        told: list[tuple[ProcessId, Ask]] = []
        for process in concerned:
            accused = [who for who in suspected if who == process]
            if process == coordinator and not is_blocked:
                accused = suspected
            ask = Ask(tuple(accused), tuple(self.joining), self.is_leaving, has_news)
            number, last = self._told.get(process, (0, NOTHING))
            if ask != last or (number != latest.number and ask != NOTHING):
                self._told[process] = latest.number, ask
                told.append((process, ask))
        return told

    def take(self, peer: ProcessId, ask: Ask) -> None:
        """Remember what a member asks for."""
        self._asked[peer] = ask

    def drop_joiner(self, process: ProcessId) -> None:
        """Who wanted to join is gone."""
        self.joining.pop(process, None)

    def learn(self, view: View) -> None:
        """Forget what a view has brought about."""
        gone = (*view.left, *view.failed)
        self._asked = {peer: ask for peer, ask in self._asked.items() if peer in view.members}
        self._told = {peer: said for peer, said in self._told.items() if peer in view.members}
        self.joining = {
            process: None
            for process in self.joining
            if process not in view.members and process not in gone
        }

    def failed(
        self, own: list[ProcessId], unfit: list[ProcessId], latest: View
    ) -> dict[ProcessId, None]:
        """Return whom to exclude: own suspects; of the unfit and the accused, whom one can."""
        failed = dict.fromkeys(own)
        accused = [
            (member, process)
            for member in latest.members
            if member not in unfit and (ask := self._asked.get(member)) is not None
            for process in ask.suspected
        ]
        for accuser, process in [*((None, process) for process in unfit), *accused]:
            if process != self._me and accuser not in failed and process not in failed:
                rest = [who for who in latest.members if who not in failed and who != process]
                if latest.has_quorum(rest):
                    failed[process] = None
        assert self._me not in failed, "nobody excludes itself"
        return failed

    def next_view(
        self,
        latest: View,
        own: list[ProcessId],
        leavers: list[ProcessId],
        *,
        is_flushing: bool,
        unfit: Sequence[ProcessId] = (),
    ) -> View | None:
        """Return the view to propose after ``latest``, or None if nothing is to change.

        ``leavers`` are out of ``latest`` but still take part in a flush.
        """
        failed = self.failed(own, list(unfit), latest)
        gone = tuple(process for process in (*latest.members, *leavers) if process in failed)
        if is_flushing and not gone:
            return None
        stayed = [member for member in latest.members if member not in failed]
        if not latest.has_quorum(stayed):
            return None
        left: list[ProcessId] = []
        joined: list[ProcessId] = []
        if not is_flushing:
            left = self._leaving(latest, stayed)
            joined = self._joining(latest, [who for who in stayed if who not in left])
        if not (gone or left or joined or self._has_new_donor(latest)):
            return None
        members = tuple(member for member in stayed if member not in left) + tuple(joined)
        assert members, "somebody stays"
        assert not is_flushing or not (left or joined), "only failures make a view meanwhile"
        return View(
            latest.group, type(latest.number)(latest.number + 1), members,
            joined=tuple(joined), left=tuple(left), failed=gone,
            stateless=self._stateless(latest, members),
            past=_past(latest, (*gone, *left), members),
            doubted=self._doubted(latest, gone, members),
        )  # fmt: skip

    def takeover_view(self, latest: View, step: int, others: list[ProcessId]) -> View:
        """Return the first view of a new lineage: of this process alone, without ``others``."""
        number = latest.number + (step << COUNT_BITS) + 1
        assert self._me not in others, "who takes over stays"
        return View(
            latest.group, type(latest.number)(number), (self._me,), failed=tuple(others),
            past=_past(latest, tuple(others), (self._me,)),
            doubted=self._doubted(latest, tuple(others), (self._me,)),
        )  # fmt: skip

    def _doubted(
        self, latest: View, gone: tuple[ProcessId, ...], members: tuple[ProcessId, ...]
    ) -> tuple[ProcessId, ...]:
        """Return who failed and may live: nobody else is known to be where they were."""
        here = {member.place for member in members}
        doubted = [who for who in (*latest.doubted, *gone) if who.place not in here]
        return tuple(who for who in doubted if not self._is_dead(who))[-DOUBTED_MAX:]

    def _leaving(self, latest: View, stayed: list[ProcessId]) -> list[ProcessId]:
        """Return who leaves now; somebody who has the state has to stay for the time being."""
        left = [
            member
            for member in stayed
            if (self.is_leaving if member == self._me else self._asked.get(member, NOTHING).leaving)
        ]
        stateless = self._stateless(latest, tuple(stayed))
        if all(member in left or member in stateless for member in stayed):
            keeper = next((member for member in left if member not in stateless), self._me)
            left = [member for member in left if member != keeper]
        return left

    def _has_new_donor(self, latest: View) -> bool:
        """Whether the view has nobody to give the state, and somebody could by now."""
        if len(latest.stateless) < len(latest.members):
            return False
        return len(self._stateless(latest, latest.members)) < len(latest.members)

    def _stateless(self, latest: View, members: tuple[ProcessId, ...]) -> tuple[ProcessId, ...]:
        """Return who is not known to have the state: those that join, and have joined lately."""
        unknown = [
            member
            for member in latest.stateless
            if not (
                self.has_state if member == self._me else self._asked.get(member, NOTHING).has_state
            )
        ]
        old = latest.members
        return tuple(member for member in members if member in unknown or member not in old)

    def _joining(self, latest: View, stayed: list[ProcessId]) -> list[ProcessId]:
        asks = [self.joining]
        asks += [dict.fromkeys(self._asked[who].joining) for who in stayed if who in self._asked]
        names = {member.name for member in stayed}
        joined: dict[str, ProcessId] = {}
        for ask in asks:
            for process in ask:
                is_new = process.incarnation > latest.last_incarnation_of(process.name)
                if process.name not in names and is_new:
                    joined.setdefault(process.name, process)
        return list(joined.values())


def _past(
    latest: View, gone: tuple[ProcessId, ...], members: tuple[ProcessId, ...]
) -> tuple[tuple[str, int], ...]:
    """Return the last incarnations of all names that nobody bears."""
    past = dict(latest.past)
    for process in gone:
        past.pop(process.name, None)
        past[process.name] = process.incarnation
    for member in members:
        past.pop(member.name, None)
    return tuple(list(past.items())[-PAST_MAX:])
