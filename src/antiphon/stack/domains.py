"""The causality domains of one process, and what happens in their groups by what happened in one.

Law: after every input, whatever has become possible in another group of the same domain is seen to
in the same step: a view whose last message has been delivered is installed, what is next in program
order is sent, what was held while receipts were awaited is delivered. It goes on until nothing more
comes of it. Effects are in the order in which they came about, whatever their groups.

Cost: nothing for a process whose groups are domains of their own.
"""

from collections.abc import Callable, Mapping

from antiphon.core.errors import UsageError
from antiphon.core.ids import GroupNumber
from antiphon.core.runs import Run
from antiphon.ordering.structure import Structure
from antiphon.stack.domain import Domain
from antiphon.stack.effects import Effect, SetTimer
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.send_queue import SendQueue


class Domains:
    """Which groups of a process are in which domain."""

    __slots__ = ("_endpoints", "_named", "_numbers", "_see_to", "domains", "is_over")

    def __init__(
        self,
        endpoints: Mapping[GroupNumber, Endpoint],
        see_to: Callable[[GroupNumber, list[Effect]], None],
    ) -> None:
        """Know the process's part in each group; ``see_to`` takes what is to be done in one."""
        self._endpoints = endpoints
        self._see_to = see_to
        self.is_over = False
        """Whether the process is out of all its groups: then nothing follows."""
        self._named: dict[str, Domain] = {}
        self.domains: dict[GroupNumber, Domain] = {}
        """By group: those that are not of one group alone."""
        self._numbers: dict[int, GroupNumber] = {}
        """Groups by what their domain calls them."""

    def named(
        self,
        name: str | None,
        resilience: int,
        queue: SendQueue | None,
        structure: Structure | None = None,
    ) -> Domain | None:
        """Return the domain of a name; None: the group is one of its own."""
        if name is None:
            return None
        domain = self._named.get(name)
        if domain is None:
            domain = self._named[name] = Domain(resilience, structure)
            if queue is not None and queue.places.order is not None:
                domain.program = queue.places.order  # of the incarnation before
        if domain.resilience != resilience:
            message = (
                f"domain {name} has a resilience of {domain.resilience} in this process, and one "
                f"of its groups is to have {resilience}: give all its groups the same"
            )
            raise UsageError(message)
        if domain.names.structure != structure:
            message = (
                f"domain {name} has other declared overlaps in this process than one of its groups "
                "is to have: declare the same for all its groups"
            )
            raise UsageError(message)
        return domain

    def enter(self, group: GroupNumber, named: GroupNumber, domain: Domain) -> None:
        """A group is in a domain, which calls it ``named``."""
        self.domains[group] = domain
        self._numbers[named] = group

    def leave(self, group: GroupNumber, named: GroupNumber) -> None:
        """A group is closed."""
        self.domains.pop(group, None)
        self._numbers.pop(named, None)

    def of(self, group: GroupNumber) -> Domain | None:
        """Return the domain of a group that is not its own."""
        return self.domains.get(group)

    def is_in(self, group: GroupNumber, name: str) -> bool:
        """Whether a group is in the domain of this name."""
        domain = self.domains.get(group)
        return domain is not None and domain is self._named.get(name)

    def deliver(self, named: int, runs: list[Run], now_us: int) -> None:
        """Hand runs to their group, which were delivered by what happened in another one."""
        group = self._numbers[named]
        self._see_to(group, self._endpoints[group].deliver(runs, now_us))

    def collect(self) -> None:
        """Tell the groups which entries of others' stamps they may forget."""
        for domain in self._named.values():
            domain.collect()

    # What follows.

    def settle_all(self, now_us: int) -> None:
        """See to all that has become possible in any domain."""
        for domain in self._named.values():
            self.settle(domain, now_us)

    def settle(self, domain: Domain, now_us: int) -> None:
        """See to all that has become possible in a domain's groups by what happened in one."""
        is_moving = domain.is_restless  # nearly never, for what comes of one group alone
        while is_moving and not self.is_over:
            domain.look_at_hurried()
            is_entered = self._enter_epoch(domain)
            restless = [self._numbers.get(named) for named in domain.take_restless()]
            first = self._first_to_send(domain)
            groups = [group for group in (*restless, first) if group is not None]
            looked_at = [self._look(group, now_us) for group in groups]
            is_moving = is_entered or any(looked_at) or self._thaw(domain)
            is_moving = self._deliver_found(domain) or is_moving

    def _look(self, group: GroupNumber, now_us: int) -> bool:
        """Have a group see what is to be done; return whether anything was."""
        endpoint = self._endpoints[group]
        return not endpoint.is_over and self._do(group, endpoint.look_again(now_us))

    def _do(self, group: GroupNumber, effects: list[Effect]) -> bool:
        self._see_to(group, effects)
        return any(type(effect) is not SetTimer for effect in effects)

    def _enter_epoch(self, domain: Domain) -> bool:
        """Enter another epoch, if that may be; deliver what it has made ready."""
        epochs = domain.epochs
        if epochs is None:
            return False
        is_entered = epochs.look()
        for named in epochs.unsaid_in:
            domain.look_at(named)
        epochs.unsaid_in.clear()
        if not domain.ordering.look_at_barriers() and not is_entered:
            return False
        self._drain(domain)
        return True

    def _deliver_found(self, domain: Domain) -> bool:
        """Deliver what waited for nothing but what was found not to be."""
        if not domain.lacks.has_found:
            return False
        domain.lacks.has_found = False
        self._drain(domain)
        return True

    def _drain(self, domain: Domain) -> None:
        """Deliver what is ready, unless nothing is delivered for now."""
        group = self._any_group(domain)
        if not domain.ordering.is_frozen and group is not None:
            self._do(group, self._endpoints[group].thaw())

    def _thaw(self, domain: Domain) -> bool:
        """Deliver again, if nothing that is to be sent awaits receipts any more."""
        if not domain.ordering.is_frozen:
            return False
        first = self._first_to_send(domain)
        if first is not None and self._endpoints[first].awaits_receipts:
            return False
        group = self._any_group(domain)
        return group is not None and self._do(group, self._endpoints[group].thaw())

    def _any_group(self, domain: Domain) -> GroupNumber | None:
        """Return a group of a domain; None: the process is in none of its groups now."""
        return next((group for group, one in self.domains.items() if one is domain), None)

    def _first_to_send(self, domain: Domain) -> GroupNumber | None:
        """Return the group whose turn it is to send, if anything waits."""
        places = domain.program.first
        return self._numbers.get(places.group) if places is not None else None
