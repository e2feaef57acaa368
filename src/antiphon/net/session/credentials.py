"""Credentials: how one incarnation makes sure who is at the other end, and shows who it is.

Law: a process is who listens at its address; nobody else can while it lives. So a first handshake
is believed when the process, asked there, knows the secret that it offers; an answer to a first
handshake, because it comes from there. Once a session has begun, only its secret counts.
Whoever shows nothing is told nothing that it could use, and nothing is done for it.

A session has a secret, drawn by who dials first and told once, in its first handshake, to who
listens where the other process does. It is never said again: later handshakes carry a code over
all that they say and for whom (HMAC, RFC 2104), which only who knows the secret can make or check.
An answer covers the number that the question has drawn, so no earlier answer fits.
"""

import hmac
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from antiphon.core.errors import PeerError
from antiphon.core.frames import Hello, encode_hello
from antiphon.core.handshake import SECRET_BYTES, Handshake, encode_handshake
from antiphon.core.ids import ProcessId
from antiphon.net.session.peer import Peer, PeerLink
from antiphon.net.session.probe import Answer, probe
from antiphon.net.transport.environment import Environment

DIAL, ASK, ANSWER = b"dial", b"ask", b"answer"
"""What a handshake is for; a proof for one purpose is none for another."""

CONFIRM_S = 3.0
"""How long a process may take to confirm that it has dialled."""

PAST_MAX, PAST_GUESTS_MAX = 1024, 64
"""Former peers whose secrets are remembered, to answer them so that they can believe it."""

FORMER_MAX = 8
"""Sessions with one of them that are: of so many incarnations of this process, the latest."""


class Former(NamedTuple):
    """What was shared with a process that is no peer any more."""

    secret: bytes
    hearer: ProcessId
    """Which incarnation of this process the other one knew."""


Past = dict[ProcessId, tuple[Former, ...]]
"""For former peers, what each incarnation of this process shared with them, the latest last."""


class CredentialsOwner(Protocol):
    """The incarnation whose credentials they are."""

    process: ProcessId

    def hello(
        self,
        other: ProcessId,
        to: int = 0,
        received: int = 0,
        *,
        is_asking: bool = False,
        group: str | None = None,
    ) -> Hello:
        """Return what to say to ``other``: about ``group``, or one for which it is needed."""


