"""Every error that Antiphon raises, by who is to blame.

    AntiphonError
     ├─ UsageError           the caller asked for something that cannot be done
     │   └─ BackPressureError   ... because a bounded buffer stayed full for too long
     ├─ ExcludedError        the others have gone on without this process
     ├─ StateError           the group's state could not be had, or not be loaded
     ├─ PeerError            bytes from another process are malformed, forged or replayed
     └─ TraceError           a trace is missing, damaged or contradicts itself

Law: untrusted bytes raise nothing but :class:`PeerError`; untrusted traces raise nothing but
:class:`TraceError`; every message is one sentence that says what to do, or what was expected.
"""


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


class PeerError(AntiphonError):
    """Another process sent bytes that no correct process sends."""


class TraceError(AntiphonError):
    """A trace is missing, damaged, or contradicts itself."""
