"""State transfer inside the endpoint, from the view of the joiner to its last piece."""

from tests.membership.hands import A, B, view_of
from tests.stack.memory_driver import MemoryDriver

from antiphon.core.ids import ProcessId
from antiphon.stack.effects import Effect, ExpectState, LoadChunk, SaveState
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import JoinRequested, PieceLoaded, StateSaved
from antiphon.stack.settings import Settings


def test_state_is_given_to_a_joiner() -> None:
    """It is saved where the view begins, sent in pieces as they are loaded, and then complete."""
    x = ProcessId("x", address="at x")
    loaded: list[bytes] = []
    expected: list[ExpectState] = []

    def see(who: ProcessId, effect: Effect) -> None:
        match effect:
            case SaveState(number):
                driver.give(who, StateSaved(number, [b"all ", b"that ", b"was"]))
            case ExpectState():
                expected.append(effect)
            case LoadChunk(number, data):
                loaded.append(data)
                driver.give(who, PieceLoaded(number))
            case _:
                pass

    driver = MemoryDriver(see)
    for me, view in ((A, view_of(A, B)), (B, view_of(A, B)), (x, None)):
        driver.endpoints[me] = Endpoint(me, view, Settings(), 0, with_state=True)
        driver._do_all(me, driver.endpoints[me].start())
    driver.give(x, JoinRequested(B))
    driver.run(5_000_000)
    assert b"".join(loaded) == b"all that was"
    assert len(expected) == 1
    transfer = driver.endpoints[x].ports.transfer
    assert transfer is not None
    assert transfer.has_state
    latest = driver.endpoints[A].latest
    assert latest is not None
    assert latest.members == (A, B, x)
