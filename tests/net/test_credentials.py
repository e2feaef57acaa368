"""Secrets of former incarnations: who asks for one is answered so that it can believe it."""

from msgspec.structs import replace

from antiphon.core.frames import Hello
from antiphon.core.handshake import Handshake
from antiphon.core.ids import ProcessId
from antiphon.net.session.credentials import ASK, DIAL, FORMER_MAX, Credentials, proven
from antiphon.net.session.peer import Peer
from antiphon.net.transport.environment import SYSTEM

ANNA = ProcessId("anna", 0, 7, "127.0.0.1:1")


class Incarnation:
    """An incarnation of ben, which has a session with anna."""

    def __init__(self, number: int, before: "Incarnation | None" = None) -> None:
        """Inherit what the one before knew."""
        self.process = ProcessId("ben", 0, 100 + number, "127.0.0.1:2")
        self.peer: Peer = Peer(ANNA)
        self.peer.secret = bytes([number]) * 16
        self.credentials = Credentials(self, SYSTEM)
        if before is not None:
            before.credentials.remember(before.peer)
            self.credentials.inherit(before.credentials)

    def hello(
        self,
        other: ProcessId,
        to: int = 0,
        received: int = 0,
        *,
        is_asking: bool = False,
        group: str | None = None,
    ) -> Hello:
        """Say who it is."""
        del other, group
        said = Handshake("", "", self.process, 1, to=to, received=received, is_asking=is_asking)
        return Hello(0, said)


def asked_for(ben: Incarnation, *, purpose: bytes = ASK) -> Handshake:
    """Return what anna says to who she knew as ``ben``."""
    said = Handshake("yard", "view-atomic", ANNA, 1, is_asking=purpose == ASK)
    return proven(ben.peer.secret, purpose, said, ben.process)


def test_former_secrets_are_shown_beside_that_of_the_session() -> None:
    """Each incarnation shows those of the ones before, the latest few, and its own."""
    incarnations = [Incarnation(1)]
    for number in range(2, FORMER_MAX + 3):
        incarnations.append(Incarnation(number, incarnations[-1]))
    forgotten, *known = incarnations
    latest = known[-1]
    for ben in known:
        handshake = asked_for(ben)
        assert latest.credentials.shown(handshake, latest.peer) == ben.peer.secret
        other = replace(handshake, view=9)  # what the proof does not cover
        assert not latest.credentials.shown(other, latest.peer)
    assert not latest.credentials.shown(asked_for(forgotten), latest.peer)


def test_session_of_a_former_incarnation_is_not_gone_on_with() -> None:
    """Its secret is for answers only."""
    before = Incarnation(1)
    ben = Incarnation(2, before)
    for peer in (None, ben.peer):
        assert not ben.credentials.shown(asked_for(before, purpose=DIAL), peer)
    assert ben.credentials.shown(asked_for(ben, purpose=DIAL), ben.peer) == ben.peer.secret
