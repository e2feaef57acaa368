"""Free ports on loopback, for the demo, benchmarks and tests.

Law: none of the ports that systems give to outgoing connections, where there is a choice: between
the look and the use such a port may be given to somebody, even to one who dials it.
"""

import os
import socket

_FIRST, _COUNT = 20_000, 12_000
"""Below the ports given to outgoing connections (from 32,768 on Linux, 49,152 elsewhere)."""

_TRIES_MAX = 1_000


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports that were free a moment ago."""
    sockets = [_free_socket() for _ in range(count)]
    ports = tuple(int(one.getsockname()[1]) for one in sockets)
    for one in sockets:
        one.close()
    return ports


def _free_socket() -> socket.socket:
    for _ in range(_TRIES_MAX):
        # Not from a seed: two programs that look at the same time must not look alike.
        port = _FIRST + int.from_bytes(os.urandom(4)) % _COUNT  # noqa: TID251 - see above
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            continue
    return socket.create_server(("127.0.0.1", 0))
