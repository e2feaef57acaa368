"""How a process sends and receives datagrams, as an application says it.

Law: what one process has for itself (sizes, pace, buffers) may differ from one to another. Where
packets for everybody are sent may not, and is compared when processes meet: who does not listen
there would hear nothing of the others.
"""

import ipaddress
from dataclasses import dataclass

from antiphon.core.errors import UsageError
from antiphon.net.application.checking import check_place, refuse
from antiphon.net.datagrams.settings import LOOPBACK_BYTES, DatagramSettings
from antiphon.net.transport.address import Address, parse_address
from antiphon.net.transport.interface import MulticastPlace

_HOPS_MAX = 255
_DEFAULT = DatagramSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Datagrams:
    """How a process sends and receives datagrams, in all its groups that use them.

    - ``packet_bytes``: of a full packet; by default 1,400, and 60,000 on loopback. More than the
      path carries without fragments of IP is lost more often.
    - ``bytes_per_s``: a rate, over seconds, that the line and the slowest receiver can take;
      None: as fast as the system does. ``burst_bytes`` may leave at once after a pause.
    - ``buffer_bytes``: what the system is asked to keep of what arrived, and of what is to leave.
    - ``multicast``: a group address of IP multicast, such as ``"239.255.7.7:7400"``: what is for
      everybody is sent there once, instead of to each. The same at all members; the network has to
      carry it. Other groups of processes want another port.
    - ``interface``: by which multicast is sent and heard: its address (IPv4) or name (IPv6). By
      default the address that the process listens at, if that is one.
    - ``hops``: how many routers pass multicast on, and one more: 1 stays in the local network.
    """

    packet_bytes: int | None = None
    bytes_per_s: int | None = None
    burst_bytes: int = _DEFAULT.burst_bytes
    buffer_bytes: int = _DEFAULT.buffer_bytes
    multicast: str = ""
    interface: str = ""
    hops: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        numbers = {
            "packet_bytes": self.packet_bytes, "bytes_per_s": self.bytes_per_s,
            "burst_bytes": self.burst_bytes, "buffer_bytes": self.buffer_bytes, "hops": self.hops,
        }  # fmt: skip
        for name, value in numbers.items():
            is_left_out = value is None and name in ("packet_bytes", "bytes_per_s")
            if not is_left_out and (isinstance(value, bool) or not isinstance(value, int)):
                refuse(name, "a whole number", value)
        if not 0 <= self.hops <= _HOPS_MAX:
            refuse("hops", f"a number from 0 to {_HOPS_MAX}", self.hops)
        check_place("multicast", self.multicast)
        if not isinstance(self.interface, str):
            refuse("interface", "an address or the name of an interface, as text", self.interface)
        if self.multicast and not _is_multicast(parse_address(self.multicast)):
            expected = "a group address of IP multicast and a port, such as '239.255.7.7:7400'"
            refuse("multicast", expected, self.multicast)
        self.settings(Address("127.0.0.1", 0))

    @property
    def description(self) -> str:
        """What all members must have been given alike; empty: each is sent its own copy."""
        return f"IP multicast at {parse_address(self.multicast)}" if self.multicast else ""

    def settings(self, at: Address) -> DatagramSettings:
        """Return what the socket of a process that listens at ``at`` is given."""
        usual = LOOPBACK_BYTES if at.is_loopback else _DEFAULT.packet_bytes_max
        place = None
        if self.multicast:
            address = parse_address(self.multicast)
            interface = self.interface
            if not interface and ipaddress.ip_address(address.host).version == 4:
                interface = _as_interface(at)
            place = MulticastPlace(address=address, interface=interface, hops=self.hops)
        return DatagramSettings(
            packet_bytes_max=usual if self.packet_bytes is None else self.packet_bytes,
            bytes_per_s=self.bytes_per_s,
            burst_bytes=self.burst_bytes,
            buffer_bytes=self.buffer_bytes,
            multicast=place,
        )


def check_datagrams(datagrams: object) -> None:
    """Refuse what does not say how datagrams are sent."""
    if datagrams is not None and not isinstance(datagrams, Datagrams):
        expected = "an antiphon.Datagrams, such as Datagrams(bytes_per_s=10_000_000)"
        refuse("datagrams", expected, datagrams)


def check_used(datagrams: Datagrams | None, *, is_used: bool) -> None:
    """Refuse them where a process is in one group for good, and that does not use any."""
    if datagrams is not None and not is_used:
        message = "datagrams are of causal blocks: join with protocol=antiphon.Blocks()"
        raise UsageError(message)


def _is_multicast(address: Address) -> bool:
    try:
        return ipaddress.ip_address(address.host).is_multicast
    except ValueError:
        return False


def _as_interface(at: Address) -> str:
    """Return the address of the interface that a process listens at, if it is that of one."""
    try:
        host = ipaddress.ip_address(at.host)
    except ValueError:
        return ""
    return str(host) if host.version == 4 and not host.is_unspecified else ""
