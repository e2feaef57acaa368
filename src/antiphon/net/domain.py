"""Digests: what processes must have been given alike, in four bytes."""

import zlib

from antiphon.core.frames import VERSION
from antiphon.core.ids import ProcessId


def domain_digest(group: str, flush: str, *, with_state: bool, with_commit: bool = False) -> int:
    """Return what tells this domain from others: it is on every frame."""
    said = ["antiphon", str(VERSION), "vector", group, flush, "state" if with_state else ""]
    said += ["commit"] if with_commit else []
    return zlib.crc32("\n".join(said).encode())


def founding_digest(members: tuple[ProcessId, ...]) -> int:
    """Return what tells the founding members from others: names and addresses, in order."""
    said = [f"{member.name} {member.address}" for member in members]
    return zlib.crc32("\n".join(["founding", *said]).encode())
