"""A partition inside one event loop: what members of different sides write to each other waits.

Law: as on a cut network, connections stay, nothing is lost, and what was written comes, in order,
when the cut is healed. Whoever connects anew meanwhile gets through only within its side.
"""

from collections.abc import Sequence
from contextlib import suppress

import pytest

from antiphon.net.session.mesh import Mesh
from antiphon.net.session.peer import PeerLink
from antiphon.net.transport.link import Link


class Partition:
    """Cuts and heals."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand between all links of this process and the network."""
        self._side: frozenset[str] = frozenset()
        self._held: list[tuple[PeerLink, bytes]] = []
        self._write = Link.write
        partition = self

        def write(link: PeerLink, stream_bytes: bytes) -> None:
            partition.write(link, stream_bytes)

        monkeypatch.setattr(Link, "write", write)

    def cut(self, side: Sequence[str]) -> None:
        """Part these members from all others."""
        self._side = frozenset(side)

    def heal(self) -> None:
        """Let through what waits, and all that comes."""
        self._side = frozenset()
        held, self._held = self._held, []
        for link, data in held:
            with suppress(OSError, RuntimeError):  # uvloop's, of a link that was closed meanwhile
                self._write(link, data)

    def write(self, link: PeerLink, data: bytes) -> None:
        """Write, or hold back."""
        owner = link.owner
        other = link.peer or link.dialled
        if other is not None and isinstance(owner, Mesh):
            here, there = owner._owner.process.name, other.process.name
            if (here in self._side) != (there in self._side):
                self._held.append((link, data))
                return
        self._write(link, data)
