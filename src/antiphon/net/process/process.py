"""A process in several groups, as an application sees it.

    async with antiphon.Process("alice", at="127.0.0.1:7001", seeds=["127.0.0.1:7002"]) as alice:
        async with alice.join("room-1") as room, alice.join("lobby") as lobby:
            await room.cbcast(b"hello")

Law: what a process has once it has once, whatever the number of its groups: its address, its name,
one connection and one heartbeat with each other process. Groups of one causality domain are read in
one causal order (``async for event in alice``); groups that name no domain are independent of each
other. A process that is excluded from one of its groups is out of all.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Never, Self

from antiphon.core.errors import UsageError
from antiphon.core.ids import check_name
from antiphon.membership.failure_detector import Timing
from antiphon.net.application.causal_domain import CausalDomain, as_domain
from antiphon.net.application.checking import (
    check_flags,
    check_names,
    check_seeds,
    check_timing,
    check_trace,
    check_words,
)
from antiphon.net.application.config import Config, Ways, configure, found_ways
from antiphon.net.application.datagrams import Datagrams, check_datagrams
from antiphon.net.application.perishing import check_transports
from antiphon.net.application.state import State
from antiphon.net.group.group import Group
from antiphon.net.process.local_process import LocalProcess
from antiphon.net.process.node import HOW_TO_JOIN_AGAIN, Node
from antiphon.net.stream.events import Batch, Event, Expired, Letter, Message, Unsent, View
from antiphon.net.stream.process_stream import ProcessStream
from antiphon.net.stream.request import Request
from antiphon.net.transport.address import check_insecure, parse_address
from antiphon.net.transport.environment import current_environment
from antiphon.net.transport.interface import check_needs
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.settings import Settings


class Process:
    """A process that takes part in several groups, used with ``async with``.

    ``me`` is its name, ``at`` its own ``host:port``, ``seeds`` are addresses of other processes
    through which it finds groups; any of them will do, for each knows others. ``advertise`` is
    where the others find it, if not ``at``. ``timing`` says how soon silence is suspicious, in all
    groups. ``trace`` is a folder to journal into: what happens in a group goes to the run folder
    of the group's name in it, or of its domain's, if it names one. ``datagrams`` says how they are
    sent and received, in groups of causal blocks. Who is taken for dead by the
    others in one group is out of all: each stream ends with an ``ExcludedError``, or with
    ``rejoin=True`` the process comes back to each by itself. Addresses beyond this machine need
    ``insecure=True``.

    Read all groups together, in the order in which things were delivered (``async for event in
    process``; ``event.group`` says where), or each by itself (``async for event in group``): only
    the former keeps causal order across the groups of a domain for the application.
    """

    def __init__(
        self,
        me: str,
        *,
        at: str,
        seeds: Sequence[str] = (),
        advertise: str | None = None,
        timing: Timing | None = None,
        trace: str | PathLike[str] | None = None,
        datagrams: Datagrams | None = None,
        rejoin: bool = False,
        insecure: bool = False,
    ) -> None:
        """Describe the process; nothing happens before it is entered."""
        check_timing(timing)
        check_trace(trace)
        check_datagrams(datagrams)
        check_flags(rejoin=rejoin)
        ways = configure("any", me, None, at, seeds, insecure=insecure, advertise=advertise)
        environment = current_environment()
        check_needs(environment.transport)
        self.me = me
        """Its name."""
        self._seeds = ways.seeds
        self._timing = timing if timing is not None else Timing()
        self._trace = Path(trace) if trace is not None else None
        self._rejoin, self._insecure = rejoin, insecure
        self._environment = environment
        self._local = LocalProcess(
            me, ways.address, ways.advertised, timing=self._timing, environment=environment,
            insecure=insecure, line=datagrams,
        )  # fmt: skip
        self._nodes: dict[str, Node] = {}  # by group, from when each is entered
        self._stream = ProcessStream(me, self._flush, environment.clock_s)
        self._is_open = self._is_closed = False

    @property
    def address(self) -> str:
        """Where this process listens, as ``host:port``: one of the ``seeds`` of others."""
        return str(self._local.address)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups that it has entered and not left; of some it may be out."""
        self._forget_ended()
        return tuple(name for name, node in self._nodes.items() if node.local_group.is_running)

    @property
    def connections(self) -> int:
        """How many other processes it is connected to, each by one connection."""
        incarnation = self._local.incarnation
        peers = incarnation.mesh.peers.values() if incarnation is not None else ()
        return sum(peer.link is not None for peer in peers)

    async def __aenter__(self) -> Self:
        """Listen."""
        if self._is_open or self._is_closed:
            message = f"{self.me} has been entered before: make another antiphon.Process"
            raise UsageError(message)
        await self._local.open()
        self._is_open = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Leave all groups, and close."""
        self._is_open, self._is_closed = False, True
        nodes = list(self._nodes.values())
        try:
            ended = await asyncio.gather(*(node.stop() for node in nodes), return_exceptions=True)
        finally:
            try:
                await self._local.close()
            finally:
                self._stream.close()
        for error in ended:
            if isinstance(error, BaseException):
                raise error

    # Reading all groups together.

    def __aiter__(self) -> AsyncIterator[Event]:
        """Read what happens in all groups, in the order in which it was delivered.

        Everything has a ``group``. Ends when the process does; raises what ends it before.
        """
        return self._stream.events()

    def messages(self) -> AsyncIterator[Message]:
        """Read the messages of all groups, and pass over everything else."""
        return self._stream.messages()

    def batches(self) -> AsyncIterator[Batch | Expired | View | Letter | Request | Unsent]:
        """Read all groups batch by batch: much faster for many small messages."""
        return self._stream.batches()

    async def flush(self, domain: str | None = None) -> None:
        """Wait until all that this process sent or delivered has reached everybody (ISIS 7.3).

        In the groups of one ``domain``, by name, or in all. For who goes from one domain to another
        and wants what it does there to come after what it did here; takes about a round trip. Of
        groups that it has left it waits for nothing, nor while it is blocked for others to go on:
        give it a time-out. Raises :class:`ExcludedError` if the process drops out meanwhile.
        """
        if domain is not None:
            check_names(domain=domain)
        incarnation = self._local.incarnation if self._local.is_in_group else None
        if not self._is_open or incarnation is None or incarnation.is_over:
            if domain is not None or not self._is_open:
                where = f" of domain {domain}" if domain else ""
                message = f"{self.me} is in no group{where}: join one first"
                raise UsageError(message)
            return  # there is nothing to wait for
        self._flush()
        await incarnation.flushing.flush(domain)

    def _flush(self) -> None:
        """Give the machine what the application has multicast in any group."""
        for node in self._nodes.values():
            node.local_group.flush()

    def join(
        self,
        group: str,
        *,
        seeds: Sequence[str] | None = None,
        found: bool = False,
        domain: str | CausalDomain | None = None,
        state: State | None = None,
        flush: str = "view-atomic",
        protocol: GroupProtocol | None = None,
        token: str = "follow",  # noqa: S107 - no secret
        connect_s: float = 10.0,
        drain_s: float = 5.0,
        **misplaced: Never,
    ) -> Group:
        """Return a handle on a group, for ``async with``: entering joins, leaving leaves.

        It joins the group through any process that it knows and that is in it: the process's
        ``seeds``, those given here, and those with which it shares other groups. With
        ``found=True`` it joins the group if that runs, and else founds it with the others, safely
        if all start at once: the seeds then list the addresses of all likely members, its own
        included, alike everywhere, and more than half must be there. With ``seeds=[]``, or where
        the process has no seeds and knows nobody, it founds a group of one.

        ``domain`` names the causality domain of the group, alike at all members: causal order is
        kept across all groups of a domain, and what is multicast in several of them leaves in that
        order (docs/protocols/domains.md). A :class:`CausalDomain` says more, such as how many
        crashes it is to stand. By default a group is a domain of its own; with a ``protocol`` it
        must be. The other arguments are those of :func:`antiphon.join`. A process that has left a
        group can join it again, under the next number: as ``alice~2``.
        """
        _refuse_misplaced(misplaced)
        check_words(flush=flush, token=token)
        check_names(group=group)
        check_name(group, "group name")
        check_flags(found=found)
        causality = as_domain(domain)
        run = causality.name if causality is not None else group
        if protocol is not None and causality is not None:
            message = (
                f"group {group} has a protocol of its own, and so is alone in its causality "
                "domain: give domain or protocol, not both"
            )
            raise UsageError(message)
        settings = Settings(flush=flush, protocol=protocol, timing=self._timing, token=token)
        config = Config(
            group=group, me=self.me, ways=self._ways(seeds, found=found), settings=settings,
            state=state, trace=self._trace / run / "events" if self._trace is not None else None,
            connect_s=connect_s, drain_s=drain_s, insecure=self._insecure, rejoin=self._rejoin,
            environment=self._environment, domain=causality,
        )  # fmt: skip
        check_transports(self._environment, protocol)
        self._check_free(config)
        return Node(config, self._local, self._claim).group

    if not TYPE_CHECKING:  # type checkers are to complain of it as well

        def __await__(self) -> None:
            """Refuse ``await antiphon.Process(...)``: say what to write."""
            message = (
                f"process {self.me} is not awaited but entered: write "
                "`async with antiphon.Process(...) as process:`"
            )
            raise UsageError(message)

    def _ways(self, seeds: Sequence[str] | None, *, found: bool) -> Ways:
        if seeds is None:
            known, is_alone = self._seeds, False
        else:
            check_seeds(seeds)
            places = {f"seed {seed}": parse_address(seed) for seed in seeds}
            check_insecure(places, insecure=self._insecure)
            known, is_alone = tuple(dict.fromkeys(map(str, places.values()))), not seeds
        others = (*self._seeds, *self._local.known_places)
        if found:
            ways = found_ways(self._local.address, None, known)
            return ways._replace(seeds=tuple(dict.fromkeys([*ways.seeds, *others])))
        if not is_alone:
            known = tuple(dict.fromkeys([*known, *others]))
        return Ways(self._local.address, seeds=known)

    def _claim(self, node: Node) -> None:
        """Have a group, from when its handle is entered until it is left."""
        self._check_free(node.config)
        self._nodes[node.config.group] = node
        self._stream.add(node.local_group.stream)

    def _check_free(self, config: Config) -> None:
        """Refuse a group that it has, or a domain that it knows otherwise."""
        group, domain = config.group, config.domain
        if self._is_closed:
            message = f"{self.me} has ended: make another antiphon.Process to join group {group}"
            raise UsageError(message)
        self._forget_ended()
        if group in self._nodes:
            message = f"{self.me} has joined group {group} already: use the handle that it has"
            if self._nodes[group].local_group.error is not None:
                message = (
                    f"{self.me} is out of group {group}, but has not left it: {HOW_TO_JOIN_AGAIN}"
                )
            raise UsageError(message)
        for other, node in self._nodes.items():
            known = node.config.domain
            if domain is None or known is None or known.name != domain.name:
                continue
            if known.description == domain.description:
                continue
            message = (
                f"{self.me} has group {other} in domain {known.description}, and group {group} is "
                f"to be in domain {domain.description}: give all groups of a domain the same"
            )
            raise UsageError(message)

    def _forget_ended(self) -> None:
        self._nodes = {name: node for name, node in self._nodes.items() if not node.has_ended}


_OF_THE_PROCESS = ("me", "at", "advertise", "timing", "trace", "datagrams", "rejoin", "insecure")


def _refuse_misplaced(names: Iterable[str]) -> None:
    """Refuse options that ``antiphon.join`` has, and ``Process.join`` has not: say where to."""
    for name in names:
        if name == "members":
            message = (
                "members is for antiphon.join: here, found the group by seeds=[], or by found=True "
                "with the addresses of all founders as seeds"
            )
            raise UsageError(message)
        if name not in _OF_THE_PROCESS:
            message = f"Process.join() got an unexpected keyword argument {name!r}"
            raise TypeError(message)
    if given := list(names):
        are = "are" if len(given) > 1 else "is"
        message = (
            f"{' and '.join(given)} {are} given once, for all groups: antiphon.Process(..., "
            f"{', '.join(f'{name}=...' for name in given)})"
        )
        raise UsageError(message)
