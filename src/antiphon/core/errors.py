"""Every error that Antiphon raises, by who is to blame.

    AntiphonError
     ├─ UsageError           the caller asked for something that cannot be done
     │   └─ BackPressureError   ... because a bounded buffer stayed full for too long
     ├─ ExcludedError        the others have gone on without this process
     ├─ StateError           the group's state could not be had, or not be loaded
     ├─ CallError            a group call did not get the replies it wanted
     │   ├─ DefiniteCallError     ... and was executed nowhere: it can be repeated
     │   └─ IndefiniteCallError   ... and may have been executed by some
     ├─ InDoubtError         a transaction was begun, and its outcome cannot be learned here
     ├─ PeerError            bytes from another process are malformed, forged or replayed
     └─ TraceError           a trace is missing, damaged or contradicts itself

Law: untrusted bytes raise nothing but :class:`PeerError`; untrusted traces raise nothing but
:class:`TraceError`; every message is one sentence that says what to do, or what was expected.
"""

import re
from collections.abc import Mapping


def reason_of(error: OSError) -> str:
    """Return why the system refused, in its own words; libraries wrap them in theirs."""
    said = error.strerror or str(error).partition("\n")[0]
    inner = re.search(r"\[[Ee]rrno \d+\] (.+)", said)
    return inner[1] if inner else said


class AntiphonError(Exception):
    """The root: catch this to catch everything that is ours."""


class UsageError(AntiphonError):
    """The caller asked for something that cannot be done as asked."""


class BackPressureError(UsageError):
    """A bounded buffer stayed full for longer than the caller allowed."""


class ExcludedError(AntiphonError):
    """The other members have gone on without this process, or nobody could take it back."""


class StateError(AntiphonError):
    """The group's state could not be had, or not be loaded."""


class CallError(AntiphonError):
    """A group call did not get the replies it wanted; ``replies`` says what each member did."""

    def __init__(self, message: str, replies: Mapping[str, object] | None = None) -> None:
        """Say what went wrong, and what came in spite of that."""
        super().__init__(message)
        self.replies: Mapping[str, object] = {} if replies is None else replies


class DefiniteCallError(CallError):
    """The call was executed nowhere."""


class IndefiniteCallError(CallError):
    """The call may have been executed by some members."""


class InDoubtError(AntiphonError):
    """A transaction was begun, and this process cannot learn how it ended."""


class PeerError(AntiphonError):
    """Another process sent bytes that no correct process sends."""


class TraceError(AntiphonError):
    """A trace is missing, damaged, or contradicts itself."""
