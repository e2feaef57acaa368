"""Flush (ISIS 7.3): wait until all that a process sent or delivered has reached everybody.

Causality is not enforced between domains; who goes from one to another flushes before.

Law. A flush ends when of all that the process had handed over, multicast or delivered when it was
asked for, in the groups concerned, nothing is under way: what was queued has left, letters are
acknowledged, and messages have been delivered by all members of their view. What the causal past
has of groups that the process is not in has been received by all their members, as far as it is
known here, and members of the groups by which it was learnt can say: they are asked.

A view that all have left ends the wait for it: its flush has seen to its messages. A group that the
process has left tells it nothing any more, and is not waited for; nor is what was learnt by a group
whose view has changed since.

Nobody waits for who waits; so no circle.

Cost: who waits asks (``ReceiptsAsked``, ``ForgettingAsked``): about one round trip in own groups,
two where others have to be asked; where receipts go by a tree nobody is asked, and it takes about a
heartbeat. Nothing, if nothing is under way.
"""

from collections.abc import Callable, Mapping

from antiphon.core.control import ForgettingAsked, ReceiptsAsked
from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.ordering.knowledge import NOBODY
from antiphon.ordering.own_stamps import VIEW
from antiphon.stack.domain import Domain
from antiphon.stack.domains import Domains
from antiphon.stack.effects import Effect
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.send_queue import Item


class Wait:
    """What is waited for in one group."""

    __slots__ = ("asked", "last", "view", "wanted")

    def __init__(self, last: Item | None) -> None:
        self.last = last  # what is last in its queue
        self.asked = False
        self.view = 0
        self.wanted: dict[int, int] | None = None  # not known before all that was queued has left


class LearntWait:
    """What is waited for of a group that the process is not in, and by which group it is known."""

    __slots__ = ("asked", "domain", "group", "via", "via_view", "view", "wanted")

    def __init__(self, domain: Domain, group: int, view: int, via: int, via_view: int) -> None:
        self.domain, self.group, self.view = domain, group, view
        self.via, self.via_view = via, via_view
        self.wanted: dict[int, int] = {}
        self.asked = False