class Credentials:
    """Of one incarnation."""

    def __init__(self, owner: CredentialsOwner, environment: Environment) -> None:
        """Know nobody."""
        self._owner = owner
        self._environment = environment
        self._past: Past = {}
        self._past_guests: Past = {}

    # Who dials.

    def to_dial(self, peer: Peer, link: PeerLink) -> bytes:
        """Return the handshake for a peer that has been dialled."""
        hello = self._owner.hello(peer.process, peer.start, peer.session.received)
        if not peer.secret:
            peer.offered = draw_secret(self._environment)
            said = replace(hello.handshake, secret=peer.offered)
        else:
            link.nonce = draw_secret(self._environment)
            said = replace(hello.handshake, nonce=link.nonce)
            said = proven(peer.secret, DIAL, said, peer.process)
        return encode_hello(hello.domain, said)

    def believe(self, peer: Peer, link: PeerLink, handshake: Handshake) -> None:
        """Refuse the answer of one that is not the process with which the session is."""
        if peer.secret:
            is_its = is_proven(peer.secret, ANSWER, handshake, self._owner.process)
            if not is_its or handshake.nonce != link.nonce:
                message = f"{peer.process.name} does not show that it is the one it was"
                raise PeerError(message)
        elif peer.offered:
            peer.secret = peer.offered
        else:
            message = f"{peer.process.name} goes on with what this process does not know of"
            raise PeerError(message)

    # Who asks.

    async def ask(
        self,
        process: ProcessId,
        start: int,
        secret: bytes,
        timeout_s: float,
        group: str | None = None,
    ) -> tuple[Answer, bool]:
        """Ask who is at a process's address; return also whether it knows ``secret``."""
        owner, nonce = self._owner, draw_secret(self._environment)
        hello = owner.hello(process, start, is_asking=True, group=group)
        question = replace(hello.handshake, nonce=nonce)
        if secret:
            question = proven(secret, ASK, question, process)
        asked = encode_hello(hello.domain, question)
        answer = await probe(self._environment.transport, process.address, asked, timeout_s)
        answer = answer._replace(is_of_group=bool(hello.domain) and answer.domain == hello.domain)
        said = answer.handshake
        return answer, said.nonce == nonce and is_proven(secret, ANSWER, said, owner.process)

    async def confirm(self, handshake: Handshake) -> bool:
        """Ask a process, where it listens, whether it is the one that has dialled here."""
        try:
            dialled = handshake.process.bare()
            answer, is_its = await self.ask(dialled, 0, handshake.secret, CONFIRM_S)
        except (OSError, PeerError):
            return False
        said = answer.handshake
        return is_its and (said.process.bare(), said.start) == (dialled, handshake.start)

    # Who is dialled.

    def is_resumed(self, peer: Peer, handshake: Handshake) -> bool:
        """Tell whether a handshake is of the process with which the session is."""
        return is_proven(peer.secret, DIAL, handshake, self._owner.process)

    def answer(
        self, handshake: Handshake, peer: Peer | None, *, to: int = 0, received: int = 0
    ) -> bytes:
        """Return the answer to a handshake, with a proof for who has given one."""
        hello = self._owner.hello(handshake.process, to, received, group=handshake.group)
        is_other = peer is not None and peer.start not in {0, handshake.start}
        said = replace(hello.handshake, nonce=handshake.nonce, knows_other=is_other)
        if secret := self.shown(handshake, peer):
            said = proven(secret, ANSWER, said, handshake.process.bare())
        return encode_hello(hello.domain, said)

    def shown(self, handshake: Handshake, peer: Peer | None) -> bytes:
        """Return the secret of which a handshake has a proof; empty if there is none."""
        me, who = self._owner.process, handshake.process.bare()
        known: list[Former] = []
        if peer is not None:
            known = [Former(peer.secret, me), Former(peer.offered, me)]
        if handshake.is_asking:  # else there is no other session to go on with, as it has to know
            # It may ask for an earlier incarnation of this process, and know this one as well.
            known += [*self._past.get(who, ()), *self._past_guests.get(who, ())]
        purpose = ASK if handshake.is_asking else DIAL
        for secret, hearer in known:
            if is_proven(secret, purpose, handshake, hearer):
                return secret
        return b""

    def secret_of(self, process: ProcessId) -> bytes:
        """Return the secret shared with a former peer; empty if there is none."""
        former = self._past.get(process)
        return former[-1].secret if former else b""

    def remember(self, peer: Peer) -> None:
        """Keep the secret of a peer that is forgotten otherwise; guests only displace guests."""
        if not peer.secret:
            return
        past, count = self._past, PAST_MAX
        if peer.is_guest:
            past, count = self._past_guests, PAST_GUESTS_MAX
        me = self._owner.process
        others = [former for former in past.get(peer.process, ()) if former.hearer != me]
        past[peer.process] = (*others[1 - FORMER_MAX :], Former(peer.secret, me))
        while len(past) > count:
            del past[next(iter(past))]

    def inherit(self, former: "Credentials") -> None:
        """Be able to tell whom an earlier incarnation of this process knew that it is out."""
        self._past = former.take_past()

    def take_past(self) -> "Past":
        """Hand over what was shared with former peers: another incarnation begins."""
        taken, self._past = self._past, {}
        return taken


def draw_secret(environment: Environment) -> bytes:
    """Draw what nobody can guess."""
    return environment.draw(SECRET_BYTES)


def proven(secret: bytes, purpose: bytes, handshake: Handshake, hearer: ProcessId) -> Handshake:
    """Return ``handshake`` with the proof that its speaker knows ``secret``."""
    return replace(handshake, proof=_code(secret, purpose, handshake, hearer))


def is_proven(
    secret: bytes | None, purpose: bytes, handshake: Handshake, hearer: ProcessId
) -> bool:
    """Tell whether the speaker of ``handshake`` knows ``secret``, if there is one."""
    if not secret or not handshake.proof:
        return False
    return hmac.compare_digest(handshake.proof, _code(secret, purpose, handshake, hearer))


def _code(secret: bytes, purpose: bytes, handshake: Handshake, hearer: ProcessId) -> bytes:
    bare = encode_handshake(replace(handshake, proof=b""))
    said = b"\n".join([purpose, repr(hearer).encode(), bare])
    return hmac.digest(secret, said, "sha256")[:SECRET_BYTES]
