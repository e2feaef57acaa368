"""One session per pair of processes, whoever began it and however often it has slept."""

from collections.abc import Sequence

import pytest

import antiphon
from antiphon.core.control import Alive
from antiphon.core.frames import Frame, Runs
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Run
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.driver.outlet import Outlet
from antiphon.net.group.group import Group
from antiphon.net.session.peer import Peer
from antiphon.net.stream.events import Event, Message, View
from antiphon.testing import Cluster
from antiphon.testing.cluster import Process

TIMING = antiphon.Timing(heartbeat_us=50_000, timeout_us=600_000)
SEEDS = range(1, 5)


class House:
    """Processes of a cluster that are in several groups."""

    def __init__(self, cluster: Cluster, *names: str) -> None:
        """Let them listen; they know each other's addresses."""
        self._cluster = cluster
        self.heard: dict[tuple[str, str], list[Event]] = {}
        """What was read, by process and group."""
        self._here = {name: cluster.process(name) for name in names}
        self._processes = {name: here.run(self._open(here)) for name, here in self._here.items()}

    async def _open(self, here: Process) -> antiphon.Process:
        seeds = [other.address for other in self._here.values() if other is not here]
        process = antiphon.Process(here.name, at=here.address, seeds=seeds, timing=TIMING)
        return await process.__aenter__()

    def join(self, *wanted: tuple[str, str], seeds: Sequence[str] | None = None) -> list[Group]:
        """Have processes join groups, all at once; return the handles."""
        tasks = []
        for name, group in wanted:
            handle = self._processes[name].join(group, seeds=seeds)
            tasks.append(self._here[name].start(handle.__aenter__()))
        handles = [self._cluster.wait_for(task) for task in tasks]
        for (name, group), handle in zip(wanted, handles, strict=True):
            self.heard[name, group] = self._here[name].collect(handle)
        return handles

    def found(self, name: str, group: str) -> Group:
        """Have a process found a group alone."""
        (handle,) = self.join((name, group), seeds=[])
        return handle

    def say(self, name: str, handle: Group, payload: bytes) -> None:
        """Have a process multicast, and let it arrive everywhere."""
        self._here[name].run(handle.cbcast(payload))
        self._cluster.advance(1)

    def payloads(self, name: str, group: str) -> list[bytes]:
        """Return what a process has read of a group."""
        return [one.payload for one in self.heard[name, group] if isinstance(one, Message)]

    def check_nobody_failed(self) -> None:
        """Nobody was taken for dead, and nobody blocked."""
        for events in self.heard.values():
            views = [event for event in events if isinstance(event, View)]
            assert all(view.primary and not view.failed for view in views)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_that_ask_each_other_at_once_have_one_session(seed: int) -> None:
    """Both dial, and both draw a secret; cut again and again, the session goes on."""
    with Cluster(seed) as cluster:
        house = House(cluster, "ann", "bob")
        of_ann = house.found("ann", "attic")
        of_bob = house.found("bob", "cellar")
        house.join(("ann", "cellar"), ("bob", "attic"))
        for number in range(5):
            cluster.cut("ann", "bob")
            house.say("ann", of_ann, b"up %d" % number)
            house.say("bob", of_bob, b"down %d" % number)
        cluster.advance(5)
        house.check_nobody_failed()
        for name in ("ann", "bob"):
            assert house.payloads(name, "attic") == [b"up %d" % number for number in range(5)]
            assert house.payloads(name, "cellar") == [b"down %d" % number for number in range(5)]
        cluster.raise_failures()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pause_s", [0.2, 3])
@pytest.mark.parametrize("leaver", ["ann", "bob"])
def test_who_shared_a_group_once_can_share_another(seed: int, pause_s: float, leaver: str) -> None:
    """The session sleeps, at one side or both; one side may have forgotten it."""
    with Cluster(seed) as cluster:
        house = House(cluster, "ann", "bob", "cat")
        house.found("cat", "hall")
        house.found("ann", "attic")
        house.found("bob", "cellar")
        for round_number in range(3):
            shared = dict(
                zip(("ann", "bob"), house.join(("ann", "hall"), ("bob", "hall")), strict=True)
            )
            house.say("ann", shared["ann"], b"%d" % round_number)
            assert house.payloads("bob", "hall") == [b"%d" % round_number]
            for name in (leaver, *shared.keys() - {leaver}):
                cluster[name].leave(shared[name])
                cluster.advance(pause_s)
        house.join(("ann", "cellar"), ("bob", "attic"))
        cluster.advance(5)
        house.check_nobody_failed()
        cluster.raise_failures()


@pytest.mark.parametrize("pause_s", [0.0, 0.02, 0.045])
def test_guest_that_is_gone_is_dialled_when_it_is_needed(pause_s: float) -> None:
    """Whose session was woken in vain is asked ever more seldom, but not once it matters."""
    with Cluster(2) as cluster:
        house = House(cluster, "ann", "bob")
        house.found("bob", "attic")
        cluster.advance(pause_s)
        of_ann = house.found("ann", "cellar")
        (shared,) = house.join(("ann", "attic"))
        cluster.advance(1)
        cluster["ann"].leave(shared)  # ann dialled, and does once more when bob hangs up
        cluster.advance(2)
        began_s = cluster.time_s
        house.join(("bob", "cellar"))
        assert cluster.time_s - began_s < 0.2
        house.say("ann", of_ann, b"welcome")
        assert house.payloads("bob", "cellar") == [b"welcome"]
        house.check_nobody_failed()
        cluster.raise_failures()


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_of_a_group_that_was_just_left_harm_nobody(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One multicasts while the other leaves; the connection, and another group of both, go on.

    Whoever leaves has all that was multicast before: so what comes late is said once more.
    """
    sent: list[tuple[Outlet, Run, list[Peer]]] = []
    late: list[Frame] = []
    send_run, on_frame = Outlet.send_run, Incarnation.on_frame

    def noted_run(
        self: Outlet, run: Run, alive: Alive | None, to: tuple[ProcessId, ...] | None = None
    ) -> int:
        sent.append((self, run, self.members))
        return send_run(self, run, alive, to)

    def noted_frame(self: Incarnation, peer: Peer, frame: Frame) -> None:
        if isinstance(frame, Runs) and frame.domain not in self._by_domain:
            late.append(frame)
        on_frame(self, peer, frame)

    monkeypatch.setattr(Outlet, "send_run", noted_run)
    monkeypatch.setattr(Incarnation, "on_frame", noted_frame)
    with Cluster(seed) as cluster:
        house = House(cluster, "ann", "bob")
        of_ann, hall = house.found("ann", "attic"), house.found("ann", "hall")
        (of_bob, _) = house.join(("bob", "attic"), ("bob", "hall"))
        ends = list(cluster.network.connections("ann", "bob"))
        leaving = cluster["bob"].start(of_bob.__aexit__(None, None, None))
        for number in range(200):
            cluster["ann"].run(of_ann.cbcast(b"%d" % number))
            cluster.advance(0.000_1)
        cluster.wait_for(leaving)
        again = [one for one in sent if one[2]]

        async def repeat() -> None:
            for outlet, run, members in again:
                outlet.members = members
                send_run(outlet, run, None)
                outlet.members = []

        cluster["ann"].run(repeat())
        house.say("ann", hall, b"after")
        assert len(late) >= len(again) > 0
        assert of_ann.members == ("ann",)
        assert house.payloads("ann", "attic") == [b"%d" % number for number in range(200)]
        assert house.payloads("bob", "hall") == [b"after"]
        assert list(cluster.network.connections("ann", "bob")) == ends
        house.check_nobody_failed()
        cluster.raise_failures()