class Flushes:
    """The flushes of one process that have not ended."""

    __slots__ = ("_causal", "_endpoints", "_learnt", "_name", "_parts", "_see_to")

    def __init__(
        self,
        name: str,
        endpoints: Mapping[GroupNumber, Endpoint],
        causal: Domains,
        see_to: Callable[[GroupNumber, list[Effect]], None],
    ) -> None:
        """Know the process's part in each group; ``see_to`` takes what is to be done in one."""
        self._name, self._causal = name, causal
        self._endpoints = endpoints
        self._see_to = see_to
        self._parts: dict[int, dict[GroupNumber, Wait]] = {}
        self._learnt: dict[int, list[LearntWait]] = {}

    @property
    def are_pending(self) -> bool:
        """Whether somebody waits."""
        return bool(self._parts)

    def request(self, number: int, causality: str | None) -> None:
        """Wait until all is everywhere that was sent or delivered, in one domain or in all."""
        groups = [
            group
            for group in self._endpoints
            if causality is None or self._causal.is_in(group, causality)
        ]
        if causality is not None and not groups:
            message = f"{self._name} is in no group of domain {causality}: name one that it is in"
            raise UsageError(message)
        self.begin(number, groups)

    def begin(self, number: int, groups: list[GroupNumber]) -> None:
        """Wait for all that is under way in these groups, and in those known by them."""
        assert number not in self._parts, "a flush has a number of its own"
        self._parts[number] = parts = {}
        self._learnt[number] = []
        domains: dict[int, Domain] = {}
        for group in groups:
            endpoint = self._endpoints[group]
            waiting = endpoint.queue.waiting
            parts[group] = Wait(waiting[-1] if waiting else None)
            domains[id(endpoint.domain)] = endpoint.domain
        for domain in domains.values():
            domain.note_flush(is_pending=True)
            self._learnt[number] += _learnt_in(domain)

    def look(self, now_us: int) -> list[int]:
        """Ask for what is not known yet; return which flushes have ended."""
        ended: list[int] = []
        for number, parts in list(self._parts.items()):
            for group, part in list(parts.items()):
                if self._is_through(group, part, now_us):
                    del parts[group]
            learnt = [one for one in self._learnt[number] if not self._is_known(one, now_us)]
            self._learnt[number] = learnt
            if not parts and not learnt:
                del self._parts[number], self._learnt[number]
                ended.append(number)
        if not self._parts:
            for endpoint in self._endpoints.values():
                endpoint.domain.note_flush(is_pending=False)
        return ended

    def _is_through(self, group: GroupNumber, part: Wait, now_us: int) -> bool:
        """Whether nothing is under way in a group."""
        endpoint = self._endpoints.get(group)
        if endpoint is None or endpoint.is_over:
            return True
        member, domain = endpoint.member, endpoint.domain
        if part.last is not None and any(item is part.last for item in endpoint.queue.waiting):
            return False  # the end of a view, or receipts, will have it sent
        part.last = None
        if member.letters.waiting_for is not None:
            member.ask_for_acknowledgement()
            self._look_at(group, endpoint, now_us)
            return False
        if part.wanted is None:
            part.view = member.view_number
            part.wanted = domain.ordering.past(endpoint.group) if member.members else {}
            part.wanted.pop(VIEW, None)
        if not member.members:
            return True
        is_installed = domain.ordering.is_installed_everywhere(endpoint.group)
        if member.view_number != part.view:
            return is_installed
        everywhere = member.stability.is_delivered_everywhere
        part.wanted = {rank: n for rank, n in part.wanted.items() if not everywhere(rank, n)}
        if part.wanted and not part.asked and member.receiver.tree is None:
            part.asked = True
            wanted = tuple(sorted(part.wanted.items()))
            member.tell(ReceiptsAsked(part.view, wanted, delivered=True))
            self._look_at(group, endpoint, now_us)
        return is_installed and not part.wanted

    def _is_known(self, learnt: LearntWait, now_us: int) -> bool:
        """Whether everybody is known to have what was learnt, or nobody can be asked."""
        domain = learnt.domain
        via = next((one for one in self._endpoints.items() if _is_via(one[1], learnt)), None)
        if via is None:
            return True
        learnt.wanted = domain.still_named(learnt.group, learnt.view, learnt.wanted)
        if learnt.wanted and not learnt.asked:
            learnt.asked = True
            wanted = tuple(sorted(learnt.wanted.items()))
            via[1].member.tell(ForgettingAsked(((learnt.group, learnt.view, wanted),)))
            self._look_at(*via, now_us)
        is_in_vain = not domain.can_tell(via[1].group, learnt.group, learnt.view)
        return is_in_vain or not learnt.wanted

    def _look_at(self, group: GroupNumber, endpoint: Endpoint, now_us: int) -> None:
        self._see_to(group, endpoint.look_again(now_us))


def _is_via(endpoint: Endpoint, learnt: LearntWait) -> bool:
    """Whether this is the group by which something was learnt, in the same view."""
    is_it = endpoint.domain is learnt.domain and endpoint.group == learnt.via
    return is_it and not endpoint.is_over and endpoint.member.view_number == learnt.via_view


def _learnt_in(domain: Domain) -> list[LearntWait]:
    """Return what the causal past has of groups of a domain that the process is not in."""
    knowledge = domain.ordering.knowledge
    found: dict[tuple[int, int, int], LearntWait] = {}
    for group, known in knowledge.foreign.items() if knowledge is not None else ():
        for rank, count in known.counts.items():
            via = known.via.get(rank, NOBODY)
            if via == NOBODY or (rank == VIEW and len(known.counts) > 1):
                continue
            key = (group, known.view, via)
            if key not in found:
                found[key] = LearntWait(domain, group, known.view, via, domain.view_of(via))
            found[key].wanted[rank] = count
    return list(found.values())
