"""Receipts up and down the tree: what one process says to its parent and children, and when.

Rule. At a heartbeat with news, and where much has come, a process tells its parent what all from it
on downwards have (``ordering.tree_stability``); whoever has children also as soon as each of them
has spoken since it spoke last. The root tells its children what all have, and they theirs at once.
While the view is being left nobody says or takes any of this: its flush sees to what is missing.

Where the application reads too slowly, what has come is not counted (``flow_control``): so nobody
above counts it, and senders wait.

Faults of others raise :class:`PeerError`: words of who is neither parent nor child, counts beyond
what has been multicast or told, and less than before. Words of a view that is still to be installed
are kept until it is, so many of each process; those of earlier views say nothing.

Cost: as of the tree. Bytes: a few for each sender of which there is news.
"""

from collections.abc import Callable
from contextlib import suppress

from antiphon.core.control import Everywhere, Subtree
from antiphon.core.errors import PeerError
from antiphon.core.ids import ProcessId
from antiphon.membership.effects import Outbox
from antiphon.membership.membership import Membership
from antiphon.ordering.tree_stability import TreeStability
from antiphon.stack.receiver import Receiver

Word = Subtree | Everywhere

EARLY_WORDS_MAX = 64
"""Words of one process that are kept of views that are not installed yet: in each it says few
before all have installed it."""


class ReceiptTree:
    """One process's part in it, in one group."""

    __slots__ = (
        "_early", "_is_used", "_membership", "_out", "_receiver", "_spoken", "is_behind", "moves",
    )  # fmt: skip

    def __init__(
        self, out: Outbox, receiver: Receiver, membership: Membership, *, is_used: bool
    ) -> None:
        """Say nothing yet; unless it ``is_used``, never, and nobody else does."""
        self._is_used = is_used
        self._out = out
        self._receiver = receiver
        self._membership = membership
        self._spoken: dict[int, None] = {}
        self._early: dict[ProcessId, list[Word]] = {}
        self.is_behind: Callable[[], bool] = bool
        """Tells whether receipts are withheld."""
        self.moves: Callable[[], int] = int
        """Tells how often the application, being behind, is to be said to have read on."""

    @property
    def _tree(self) -> TreeStability | None:
        """Return the tree of the current view, if that is not being left."""
        membership = self._membership
        is_calm = not membership.transition.pending and not membership.is_over
        return self._receiver.tree if is_calm else None

    def has_news(self) -> bool:
        """Whether something is to be said, or somebody is waited for."""
        tree = self._tree
        return tree is not None and tree.has_news(is_withheld=self.is_behind())

    def beat(self) -> None:
        """A heartbeat has passed."""
        tree = self._tree
        if tree is not None:
            self._confirm(tree)
            tree.look(self.moves())
            self._tell(tree)

    def confirm(self) -> None:
        """Much has come: do not wait for the heartbeat."""
        self._receiver.received_bytes = 0
        tree = self._tree
        if tree is not None:
            self._confirm(tree)
            self._tell(tree)

    def _confirm(self, tree: TreeStability) -> None:
        if not self.is_behind():
            self._receiver.received_bytes = 0
            tree.confirm()

    def _tell(self, tree: TreeStability) -> None:
        said = tree.tell()
        if said is None:
            return
        self._spoken.clear()
        number, members = self._membership.transition.number, self._receiver.members
        if tree.is_root:
            self._tell_children(tree, Everywhere(number, *said))
        else:
            self._out.send(members[tree.parent], Subtree(number, *said))

    def _tell_children(self, tree: TreeStability, word: Everywhere) -> None:
        members = self._receiver.members
        self._out.send_each([members[child] for child in tree.children], word)

    # What comes.

    def hear(self, peer: ProcessId, word: Word) -> None:
        """A parent, or a child, says what is everywhere below it, or everywhere."""
        number = self._membership.transition.number
        if not self._is_used:
            message = f"{peer} counts by a tree, in a group that has none"
            raise PeerError(message)
        if not self._membership.roster.takes_from(peer, word.number):
            return
        if word.number > number:
            self._keep(peer, word)
        elif word.number == number and (tree := self._tree) is not None:
            self._take(tree, peer, word)

    def _keep(self, peer: ProcessId, word: Word) -> None:
        kept = self._early.setdefault(peer, [])
        if len(kept) >= EARLY_WORDS_MAX:
            message = f"{peer} counts ever more of a view that is not installed here"
            raise PeerError(message)
        kept.append(word)

    def take_early(self) -> None:
        """A view begins: take what was said of it before."""
        self._spoken.clear()
        early, self._early = self._early, {}
        for peer, words in early.items():
            with suppress(PeerError):  # whoever lied is to be found out by what it says next
                for word in words:
                    self.hear(peer, word)

    def _take(self, tree: TreeStability, peer: ProcessId, word: Word) -> None:
        rank = self._receiver.ranks.get(peer, -1)
        if isinstance(word, Subtree):
            is_theirs = rank in tree.children
            is_sound = is_theirs and tree.hear_child(rank, word.delivered, word.holding)
        else:
            is_theirs = rank == tree.parent and not tree.is_root
            is_sound = is_theirs and tree.hear_parent(word.delivered, word.holding)
        if not is_sound:
            why = "what is not so" if is_theirs else "for others, and has no place to do so"
            message = f"{peer} counts {why}: {word}"
            raise PeerError(message)
        if isinstance(word, Everywhere):
            self._tell_children(tree, word)
            return
        self._spoken[rank] = None
        if len(self._spoken) == len(tree.children):
            self._confirm(tree)
            self._tell(tree)
