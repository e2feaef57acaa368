"""What a world of causal blocks must not do.

Law: the oracle judges order, agreement and liveness by the trace alone. Checked here is what a
trace does not tell: that payloads are those that were multicast, that nothing expires early or
is delivered long after its lifetime, that buffers keep their bounds, and that in the end nothing is
held any more, and nobody held up: all that a live process has delivered has been delivered by all.
"""

from collections import defaultdict

from antiphon.oracle import judge
from antiphon.ordering.blocks.messages import BlockMessage
from antiphon.sim.lossy.world import LossyNode, LossyWorld
from antiphon.trace.schema import QUIESCENT
from antiphon.trace.verdict import Status


class BlockChecks:
    """Looks at a world, while it goes on and at its end."""

    def __init__(self, world: LossyWorld) -> None:
        """Look at nothing yet."""
        self._world = world
        self.wrong = ""
        """The first thing that went wrong."""

    def note(self, node: LossyNode, message: BlockMessage) -> None:
        """Look at a delivery."""
        self.wrong = self.wrong or self._say_wrong(node, message) or self._say_full(node)

    def _say_wrong(self, node: LossyNode, message: BlockMessage) -> str:
        world = self._world
        posted = world.posted.get((message.sender, message.block))
        if posted is None:
            return ""  # no-creation: the oracle's
        age_us, lifetime_us = world.now_us - posted.time_us, posted.lifetime_us
        what = f"p{node.rank + 1} delivers message {posted.number} of p{message.sender + 1}"
        if message.is_void:
            is_early = lifetime_us is None or age_us < lifetime_us
            return f"{what} as expired after {age_us} us, early" if is_early else ""
        if message.payload != posted.payload or message.priority != posted.priority:
            return f"{what}, which is another than was multicast"
        # A copy passes from process to process at most once each; time on the way is not counted.
        slack_us = (len(world.nodes) - 1) * world.options.longest_us
        if lifetime_us is not None and age_us > lifetime_us + slack_us:
            return f"{what} {age_us} us after it was multicast for {lifetime_us} us"
        return ""

    def _say_full(self, node: LossyNode) -> str:
        settings, buffer = self._world.settings, node.machine.buffer
        if buffer.waiting > settings.waiting_max:
            return f"p{node.rank + 1} holds {buffer.waiting} messages that wait"
        for sender in range(len(self._world.nodes)):
            if buffer.count(sender) > 2 * settings.window:
                return f"p{node.rank + 1} holds {buffer.count(sender)} messages of p{sender + 1}"
        return ""

    def say_unsettled(self) -> str:
        """Say what the living have not delivered alike, or still hold; empty: nothing."""
        living = self._world.living
        last = {tuple(node.machine.matrix.last) for node in living}
        if len(last) > 1:
            return f"the living have not delivered the same: {sorted(last)}"
        up = {node.rank for node in living}
        for node in living:
            if not node.machine.window.is_open:
                return f"p{node.rank + 1} is still held up, though all have room"
            for held in node.machine.buffer.all():
                message = held.message
                if held.is_delivered or message.sender in up:
                    what = "delivered" if held.is_delivered else "not delivered"
                    name = f"block {message.block} of p{message.sender + 1}"
                    return f"p{node.rank + 1} still holds {name}, {what} there"
        return ""

    def judge(self) -> str:
        """Say what is wrong at the end of a world that has come to rest."""
        world = self._world
        for node in world.living:
            node.rows.stop(world.now_us, QUIESCENT)
        counts: dict[str, int] = defaultdict(int)
        for event in world.events:
            event.index = counts[event.process]
            counts[event.process] += 1
        verdict = judge(world.events, "blocks")
        broken = (item for item in verdict.properties if item.status is Status.VIOLATED)
        return next((item.violations[0].text for item in broken), "")
