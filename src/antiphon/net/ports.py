"""Free ports on loopback, for the demo, benchmarks and tests."""

import socket


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports that were free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = tuple(int(one.getsockname()[1]) for one in sockets)
    for one in sockets:
        one.close()
    return ports
