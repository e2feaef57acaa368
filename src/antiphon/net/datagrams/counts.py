"""What became of datagrams: counted, because nothing else is ever done about it.

Law: whatever arrives, from whomever, is either handed over or counted here under one reason, and
has no other effect. What could not be sent is counted, too: recovery makes up for it.
"""

from dataclasses import dataclass, fields


@dataclass(slots=True)
class DatagramCounts:
    """What became of the datagrams of one group, and of what came to the socket for none.

    - ``sent``, ``sent_bytes``: packets, one for each receiver, or one for all by IP multicast.
    - ``received``, ``received_bytes``, ``items``: packets of members that were opened for the first
      time, and could be read; what was in them.
    - ``fragments``, ``abandoned``: pieces of large items; items of which not all pieces came.
    - dropped as they came: ``cut`` (too short to be a packet), ``other_version``, ``other_group``
      (of none that is open here), ``unknown_key`` (it was dropped, or never came; ``early``: waits
      for one), ``own`` (as IP multicast gives back), ``not_a_member``, ``replayed`` (there before,
      or too old to tell), ``forged`` (not sealed with the key it names, or changed on its way),
      ``malformed`` (sealed by a member, and yet no items). ``dropped``: all of these.
    - not sent: ``overflow`` (no room in the queue), ``unsealed`` (no key yet, and no room to wait),
      ``unreachable`` (nobody knows where the receiver's name is), ``refused`` (by the system).
    """

    received: int = 0
    """Packets that were opened, of members, for the first time, and could be read."""
    received_bytes: int = 0
    items: int = 0
    """Items handed over."""
    sent: int = 0
    """Packets, one for each receiver; one for all who receive at a group address."""
    sent_bytes: int = 0
    # Dropped as they arrived:
    cut: int = 0
    """Too short to be a packet."""
    other_version: int = 0
    other_group: int = 0
    """Of no group that is open here."""
    early: int = 0
    """Under a key that is not known yet: kept for a while, and then counted as what it is."""
    unknown_key: int = 0
    """Under a key that was dropped, or never came."""
    own: int = 0
    """Of this process itself, as IP multicast gives back."""
    not_a_member: int = 0
    """From a number that no member of the view has."""
    replayed: int = 0
    """There before, or too old to tell."""
    forged: int = 0
    """Not sealed with the key it names, or changed on its way."""
    malformed: int = 0
    """Sealed by a member, and yet no items: it is of another make, or lies."""
    fragments: int = 0
    """Pieces of large items, taken in."""
    abandoned: int = 0
    """Large items of which a piece did not come in time, or for which there was no room."""
    # Dropped instead of being sent:
    overflow: int = 0
    """Packets for which the send queue had no room, by receivers."""
    unsealed: int = 0
    """Items for which there was no key yet, and no room to wait for it."""
    unreachable: int = 0
    """Packets to a place whose name is not known to the system (yet)."""
    refused: int = 0
    """Packets that the system refused to send."""

    @property
    def dropped(self) -> int:
        """Packets that arrived, and came to nothing."""
        return (
            self.cut + self.other_version + self.other_group + self.unknown_key + self.own
            + self.not_a_member + self.replayed + self.forged + self.malformed
        )  # fmt: skip

    def __add__(self, other: "DatagramCounts") -> "DatagramCounts":
        """Return both together."""
        names = [field.name for field in fields(self)]
        return DatagramCounts(*(getattr(self, name) + getattr(other, name) for name in names))
