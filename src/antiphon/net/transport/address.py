"""Addresses: ``host:port``, and whether traffic to them stays on this machine.

Law: nothing beyond loopback travels unauthenticated unless the caller says ``insecure=True``.
"""

import ipaddress
from dataclasses import dataclass

from antiphon.core.errors import UsageError

_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it is written in a configuration."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether traffic to it cannot leave this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str, *, port_min: int = 1) -> Address:
    """Return the address that ``text`` names, as ``host:port`` or ``[v6]:port``."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not colon or not host or not port.isascii() or not port.isdigit():
        message = f"address {text!r} is not of the form host:port, such as 127.0.0.1:7001"
        raise UsageError(message)
    if len(port) > 5 or not port_min <= int(port) <= _PORT_MAX:
        message = f"address {text!r} has a port outside {port_min} to {_PORT_MAX}"
        raise UsageError(message)
    # One address and not several: nobody listens there, or somebody does.
    return Address("127.0.0.1" if host == "localhost" else host, int(port))


def check_insecure(addresses: dict[str, Address], *, insecure: bool) -> None:
    """Refuse addresses beyond loopback unless the caller accepts that anyone may join in."""
    if insecure:
        return
    for name, address in addresses.items():
        if not address.is_loopback:
            message = (
                f"{name} is at {address}, beyond this machine, and connections are not "
                "authenticated yet: pass insecure=True if you trust the whole network"
            )
            raise UsageError(message)
