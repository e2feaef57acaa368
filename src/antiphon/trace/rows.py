"""What a process does, as rows: the one place where machines' objects become trace events.

Law: the simulator and the real network write the same rows for the same happenings, because both
write them through here. Names, not ranks, go into the trace: a trace must be readable alone.
"""

from collections.abc import Callable

from antiphon.core.runs import PORT_ORDER, ExpiredRun, Order, Run
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

_PORT_DETAILS = {PORT_ORDER: schema.SETS_ORDER}


class Rows:
    """Writes the rows of one process in one group."""

    __slots__ = ("_domain", "_group", "_names", "_process", "_resilience", "_sink", "_view")

    def __init__(
        self, process: str, group: str, sink: Sink, domain: str = "", resilience: int = 0
    ) -> None:
        """Prepare to write rows of ``process`` to ``sink``."""
        self._process = process
        self._group = group
        self._domain, self._resilience = domain, resilience
        self._names: list[str] = []
        self._view = 0
        self._sink = sink

    def start(self, time_us: int) -> None:
        """Note that the process starts."""
        self._sink(Event(process=self._process, time_us=time_us, kind="start"))

    def view(self, time_us: int, view: View) -> None:
        """Note that the process has installed ``view``; runs noted from now on are of it."""
        self._names = [str(member) for member in view.members]
        self._view = view.number
        changes = {"joined": view.joined, "left": view.left, "failed": view.failed}
        said = [f"{what} {' '.join(map(str, who))}" for what, who in changes.items() if who]
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind="view", group=self._group,
                view=view.number, members=self._names, domain=self._domain,
                resilience=self._resilience, detail="; ".join(said),
            )
        )  # fmt: skip

    def run(
        self, time_us: int, kind: schema.Kind, run: Run, queue_depth: int, overhead_bytes: int = 0
    ) -> None:
        """Note that ``run`` was multicast, received or delivered."""
        is_expired = type(run) is ExpiredRun
        detail = schema.EXPIRED if is_expired else _PORT_DETAILS.get(run.port, "")
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind=kind, group=self._group,
                view=run.view, sender=self._names[run.sender], first=run.first,
                count=len(run.payloads), order=_ORDER_NAMES[run.order], uniform=run.uniform,
                bytes=run.byte_count, overhead_bytes=overhead_bytes,
                queue_depth=queue_depth, detail=detail,
            )
        )  # fmt: skip

    def vote(self, time_us: int, initiator: str, number: int, *, is_yes: bool) -> None:
        """Note how the process votes on transaction ``number`` of ``initiator``."""
        detail = schema.YES if is_yes else schema.NO
        self._note("vote", time_us, initiator, detail, number)

    def decide(self, time_us: int, initiator: str, number: int, *, is_commit: bool) -> None:
        """Note what the process learns, or decides, to be the fate of a transaction."""
        detail = schema.COMMIT if is_commit else schema.ABORT
        self._note("decide", time_us, initiator, detail, number)

    def send_letter(self, time_us: int, to: str, number: int, byte_count: int = 0) -> None:
        """Note that the process sends its letter ``number`` to ``to``."""
        self._note("send", time_us, self._process, to, number, byte_count)

    def take_letter(self, time_us: int, sender: str, number: int, byte_count: int = 0) -> None:
        """Note that letter ``number`` of ``sender`` to this process is read."""
        self._note("take", time_us, sender, "", number, byte_count)

    def suspect(self, time_us: int, who: str, why: str) -> None:
        """Note that a process is suspected."""
        self._note("suspect", time_us, who, why)

    def block(self, time_us: int, reachable: str) -> None:
        """Note that too few members can be reached to go on."""
        self._note("block", time_us, "", reachable)

    def resume(self, time_us: int) -> None:
        """Note that the group goes on."""
        self._note("resume", time_us, "", "")

    def _note(
        self,
        kind: schema.Kind,
        time_us: int,
        who: str,
        detail: str,
        number: int = 0,
        byte_count: int = 0,
    ) -> None:
        self._sink(
            Event(
                process=self._process, time_us=time_us, kind=kind, group=self._group,
                view=max(self._view, 1), sender=who, first=number, bytes=byte_count, detail=detail,
            )
        )  # fmt: skip

    def crash(self, time_us: int) -> None:
        """Note that the process dies; only a simulation can know."""
        self._sink(Event(process=self._process, time_us=time_us, kind="crash"))

    def stop(self, time_us: int, detail: str) -> None:
        """Note that the process stops, and how."""
        self._sink(Event(process=self._process, time_us=time_us, kind="stop", detail=detail))
