"""Transports: what they promise is checked before anything is opened."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace

import pytest
from tests.net.harness import LoopFactory, play

from antiphon import UsageError, join
from antiphon.net.transport.address import Address
from antiphon.net.transport.environment import SYSTEM, set_environment
from antiphon.net.transport.interface import NEEDS, P, Promise, check_needs
from antiphon.net.transport.tcp import TcpServer, TcpTransport


class Datagrams:
    """A transport that makes no promise but that everybody can be reached."""

    name = "UDP"
    promises = frozenset({Promise.FULL_MESH})

    async def listen(self, address: Address, factory: Callable[[], P]) -> TcpServer:
        """Never called."""
        raise NotImplementedError

    async def connect(
        self, address: Address, factory: Callable[[], P]
    ) -> tuple[asyncio.Transport, P]:
        """Never called."""
        raise NotImplementedError


def test_tcp_has_what_every_protocol_needs() -> None:
    """Nothing of today is refused on TCP."""
    check_needs(SYSTEM.transport)


def test_transport_that_lacks_something_is_refused_in_one_sentence() -> None:
    """The sentence names who needs what, and what lacks it."""
    with pytest.raises(UsageError) as refusal:
        check_needs(Datagrams())
    assert str(refusal.value) == (
        "sessions need a transport that loses nothing as long as a connection lasts, and UDP does "
        "not promise that: choose another transport"
    )


def test_group_is_not_joined_over_a_transport_that_lacks_something() -> None:
    """The call that would join says so, before anything is opened."""
    environment = replace(SYSTEM, transport=Datagrams())

    def attempt() -> None:
        set_environment(environment)
        with pytest.raises(UsageError, match="UDP does not promise that"):
            join("choir", me="alice", at="127.0.0.1:0")

    copy_context().run(attempt)
    join("choir", me="alice", at="127.0.0.1:0")


def test_protocol_that_needs_little_is_served_by_a_poor_transport() -> None:
    """A protocol for datagrams would be taken: only what is needed is asked for."""
    check_needs(Datagrams(), {"causal blocks": frozenset({Promise.FULL_MESH})})


@pytest.mark.parametrize("promise", Promise)
def test_every_promise_is_needed_by_something(promise: Promise) -> None:
    """A transport that lacks one of them is refused."""
    assert any(promise in needed for needed in NEEDS.values())
    poorer = Datagrams()
    poorer.promises = frozenset(Promise) - {promise}
    with pytest.raises(UsageError, match=promise.value):
        check_needs(poorer)


@pytest.mark.net
def test_names_that_cannot_be_a_hosts_are_an_oserror(loop_factory: LoopFactory) -> None:
    """Whatever is wrong with an address, a transport raises OSError and nothing else."""

    async def scene() -> None:
        nowhere = Address("a" * 70, 7001)
        for attempt in (TcpTransport().listen, TcpTransport().connect):
            with pytest.raises(OSError, match="label"):
                await attempt(nowhere, asyncio.Protocol)

    play(loop_factory, scene())
