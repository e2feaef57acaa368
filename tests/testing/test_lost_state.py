"""Two who came back, and wait for a state that nobody has any more, are told that it is lost."""

import asyncio

import antiphon
from antiphon.core.errors import StateError
from antiphon.net.group.application_state import STATE_S
from antiphon.testing import Cluster
from antiphon.testing.driver_application import ReadCounts

TIMING = antiphon.Timing(heartbeat_us=50_000, timeout_us=400_000)
NAMES = ("ann", "bob", "cal")


async def read_to_the_end(handle: antiphon.Group) -> str:
    """Return why the group has ended here."""
    try:
        async for _ in handle:
            await asyncio.sleep(0)
    except StateError as error:
        return str(error)
    return "it has left"


def test_who_waits_for_a_lost_state_waits_no_longer_than_a_joiner() -> None:
    """Whoever had it, and did not read, is gone; those who came back have each other, no more."""
    with Cluster(1) as cluster:
        processes = {name: cluster.process(name) for name in NAMES}
        places = {name: process.address for name, process in processes.items()}
        handles = {
            name: process.handle(
                "room", members=places, timing=TIMING, rejoin=True, state=ReadCounts()
            )
            for name, process in processes.items()
        }
        entering = [processes[name].start(handles[name].__aenter__()) for name in NAMES]
        for task in entering:
            cluster.wait_for(task)
        reading = [processes[name].start(read_to_the_end(handles[name])) for name in NAMES[1:]]
        for name in NAMES[1:]:  # the application of ann, who would give the state, reads nothing
            cluster.partition({name}, set(NAMES) - {name})
            cluster.advance(2)
            cluster.heal()
            cluster.advance(3)
        latest = handles["ann"]._local.driver.latest
        assert latest is not None
        assert latest.stateless == latest.members[1:], "they wait for the state"
        cluster.kill("ann")
        cluster.advance(5)
        assert not any(task.done() for task in reading)
        cluster.advance(STATE_S)
        cluster.raise_failures()
        assert all(task.done() for task in reading)
        assert all("nobody is left who has the group's state" in task.result() for task in reading)
