"""Random worlds of causal blocks keep every promise, and are worlds of a seed."""

from antiphon.sim.lossy.author import BlockAuthor, examine_blocks


def test_worlds_keep_their_promises() -> None:
    """Loss, duplication, reordering, crashes, expiry, full buffers."""
    assert not [found for seed in range(150) if (found := examine_blocks(seed))]


def test_worlds_bring_about_what_they_are_for() -> None:
    """Somewhere in a few worlds each kind of thing happens."""
    happened: set[str] = set()
    for seed in range(60):
        author = BlockAuthor(seed)
        author.live()
        world = author.world
        for node in world.nodes:
            happened |= {name for name, count in node.machine.counts.items() if count}
        happened |= {event.kind for event in world.events}
    assert happened >= {"nulls", "repeated", "duplicates", "dropped", "expired", "crash", "suspect"}


def test_world_is_the_same_again() -> None:
    """Row by row."""
    first, second = BlockAuthor(7), BlockAuthor(7)
    first.live()
    second.live()
    assert first.world.events == second.world.events
    assert first.world.network.sent == second.world.network.sent
