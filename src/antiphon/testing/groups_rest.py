"""The end of a world of several groups: what is asked of groups, of processes, and of their end.

Law: see ``groups_world``. What is wrong is said in one line; nothing is said where all is well.
"""

from itertools import combinations

from antiphon.core.errors import ExcludedError
from antiphon.net.group.group import Group
from antiphon.testing.connection import End
from antiphon.testing.driver_application import Application
from antiphon.testing.driver_world import REST_S, STALE_S, stay_at_rest, unlike
from antiphon.testing.groups_programs import Programs

_SETTLE_S = 0.3
_END_S = 30.0
"""How long processes may take to end: to be let go, and to close connections."""

_ROUNDS = 4
_LOOKS = 40
_LATE = "zoe"


class Rest:
    """Looks at what runs when nothing breaks any more."""

    def __init__(self, programs: Programs) -> None:
        """Look at these."""
        self._there = programs
        self._cluster, self._scenario = programs.cluster, programs.scenario
        self._seen: set[End] = set()
        """Ends of the connections that there were at the last look."""

    def come_to_rest(self) -> str:
        """Wait until all is well, and let it go on; say what is not, if anything."""
        cluster = self._cluster
        deadline_s = cluster.time_s + REST_S
        said = "it has not been looked at"
        pause_s = _SETTLE_S
        while said and cluster.time_s < deadline_s:
            cluster.advance(pause_s)
            pause_s = min(pause_s * 1.5, STALE_S)
            said = self._unrest()
        if said:
            return f"not at rest {REST_S:g} s after the last fault: {said}"
        return self._go_on()

    def _go_on(self) -> str:
        """Let everybody speak once more in each group, and somebody join."""
        groups = self._there.going
        if not groups:
            return ""
        self._there.start(self._cluster.process(_LATE), (self._there.inside(groups[0])[0][0],))
        self._cluster.advance(0.001)
        led = self._led_to(groups[0])
        for group in groups:
            members = [self._cluster[name].address for name, *_ in self._there.inside(group)]
            self._there.enter(_LATE, group, None if group in led else members[-1:])
        if said := self._speak_on(groups, "well"):
            return f"it does not go on after it was at rest: {said}"
        return self._come_again(groups)

    def _come_again(self, groups: list[str]) -> str:
        """Let the newcomer leave all groups but one, and join them again."""
        others = groups[1:]
        for group in others:
            self._there.of[_LATE].applications[group].is_leaving.set()
        said = "it has not been looked at"
        for _ in range(_LOOKS):
            self._cluster.advance(_SETTLE_S)
            if not (said := self._unrest()):
                break
        if said:
            return f"{_LATE} does not leave groups in peace: {said}"
        for group in others:
            members = [self._cluster[name].address for name, *_ in self._there.inside(group)]
            self._there.enter(_LATE, group, members[-1:])
        if said := self._speak_on(groups, "anew"):
            return f"it does not go on after {_LATE} has come again: {said}"
        return ""

    def _speak_on(self, groups: list[str], word: str) -> str:
        """Let everybody speak until all have heard it, and the newcomer is everywhere."""
        said = ""
        for round_number in range(_ROUNDS):
            # What is said while somebody is being excluded may be dropped: then once more.
            if not (said := self._speak(groups, f"{word} {round_number}")):
                # Those who are blocked in another group ask others on connections of their own.
                return stay_at_rest(self._cluster, self._unrest_in_groups, self._views)
        return said

    def _views(self) -> object:
        """Return who is in which view of which group, as far as applications have been told."""
        return [
            (group, handle.me, handle.view.number)
            for group in self._there.going
            for *_, handle in self._there.inside(group)
        ]

    def _led_to(self, first: str) -> set[str]:
        """Return the groups that are found from a member of one: members tell of others."""
        views = {
            group: {name for name, *_ in self._there.inside(group)} for group in self._there.going
        }
        led = {first}
        while more := {
            group
            for group, members in views.items()
            if group not in led and any(members & views[known] for known in led)
        }:
            led |= more
        return led

    def _speak(self, groups: list[str], word: str) -> str:
        expected: dict[str, set[bytes]] = {}
        speakers = {group: self._there.inside(group) for group in groups}
        for group, inside in speakers.items():
            said = expected[group] = set()
            for name, application, _ in inside:
                for order in ("causal", "total"):
                    payload = f"{word} {group} {name} {order}".encode()
                    said.add(payload)
                    self._cluster[name].start(application.multicast([payload], order))
        unrest = ""
        for _ in range(_LOOKS):
            self._cluster.advance(_SETTLE_S)
            unheard = (self._unheard(speakers[group], expected[group]) for group in groups)
            if not (unrest := self._unrest() or next(filter(None, unheard), "")):
                return self._late_outside(groups)
        return unrest

    @staticmethod
    def _unheard(inside: list[tuple[str, Application, Group]], expected: set[bytes]) -> str:
        for name, application, group in inside:
            if missing := expected - application.words:
                others = len(missing) - 1
                return f"{name} has not read {min(missing)!r} and {others} others in {group.name}"
        return ""

    def _late_outside(self, groups: list[str]) -> str:
        late = self._there.of[_LATE]
        for group in groups:
            if self._there.application(group, _LATE) is None:
                return f"{_LATE} does not get into {group}: {late.applications[group].end}"
        return ""

    def _unrest(self) -> str:
        """Say what is not as it must be in the end; empty if all is well."""
        for name, program in self._there.living():
            if program.is_ending.is_set():
                return f"{name} has not ended"
        return self._unrest_in_groups() or self._survivor() or self._crowd()

    def _unrest_in_groups(self) -> str:
        said = [self._unrest_in(group) for group in self._there.going]
        return next(filter(None, said), "")

    def _unrest_in(self, group: str) -> str:
        if said := self._under_way(group):
            return said
        inside = self._there.inside(group)
        if not inside:
            return ""
        first = inside[0]
        is_told = self._scenario.with_state
        unlikes = (unlike(*first[1:], *one[1:], is_told=is_told) for one in inside)
        if found := next(filter(None, unlikes), ""):
            return f"in {group}: {found}"
        members, here = set(first[2].view.members), {handle.me for *_, handle in inside}
        if members != here:
            return f"members of {group} are {sorted(members)}, not {sorted(here)}"
        return ""

    def _under_way(self, group: str) -> str:
        """Say who is on its way into a group, or out."""
        for name, program in self._there.living():
            application = program.applications.get(group)
            if application is None or application.is_done:
                driver = program.driver(group)
                # Who was never taken in may wait for that, to leave then.
                if driver is not None and (driver.view_number or driver.is_over):
                    return f"{name} takes part in {group} without its application"
            elif application.is_leaving.is_set():
                return f"{name} has not left {group}"
            elif not application.is_in:
                return f"{name} is not in {group} yet"
        return ""

    def _survivor(self) -> str:
        """Say who was excluded from one group for good, and stays in another."""
        for name, program in self._there.living():
            for group, failed in program.applications.items():
                if isinstance(failed.end, ExcludedError) and not self._scenario.rejoin:
                    for other, going in program.applications.items():
                        if going.is_in and going.entered_s < failed.done_s:
                            return f"{name} is excluded from {group}, and goes on in {other}"
        return ""

    def _crowd(self) -> str:
        """Say which two processes have more or fewer connections than they are to have."""
        is_calm = len(self._there.going) == len(self._scenario.groups) and not any(
            self._there.castaways(group) for group in self._scenario.groups
        )
        inside = [{name for name, *_ in self._there.inside(group)} for group in self._there.going]
        seen, self._seen = self._seen, set()
        said = ""
        for one, other in combinations([name for name, _ in self._there.living()], 2):
            ends = [self._connections(one, other), self._connections(other, one)]
            self._seen.update(*ends)
            count = max(map(len, ends))
            # Who is blocked in a group, or on its way back, asks on connections that are soon gone.
            lasting = count if is_calm else max(len(seen.intersection(each)) for each in ends)
            is_needed = any({one, other} <= members for members in inside)
            if lasting > 1 or (is_needed and not count) or (is_calm and count and not is_needed):
                said = said or f"{one} and {other} have {count} connections"
        return said

    def _connections(self, one: str, other: str) -> list[End]:
        owners = (self._cluster[one].owner, self._cluster[other].owner)
        ends = self._cluster.network.connections(one, other)
        return [end for end in ends if (end.owner, end.peer.owner) == owners]

    def shut_down(self) -> str:
        """End every process; say what is left of one."""
        cluster = self._cluster
        ending = list(self._there.living())
        for _, program in ending:
            program.is_ending.set()
        deadline_s = cluster.time_s + _END_S
        while any(program.is_open for _, program in ending) and cluster.time_s < deadline_s:
            cluster.advance(1.0)
        cluster.advance(STALE_S)
        for name, program in ending:
            if program.is_open:
                return f"{name} does not end"
            if left := [task for task in cluster[name].owner.tasks if not task.done()]:
                return f"{name} has ended, and {len(left)} tasks are left: {left[0].get_coro()}"
        for (one, _), (other, _) in combinations(ending, 2):
            if self._connections(one, other):
                return f"{one} and {other} have ended, and their connection has not"
        return ""
