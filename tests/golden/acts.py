"""What a process of a golden conversation was told to do, in words that outlast its machine.

Law: plain records. ``table`` makes them from the effects of the machines, ``wording`` tells them.
"""

from dataclasses import dataclass

from antiphon.core.control import AnyMessage
from antiphon.core.errors import CallError
from antiphon.core.runs import Letter, Run
from antiphon.core.views import View
from antiphon.toolkit.calls import Replies
from antiphon.toolkit.commit_messages import Transaction


@dataclass(frozen=True)
class Copied:
    """A run that a process relays for its sender."""

    run: Run


Item = Run | Letter | Copied | AnyMessage
"""What travels on a channel."""


# What a process was told to do.


@dataclass(frozen=True)
class Sent:
    """It sends something to each of these."""

    who: str
    to: tuple[str, ...]
    item: Item


@dataclass(frozen=True)
class Delivered:
    """It delivers messages, or a letter."""

    who: str
    run: Run


@dataclass(frozen=True)
class Installed:
    """It installs a view."""

    who: str
    view: View


@dataclass(frozen=True)
class Noted:
    """Something else that its application, or a reader, wants to know."""

    who: str
    what: str


@dataclass(frozen=True)
class Handled:
    """Its application is handed a request; number 0: no reply is wanted."""

    who: str
    caller: str
    number: int
    body: str


@dataclass(frozen=True)
class Concluded:
    """A call of it has ended."""

    who: str
    number: int
    replies: Replies
    error: CallError | None


@dataclass(frozen=True)
class AskedVote:
    """Its application is asked to vote."""

    who: str
    transaction: Transaction
    body: str


@dataclass(frozen=True)
class Decided:
    """It learns how a transaction ended."""

    who: str
    transaction: Transaction
    outcome: str
    why: str


Act = Sent | Delivered | Installed | Noted | Handled | Concluded | AskedVote | Decided


@dataclass(frozen=True)
class Held:
    """A run that is received and not delivered, and why: a message that it lacks, or a word."""

    run: Run
    lack: tuple[str, int] | str
