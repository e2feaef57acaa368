"""Free ports on loopback, for the demo, benchmarks and tests.

Law: none of the ports that systems give to outgoing connections, where there is a choice: between
the look and the use such a port may be given to somebody, even to one who dials it. And none that
another program found here a while ago: a port is claimed by a UDP socket ``_COUNT`` below, which is
in nobody's way, and goes with the program. Free are both of a number, for TCP and for UDP.
"""

import socket
from collections import deque

from antiphon.net.transport.environment import SYSTEM

_FIRST, _COUNT = 20_000, 12_000
"""Below the ports given to outgoing connections (from 32,768 on Linux, 49,152 elsewhere)."""

_TRIES_MAX = 1_000

_claims: deque[socket.socket] = deque()
_CLAIMS_MAX = 128


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports that were free a moment ago."""
    return tuple(_free_port() for _ in range(count))


def _free_port() -> int:
    for _ in range(_TRIES_MAX):
        # Not from a seed: two programs that look at the same time must not look alike.
        port = _FIRST + int.from_bytes(SYSTEM.draw(4)) % _COUNT
        if _claim(port):
            return port
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        return int(any_port.getsockname()[1])


def _claim(port: int) -> bool:
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", port - _COUNT))
        socket.create_server(("127.0.0.1", port)).close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    if len(_claims) > _CLAIMS_MAX:
        _claims.popleft().close()
    return True
