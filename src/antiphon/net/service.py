"""Services: tools of this process that talk to those of the other members, each on its port.

Law: a service sees the messages of its port, letters and views in the order of delivery, at once;
not where the application reads its stream. What it sends waits its turn among everything else
that this process sends.
"""

from typing import Protocol

from antiphon.core.errors import AntiphonError
from antiphon.core.ids import ProcessId
from antiphon.core.runs import Order
from antiphon.core.views import View


class Service(Protocol):
    """What a tool has to offer."""

    def on_message(self, sender: ProcessId, payload: bytes) -> None:
        """A message has been delivered on the port."""

    def on_letter(self, sender: ProcessId, payload: bytes) -> None:
        """A letter has been delivered on the port."""

    def on_view(self, view: View) -> None:
        """A view has begun."""

    def on_end(self, error: AntiphonError | None) -> None:
        """The process is no member any more; ``error`` says why, unless it left."""


class Host(Protocol):
    """What a tool can ask of its node."""

    def post(self, payload: bytes, order: Order, *, uniform: bool, port: int) -> None:
        """Multicast a message, in its turn."""

    def post_letter(self, to: ProcessId, payload: bytes, port: int) -> None:
        """Send a message to one member, in its turn; dropped if that is gone by then."""

    def serve(self, port: int, service: Service) -> None:
        """Hand what comes on ``port`` to ``service`` from now on."""
