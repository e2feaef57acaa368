"""A seed that names places: those that are none, or beyond this machine, are not dialled."""

import asyncio
import gc
from typing import Any

import pytest
from tests.net.harness import QUICK, LoopFactory, free_addresses, play
from tests.net.raw_peer import DOMAIN, RawSenior, handshake

from antiphon import Process
from antiphon.core.control import AnyMessage, Elsewhere, Standing
from antiphon.core.frames import encode_control
from antiphon.core.ids import ProcessId
from antiphon.net.process import bootstrap
from antiphon.net.session import dialler
from antiphon.net.session.probe import Answer, is_address, probe
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.interface import Transport

pytestmark = pytest.mark.net

LIES = ("192.0.2.1:7001", "nowhere", "", "127.0.0.1:99999")
ANSWERS: dict[str, AnyMessage] = {
    "elsewhere": Elsewhere(LIES),
    "a member": Standing(9, is_blocked=True, is_known=False, places=LIES),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that the places go to at which a joiner asks."""
    places: list[str] = []

    async def note(transport: Transport, address: str, hello: bytes, timeout_s: float) -> Answer:
        places.append(address)
        return await probe(transport, address, hello, timeout_s)

    monkeypatch.setattr(bootstrap, "probe", note)
    return places


async def _late(addresses: dict[str, str], frames: tuple[bytes, ...]) -> None:
    """Have bob ask the liar first, and alice, who comes later, take him in."""
    failed: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    seeds = [addresses["liar"], addresses["alice"]]
    bob = Process("bob", at=addresses["bob"], seeds=seeds, timing=QUICK)
    alice = Process("alice", at=addresses["alice"], timing=QUICK)
    async with RawSenior(addresses["liar"], *frames), bob:
        handle = bob.join("choir")
        entering = asyncio.ensure_future(handle.__aenter__())
        await asyncio.sleep(0.5)
        async with alice, alice.join("choir"):
            group = await entering
            assert group.members == ("alice", "bob")
            await group.__aexit__()
    gc.collect()
    assert not failed


@pytest.mark.parametrize("what", ANSWERS)
def test_places_that_a_liar_names_are_not_dialled(
    what: str, loop_factory: LoopFactory, asked: list[str]
) -> None:
    """The joiner finds its group through the seed that is honest."""
    addresses = free_addresses(("alice", "bob", "liar"))
    liar = ProcessId("liar", 1, 1, addresses["liar"])
    frames = handshake(liar, secret=b""), encode_control(DOMAIN, 0, ANSWERS[what])

    play(loop_factory, _late(addresses, frames))
    assert set(asked) == {addresses["liar"], addresses["alice"]}


def test_who_says_that_it_is_beyond_this_machine_is_not_asked_to_take_anybody_in(
    loop_factory: LoopFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address comes with its answer, and would be dialled next."""
    dialled: list[str] = []

    def note(text: str) -> Address:
        dialled.append(text)
        return parse_address(text)

    monkeypatch.setattr(dialler, "parse_address", note)
    addresses = free_addresses(("alice", "bob", "liar"))
    liar = ProcessId("liar", 1, 1, "nowhere")
    standing = Standing(9, is_blocked=False, is_known=False)
    frames = handshake(liar, secret=b"", view=9), encode_control(DOMAIN, 0, standing)

    play(loop_factory, _late(addresses, frames))
    assert set(dialled) == {addresses["alice"]}


def test_what_is_no_address_is_none_beyond_this_machine_either() -> None:
    """With ``insecure`` other machines may be dialled, but only places."""
    assert is_address("192.0.2.1:7001", insecure=True)
    assert not is_address("192.0.2.1:7001", insecure=False)
    assert not is_address("nowhere", insecure=True)
