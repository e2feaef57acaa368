"""What the tests of the endpoint share: one that has begun, and words for what it is given."""

from typing import Any, TypeVar

from tests.membership.hands import A, B, C, view_of

from antiphon.core.ids import ProcessId, Rank, ViewNumber
from antiphon.core.runs import PORT_APPLICATION, Letter, Order
from antiphon.core.views import View
from antiphon.membership.failure_detector import Timing
from antiphon.stack.effects import (
    Effect,
    SendLetter,
    SendRun,
    SetTimer,
)
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import (
    CallRequested,
    MulticastRequested,
)
from antiphon.stack.receiver import GROUP
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings
from antiphon.toolkit.calls import Wanted

T = TypeVar("T")
THREE = view_of(A, B, C)
CAUSAL = How(Order.CAUSAL)
BEAT = Timing().heartbeat_us


def endpoint(
    me: ProcessId = B, view: View | None = THREE, settings: Settings | None = None, **options: Any
) -> Endpoint:
    """Return an endpoint that has begun, at time 0."""
    machine = Endpoint(me, view, settings or Settings(), 0, **options)
    machine.start()
    return machine


def of(kind: type[T], effects: list[Effect]) -> list[T]:
    """Return the effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def said(payload: bytes, how: How = CAUSAL) -> MulticastRequested:
    """Return the wish to multicast a message."""
    return MulticastRequested([payload], how, len(payload))


def letter(sender: int, payload: bytes = b"", port: int = PORT_APPLICATION) -> Letter:
    """Return a letter of a member of the first view."""
    return Letter(
        GROUP, ViewNumber(1), Rank(sender), 1, Order.CAUSAL, (), [payload], len(payload), port=port
    )  # fmt: skip


def timers(effects: list[Effect]) -> dict[str, int]:
    """Return which timers are set, and to when."""
    return {effect.timer.kind: effect.time_us for effect in of(SetTimer, effects)}


def sent_words(effects: list[Effect]) -> list[bytes]:
    """Return what goes out, in order: runs and letters."""
    words: list[bytes] = []
    for effect in effects:
        if isinstance(effect, SendRun):
            words += effect.run.payloads
        elif isinstance(effect, SendLetter):
            words += effect.letter.payloads
    return words


def call(number: int, deadline_us: int | None = None) -> CallRequested:
    """Return the wish to call all other members."""
    return CallRequested(number, b"?", Wanted.ALL, deadline_us, Order.CAUSAL)
