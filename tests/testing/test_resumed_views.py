"""A view that was blocked and goes on is the view that it was."""

from antiphon.net.stream.events import View
from antiphon.testing import Cluster


def test_resumed_view_has_the_members_of_its_number() -> None:
    """The machine can be views ahead of the effects that are being done."""
    with Cluster(1) as cluster:
        groups = cluster.found("room", "alice", "bob", "carol")
        read = cluster["bob"].collect(groups["bob"])
        local = groups["bob"]._local
        first = local.driver.latest
        assert first is not None
        cluster.kill("carol")
        cluster.wait_until(lambda: groups["bob"].members == ("alice", "bob"))
        del read[:]
        # The effects of a step that went from view 1, blocked, to view 2: not yet done.
        cluster["bob"].context.run(local.on_view, first)
        cluster["bob"].context.run(local.on_block, (first.members[1],))
        cluster["bob"].context.run(local.on_block, None)
        cluster.advance(0.1)
        views = [event for event in read if isinstance(event, View)]
        assert views[-1] == View(1, ("alice", "bob", "carol"))
