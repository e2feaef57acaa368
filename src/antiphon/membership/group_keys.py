"""Keys for datagrams: one per view, drawn by its most senior member and told to the others.

Rule. Where a process installs a view of which it is the most senior member, it draws a key and
tells all other members, over the channels that control messages take. Everybody uses the key of a
view from when it has both: the view installed, and the key of its senior. If the senior dies before
it has told everybody, those who miss the key wait for the next view, which has another senior and
another key; whoever has it loses nothing but what it sends to the others meanwhile.

Invariant. All who use a key of a view use the same one: a view has one most senior member, the same
everywhere, which installs it once and draws once. Whoever comes back is in a later view. So no rank
is used twice with one key.

Fault model: crashes, and channels that are reliable and FIFO. A key of an installed view from
anybody but its senior, or a second one, is the fault of who tells it (:class:`PeerError`). Of views
that are not installed yet the latest ``TOLD_MAX`` keys of each member are kept, and the senior's is
used. Channels are not encrypted yet: a key is as secret as they are, and members are trusted.

Cost: n - 1 messages of about 45 bytes per view, and no round: datagrams leave when the key comes.
"""

from dataclasses import dataclass

from antiphon.core.control import KeyTold
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.core.views import View
from antiphon.membership.effects import SendControl

TOLD_MAX = 16
"""Keys that one member has told of views still to be installed, which follow one by one."""


@dataclass(frozen=True, slots=True)
class UseKey:
    """Seal datagrams of ``view`` with this from now on, and open what others seal with it."""

    view: View
    secret: bytes


KeyEffect = SendControl | UseKey


class GroupKeys:
    """One member of one group."""

    __slots__ = ("_me", "_secret", "_told", "_view")

    def __init__(self, me: ProcessId) -> None:
        """Be in no view."""
        self._me = me
        self._view: View | None = None
        self._secret: bytes | None = None
        """The key of the view, if it has come."""
        self._told: dict[ProcessId, dict[int, bytes]] = {}
        """By member, the keys that it has told of later views."""

    @property
    def is_waiting(self) -> bool:
        """Whether a view is installed, and its key has not come."""
        return self._view is not None and self._secret is None

    def install(self, view: View, secret: bytes) -> list[KeyEffect]:
        """Install a view; ``secret`` has been drawn for it, and is used by its senior alone."""
        assert self._view is None or view.number > self._view.number, "views follow each other"
        assert self._me in view.members, "who is out of the view needs no key"
        senior = view.members[0]
        told = self._told.get(senior, {}).get(view.number)
        self._view = view
        self._secret = secret if senior == self._me else told
        self._told = {
            member: later
            for member, keys in self._told.items()
            if (later := {number: key for number, key in keys.items() if number > view.number})
        }
        if self._secret is None:
            return []
        use = UseKey(view, self._secret)
        others = tuple(member for member in view.members if member != self._me)
        if senior != self._me or not others:
            return [use]
        return [SendControl(others, KeyTold(view.number, secret)), use]

    def hear(self, peer: ProcessId, told: KeyTold) -> list[KeyEffect]:
        """Take a key."""
        view = self._view
        if view is None or told.number > view.number:
            self._keep(peer, told)
            return []
        if told.number < view.number:
            return []  # of a view that this process has left, or passed over
        if peer != view.members[0] or self._secret not in {None, told.secret}:
            message = f"{peer} tells a key of view {told.number} that is not the senior's only one"
            raise PeerError(message)
        if self._secret is not None:
            return []
        self._secret = told.secret
        return [UseKey(view, told.secret)]

    def _keep(self, peer: ProcessId, told: KeyTold) -> None:
        keys = self._told.setdefault(peer, {})
        if keys.setdefault(told.number, told.secret) != told.secret:
            message = f"{peer} tells two keys of view {told.number}"
            raise PeerError(message)
        if len(keys) > TOLD_MAX:
            del keys[min(keys)]
