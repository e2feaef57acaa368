"""Free ports: nobody else is given one, in this program or in another."""

import socket
import subprocess
import sys

import pytest

from antiphon.net.transport import ports
from antiphon.net.transport.ports import free_ports

pytestmark = pytest.mark.net


def test_ports_are_free_and_differ() -> None:
    """All can be listened at, at the same time."""
    found = free_ports(20)
    servers = [socket.create_server(("127.0.0.1", port)) for port in found]
    for server in servers:
        server.close()
    assert len(set(found)) == 20


def test_port_is_claimed_until_its_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very few ports another program finds those that this one has not."""
    monkeypatch.setattr(ports, "_FIRST", 31_000)
    monkeypatch.setattr(ports, "_COUNT", 8)
    mine = free_ports(3)
    look = (
        "from antiphon.net.transport import ports\n"
        "ports._FIRST, ports._COUNT = 31_000, 8\n"
        "print(*ports.free_ports(3))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    theirs = tuple(map(int, done.stdout.split()))
    assert len({*mine, *theirs}) == 6


def test_claims_are_not_kept_for_ever() -> None:
    """A program that looks for thousands does not run out of files."""
    for _ in range(30):
        free_ports(50)
    assert len(ports._claims) == ports._CLAIMS_MAX
