"""Every test on sockets runs twice: on asyncio's own event loop, and on uvloop if there is one."""

import asyncio

import pytest
from tests.net.harness import LoopFactory


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> LoopFactory:
    """What makes the event loop of this test."""
    if request.param == "asyncio":
        return asyncio.new_event_loop
    factory: LoopFactory = pytest.importorskip("uvloop").new_event_loop
    return factory
