"""What a process does, as rows: the one place where machines' objects become trace events.

Law: the simulator and the real network write the same rows for the same happenings, because both
write them through here. Names, not ranks, go into the trace: a trace must be readable alone.
"""

from collections.abc import Callable

from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.trace import schema
from antiphon.trace.schema import Event

Sink = Callable[[Event], None]
"""Takes the rows of one process, in order; a journal's ``append``, for instance."""

_ORDER_NAMES: dict[Order, schema.Order] = {
    Order.FIFO: "fifo",
    Order.CAUSAL: "causal",
    Order.TOTAL: "total",
}


class Rows:
    """Writes the rows of one process in one group."""

    __slots__ = ("_group", "_names", "_process", "_sink")

    def __init__(self, process: str, view: View, sink: Sink) -> None:
        """Prepare to write rows of ``process`` to ``sink``."""
        self._process = process
        self._group = view.group
        self._names = [str(member) for member in view.members]
        self._sink = sink

    def start(self, time_us: int) -> None:
        """Note that the process starts, in its view."""
        self._sink(Event(process=self._process, time_us=time_us, kind="start"))
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind="view",
                group=self._group, members=self._names,
            )
        )  # fmt: skip

    def run(
        self, time_us: int, kind: schema.Kind, run: Run, queue_depth: int, overhead_bytes: int = 0
    ) -> None:
        """Note that ``run`` was multicast, received or delivered."""
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind=kind, group=self._group,
                view=run.view, sender=self._names[run.sender], first=run.first,
                count=len(run.payloads), order=_ORDER_NAMES[run.order],
                bytes=run.byte_count, overhead_bytes=overhead_bytes,
                queue_depth=queue_depth,
            )
        )  # fmt: skip

    def suspect(self, time_us: int, who: str, why: str) -> None:
        """Note that a member was lost."""
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind="suspect", group=self._group,
                sender=who, detail=why,
            )
        )  # fmt: skip

    def stop(self, time_us: int, detail: str) -> None:
        """Note that the process stops, and how."""
        self._sink(Event(process=self._process, time_us=time_us, kind="stop", detail=detail))
