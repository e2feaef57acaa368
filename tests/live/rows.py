"""Rows of a group of three, as its journals have them."""

from antiphon.trace.schema import Event, Order

NAMES = ["A", "B", "C"]


def start(process: str) -> Event:
    """Return the row with which a process begins."""
    return Event(process=process, kind="start")


def view(process: str, number: int = 1, members: list[str] | None = None) -> Event:
    """Return the row of an installation."""
    listed = NAMES if members is None else members
    return Event(process=process, kind="view", group="g", view=number, members=listed)


def begin(process: str) -> list[Event]:
    """Return how a founder begins."""
    return [start(process), view(process)]


def multicast(
    process: str, first: int, *, number: int = 1, count: int = 1, order: Order = "causal",
    uniform: bool = False, time_us: int = 0,
) -> Event:  # fmt: skip
    """Return the row of a multicast."""
    return Event(
        process=process, kind="multicast", group="g", view=number, sender=process, first=first,
        count=count, order=order, uniform=uniform, time_us=time_us,
    )  # fmt: skip


def deliver(
    process: str, sender: str, first: int, *, number: int = 1, count: int = 1,
    order: Order = "causal", uniform: bool = False, time_us: int = 0,
) -> Event:  # fmt: skip
    """Return the row of a delivery."""
    return Event(
        process=process, kind="deliver", group="g", view=number, sender=sender, first=first,
        count=count, order=order, uniform=uniform, time_us=time_us,
    )  # fmt: skip


def sent(process: str, first: int, *, order: Order = "causal", number: int = 1) -> list[Event]:
    """Return the rows of a multicast that its sender delivers at once."""
    return [
        multicast(process, first, order=order, number=number),
        deliver(process, process, first, order=order, number=number),
    ]


def stop(process: str, detail: str = "quiescent") -> Event:
    """Return the row with which a process ends."""
    return Event(process=process, kind="stop", detail=detail)
