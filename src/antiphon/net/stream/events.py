"""What an application reads from a group: messages, views, letters, and what was sent in vain."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, cast, overload

from msgspec import Struct
from msgspec.structs import astuple

from antiphon.core.ids import ProcessId
from antiphon.core.views import View as AgreedView
from antiphon.core.views import lineage_of
from antiphon.net.stream.request import Request


class Message(
    Struct, frozen=True, order=True, gc=False, omit_defaults=True, repr_omit_defaults=True
):
    """One delivered message.

    - ``sender``: the name of the member that multicast it.
    - ``number``: its number among the sender's messages in this view of the group, from 1.
    - ``payload``: what was multicast.
    - ``group``: the name of its group, where a process's stream is read; empty in a group's own.

    It can be taken apart, compared and sorted like the tuple of the first three. It is none itself,
    for a tuple with names costs twice as much to make and to read.
    """

    sender: str
    number: int
    payload: bytes
    group: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter(astuple(self)[:_PARTS])

    def __len__(self) -> int:
        return _PARTS

    @overload
    def __getitem__(self, at: int) -> Any: ...  # noqa: ANN401 - each field has its own type

    @overload
    def __getitem__(self, at: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, at: int | slice) -> Any:
        return astuple(self)[:_PARTS][at]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Message):
            return astuple(self) == astuple(other)
        return astuple(self)[:_PARTS] == other

    def __hash__(self) -> int:
        return hash(astuple(self)[:_PARTS])


_PARTS = 3
"""Into how many parts a message can be taken: its group is none of them."""


class Batch(NamedTuple):
    """Consecutive delivered messages of one sender.

    - ``sender``: the name of the member that multicast them.
    - ``first``: the number of the first of them among the sender's messages in this view of the
      group, from 1; the others have ``first + 1``, ``first + 2``, ...
    - ``payloads``: what was multicast, in that order.
    """

    sender: str
    first: int
    payloads: list[bytes]

    @property
    def group(self) -> str:
        """The name of the group, where a process's stream is read; empty in a group's own."""
        return ""


class View(NamedTuple):
    """Who is in the group, from here on in the stream.

    - ``number``: views are numbered from 1; the same number is the same view at every member. After
      a take-over (``group.take_over``) numbers go on far above all that were before.
    - ``lineage``: 0, or that of the last take-over: which line of views this one belongs to.
    - ``members``: names in order of seniority; where the group is blocked (see ``primary``), those
      that can still be reached.
    - ``joined``, ``left``, ``failed``: who was not in the view before and is in this one, who was
      and left, who was and is taken for dead.
    - ``primary``: False if too few members can be reached to go on. Nothing is multicast until a
      view, this or another one, is primary again. ``group.view`` also says False between two
      incarnations and once this process is out of the group, whatever the others do: fit for a
      health check.
    - ``missing``: where the group is blocked, the names of the members of its last view that were
      out of reach when it was blocked. It goes on when enough of them are reached again, as
      the processes that they were: one that is started anew counts only once it has been taken in.
    """

    number: int
    members: tuple[str, ...]
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    primary: bool = True
    missing: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The name of the group, where a process's stream is read; empty in a group's own."""
        return ""

    @property
    def lineage(self) -> int:
        """Which line of views this one belongs to; a take-over begins another one."""
        return lineage_of(self.number)


def as_event(view: AgreedView) -> View:
    """Return a view as the application reads it: with names."""
    return View(
        view.number,
        tuple(map(str, view.members)),
        tuple(map(str, view.joined)),
        tuple(map(str, view.left)),
        tuple(map(str, view.failed)),
    )


def as_blocked(latest: AgreedView, number: int, reached: Sequence[ProcessId]) -> View:
    """Return view ``number`` as one reads it that reaches only these members of the ``latest``."""
    missing = [who for who in latest.members if who not in reached]
    return View(
        number, tuple(map(str, reached)), primary=False, missing=tuple(map(str, missing))
    )  # fmt: skip


def say_blocked(view: View) -> str:
    """Say of a blocked view why the group cannot go on, and when it does."""
    return (
        f"of the group's last view it reaches only {', '.join(view.members)} and not "
        f"{', '.join(view.missing)}, and the group goes on only with a majority of that view, or "
        "if an operator, knowing that they are gone for good, has this process take over"
    )


class Letter(NamedTuple):
    """A message to this process alone.

    - ``sender``: the name of the member that sent it.
    - ``payload``: what was sent.
    """

    sender: str
    payload: bytes

    @property
    def group(self) -> str:
        """The name of the group, where a process's stream is read; empty in a group's own."""
        return ""


class Unsent(NamedTuple):
    """What this process sent in an incarnation that has ended, and never went out.

    Nobody has got it. It comes after everything that the ended incarnation delivered, before the
    first view of the next one or the end of the stream. Send again what still makes sense.

    - ``payloads``: the messages, in the order in which they were sent.
    - ``to``: for each of them, the name of the member that a letter was for; "" for a multicast.
    """

    payloads: tuple[bytes, ...]
    to: tuple[str, ...]

    @property
    def group(self) -> str:
        """The name of the group, where a process's stream is read; empty in a group's own."""
        return ""


class Expired(NamedTuple):
    """A message whose lifetime was over before it could be delivered here, in its place.

    - ``sender``: the name of the member that multicast it.
    - ``number``: its number among the sender's messages in this view of the group.
    """

    sender: str
    number: int

    @property
    def group(self) -> str:
        """The name of the group, where a process's stream is read; empty in a group's own."""
        return ""


class Beginning(NamedTuple):
    """From here on the stream is of another incarnation, or at its end."""

    incarnation: int


Event = Message | Expired | View | Letter | Request | Unsent
"""What a stream consists of."""


class _Placed:
    """An event of a process's stream, which says of which group it is."""

    in_group = ""

    @property
    def group(self) -> str:
        return self.in_group


class _PlacedBatch(_Placed, Batch):
    pass


class _PlacedExpired(_Placed, Expired):
    pass


class _PlacedView(_Placed, View):
    pass


class _PlacedLetter(_Placed, Letter):
    pass


class _PlacedUnsent(_Placed, Unsent):
    pass


_PLACED: dict[type, Any] = {
    Batch: _PlacedBatch, Expired: _PlacedExpired, View: _PlacedView, Letter: _PlacedLetter,
    Unsent: _PlacedUnsent,
}  # fmt: skip
for _plain, _placed in _PLACED.items():
    _placed.__name__ = _placed.__qualname__ = _plain.__name__  # as an application is shown it

_Tuple = TypeVar("_Tuple", bound=Batch | Expired | View | Letter | Unsent)


def placed(event: _Tuple, group: str) -> _Tuple:
    """Return an event that says of which group it is, and is the same otherwise.

    It is the same tuple, to be taken apart alike: so the group is none of its parts.
    """
    made = _PLACED[type(event)]._make(event)
    made.in_group = group
    return cast("_Tuple", made)
