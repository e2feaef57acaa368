"""Joining a group in one call, and running a program on the fastest event loop at hand."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from antiphon.core.errors import UsageError
from antiphon.membership.failure_detector import Timing
from antiphon.net.application.checking import check_timing, check_trace, check_words
from antiphon.net.application.config import Config, configure
from antiphon.net.application.datagrams import Datagrams, check_datagrams, check_used
from antiphon.net.application.perishing import check_transports
from antiphon.net.application.state import State
from antiphon.net.group.group import Group
from antiphon.net.process.node import Node
from antiphon.net.transport.environment import current_environment
from antiphon.stack.blocks import Blocks
from antiphon.stack.dissemination import GroupProtocol
from antiphon.stack.settings import Limits, Settings

T = TypeVar("T")

INTERRUPTED = 130
"""The exit status that shells know: 128 and the number of the signal."""


def join(
    group: str,
    *,
    me: str,
    members: Mapping[str, str] | None = None,
    at: str | None = None,
    seeds: Sequence[str] = (),
    found: bool = False,
    advertise: str | None = None,
    state: State | None = None,
    trace: str | PathLike[str] | None = None,
    flush: str = "view-atomic",
    protocol: GroupProtocol | None = None,
    token: str = "follow",  # noqa: S107 - no secret
    timing: Timing | None = None,
    datagrams: Datagrams | None = None,
    rejoin: bool = False,
    connect_s: float = 10.0,
    drain_s: float = 5.0,
    insecure: bool = False,
    domain: None = None,
) -> Group:
    """Return a handle on a group, to be used with ``async with``: entering joins, leaving leaves.

    ``group`` is the group's name; ``me`` is the name of this process, which no other member has.

    Four ways in. With ``at``, the process's own ``host:port``, it founds a group of one. With
    ``at`` and ``seeds``, addresses of some members, it joins a running group. With ``found=True``
    as well, it joins the group if that runs, and else founds it with the others: ``seeds`` then
    lists the addresses of all likely members, its own included, and all are given the same list.
    More than half must be there; started together or one by one, they found one group. With
    ``members``, which maps the name of every founding member to its ``host:port``, all of them
    found the group together, or more than half if the rest does not come in time; all must be
    given the same. Who comes later joins, as does a founding member that is started again while
    the group runs, as a new incarnation of its name. (Nothing is kept on disk: if so many founders
    are started again that they are a majority with those who never were, and none of them reaches
    the group that still runs elsewhere, they found another one.)

    ``advertise`` is where the others find this process, as ``host:port``, if that is not where it
    listens: ``at="0.0.0.0:7001", advertise="host-7:7001"``. With ``members``, that is what is
    advertised, and ``at`` says where to listen if it is elsewhere.

    Until it is a member, entering takes at most ``connect_s`` seconds. Leaving sends everything
    that was multicast and takes part in the group until the others have agreed to a view without
    this process, for at most ``drain_s`` seconds, and one more to close connections. Whoever is
    taken for dead by the others finds an ``ExcludedError`` at the end of its stream, or with
    ``rejoin=True`` comes back by itself as a new incarnation, as soon as its application reads.

    ``state`` saves and loads the application's state (:class:`antiphon.State`), so that whoever
    joins starts with that of the others: entering then also waits until it has been loaded. That
    takes as long as it takes, whatever ``connect_s`` is; where no piece comes for 30 s, it ends
    with a ``StateError``. All members must have a state, or none.

    ``flush`` (how a view is left: view-atomic, coordinator or all-to-all) must be the same at all
    members. So must ``protocol`` be: how messages reach the members, if not straight from their
    sender with vector time. It excludes total order, uniform delivery and committers, and needs the
    view-atomic flush. ``token`` says where the token of the total order goes while this process
    holds it: to who sends most (follow), or nowhere (fixed). ``timing`` says how soon silence is
    suspicious; ``datagrams`` how they are sent and received, where causal blocks use them
    (:class:`antiphon.Datagrams`). ``trace`` is a run folder to journal into (``antiphon verify``
    judges it); without it nothing is recorded. Addresses beyond this machine need
    ``insecure=True``: connections are not authenticated yet. Groups of a :class:`antiphon.Process`
    may have a ``domain``.
    """
    _refuse_domain(domain)
    return make_node(
        group, me, members=members, at=at, seeds=seeds, found=found, advertise=advertise,
        state=state, trace=trace, flush=flush, protocol=protocol, token=token, timing=timing,
        datagrams=datagrams, rejoin=rejoin, connect_s=connect_s, drain_s=drain_s, insecure=insecure,
    ).group  # fmt: skip


def _refuse_domain(domain: object) -> None:
    """Refuse a domain: say what has one."""
    if domain is not None:
        message = (
            "domain is for groups of one process that has several: "
            "antiphon.Process(...).join(group, domain=...)"
        )
        raise UsageError(message)


def make_node(
    group: str,
    me: str,
    *,
    members: Mapping[str, str] | None = None,
    at: str | None = None,
    seeds: Sequence[str] = (),
    found: bool = False,
    advertise: str | None = None,
    trace: str | PathLike[str] | None = None,
    flush: str = "view-atomic",
    protocol: GroupProtocol | None = None,
    token: str = "follow",  # noqa: S107 - no secret
    timing: Timing | None = None,
    limits: Limits | None = None,
    datagrams: Datagrams | None = None,
    insecure: bool = False,
    **others: Any,  # noqa: ANN401 - the rest of Config
) -> Node:
    """Return what is behind a handle on a group: for programs that look into it."""
    check_words(flush=flush, token=token)
    check_timing(timing)
    check_trace(trace)
    check_datagrams(datagrams)
    check_used(datagrams, is_used=isinstance(protocol, Blocks))
    ways = configure(
        group, me, members, at, seeds, insecure=insecure, advertise=advertise, found=found
    )
    settings = Settings(
        flush=flush, protocol=protocol, token=token,
        timing=timing if timing is not None else Timing(),
        limits=limits if limits is not None else Limits(),
    )  # fmt: skip
    environment = current_environment()
    check_transports(environment, protocol)
    config = Config(
        group=group, me=me, ways=ways, settings=settings,
        trace=Path(trace) / "events" if trace is not None else None, insecure=insecure,
        environment=environment, datagrams=datagrams, **others,
    )  # fmt: skip
    return Node(config)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main``, a coroutine, like :func:`asyncio.run`; on uvloop where it is installed.

    Ctrl-C cancels ``main``, so that it leaves its groups; then the program ends, without a
    traceback and with status 130, unless it catches the ``KeyboardInterrupt`` that this raises.
    Pressed again, it does not wait for the others. Whatever else ``main`` raises is raised here.
    """
    # Whatever ``main`` raises must not appear to come of a missing uvloop: so the search for it
    # is over, its exception handled, before anything runs.
    factory = _loop_factory()
    try:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(main)
    except KeyboardInterrupt:
        if hasattr(sys, "ps1"):
            raise  # an interactive Python is not to end
    raise Interrupted(INTERRUPTED)  # here, so that it carries no traceback of the loop along


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C, for which Python prints nothing when it ends; caught as ``KeyboardInterrupt``."""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop at hand; None for asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
