"""A request: another member asks something, and waits for an answer.

Law: it comes in the stream, in order with messages and views, so that whoever answers it has seen
what came before. It is answered once; what comes after that is ignored.
"""

from collections.abc import Callable

from antiphon.net.application.buffers import Payload, frozen


class Request:
    """What another member asks.

    - ``sender``: the name of the member that asks.
    - ``payload``: what it asks.
    - ``is_open``: whether it waits for an answer of this process.
    - ``group``: the name of the group in which it is asked, where a process's stream is read.
    """

    __slots__ = ("_reply", "group", "payload", "sender")

    def __init__(
        self, sender: str, payload: bytes, reply: Callable[[bytes | None, str], None] | None
    ) -> None:
        """Call ``reply`` with the answer, or with None and why there is none."""
        self.sender = sender
        self.payload = payload
        self.group = ""
        self._reply = reply

    @property
    def is_open(self) -> bool:
        """Whether the asker waits for an answer of this process."""
        return self._reply is not None

    def answer(self, payload: Payload) -> None:
        """Answer; with bytes, or a buffer, of which a copy is sent."""
        said = payload if type(payload) is bytes else frozen(payload)
        if type(said) is bytes:
            reply, self._reply = self._reply, None
            if reply is not None:
                reply(said, "")
        else:
            self.refuse(f"its answer is not bytes, but {type(payload).__name__}: encode it first")

    def refuse(self, why: str) -> None:
        """Say that there is no answer, and why."""
        reply, self._reply = self._reply, None
        if reply is not None:
            reply(None, why)
