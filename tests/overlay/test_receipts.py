"""Receipts go up and down a tree of the overlay's links: what they cost, what they say."""

from random import Random
from unittest.mock import patch

import pytest
from tests.membership.hands import A, B, C, D, E, member, view_of
from tests.membership.hostile import Liar
from tests.overlay.group_by_hand import BEAT_US, WAY_US, Group

from antiphon.core.control import AlarmSaid, Alive, AnyMessage, Everywhere, Subtree
from antiphon.core.errors import PeerError
from antiphon.core.runs import Order
from antiphon.ordering.overlay.spanning_tree import spanning_tree
from antiphon.ordering.overlay.topologies import TOPOLOGIES
from antiphon.ordering.tree_stability import NAMED_MAX, TreeStability
from antiphon.stack.effects import AdmitSenders, GiveUpProcess, RejectPeer
from antiphon.stack.endpoint import Endpoint
from antiphon.stack.inputs import ControlReceived, MulticastRequested, ReaderLagged, SendersWaited
from antiphon.stack.overlay import Overlay
from antiphon.stack.receipt_tree import ReceiptTree
from antiphon.stack.send_queue import How
from antiphon.stack.settings import Settings

KINDS = ("incomplete-hypercube", "ring", "tree")


@pytest.mark.parametrize("topology", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 64, 100])
def test_tree_is_made_of_links_and_holds_everybody(topology: str, size: int) -> None:
    """Everybody but the root has one parent, a neighbour of its; the ways are short."""
    tree, overlay = spanning_tree(topology, size), TOPOLOGIES[topology].overlay(size)
    assert tree.parents[0] == 0
    assert tree.sizes[0] == size
    for rank in range(1, size):
        assert tree.parents[rank] in overlay[rank]
        assert rank in tree.children[tree.parents[rank]]
        depth, above = 0, rank
        while above:
            depth, above = depth + 1, tree.parents[above]
        assert depth <= size.bit_length()
    assert sum(map(len, tree.children)) == size - 1


@pytest.mark.parametrize("topology", KINDS)
@pytest.mark.parametrize("size", [5, 16, 33])
def test_round_of_news_takes_two_messages_for_each_member_but_one(topology: str, size: int) -> None:
    """One up, one down (process.md 3); nobody tells everybody; then all know."""
    group = Group(size, topology)
    group.settle()
    for me in (group.members[size // 2], group.members[0], group.members[-1]):
        group.multicast(me)
        group.run(12 * BEAT_US)
        assert 0 < group.said[Subtree] <= size - 1
        assert 0 < group.said[Everywhere] <= size - 1
        assert not group.said[Alive]
        group.said.clear()
    for endpoint in group.endpoints.values():
        stability = endpoint.member.stability
        for rank in (0, size // 2, size - 1):
            assert stability.stable(rank) == stability.delivered_by_all(rank) == 1
        assert not endpoint.member.kept_bytes
    group.run(20 * BEAT_US)
    assert not group.said[Subtree] + group.said[Everywhere] + group.said[Alive]


def test_steady_traffic_costs_each_member_a_few_words_per_heartbeat() -> None:
    """However many children it has, and however they take turns."""
    group, beats = Group(16), 20
    group.settle()
    for number in range(beats * 8):
        group.multicast(group.members[number % 16])
        group.run(BEAT_US // 8)
    assert group.said[Subtree] <= 2 * 15 * beats
    assert group.said[Everywhere] <= 2 * 15 * beats


def test_k_stable_never_says_more_than_is_so() -> None:
    """With one member that withholds its receipts: who is below other children is counted."""
    group = Group(8)
    group.settle()
    laggard, root = group.members[7], group.endpoints[group.members[0]]
    group.give(laggard, ReaderLagged(is_behind=True))
    group.multicast(group.members[0])
    group.run(5 * BEAT_US)
    stability = root.member.stability
    tree = spanning_tree("incomplete-hypercube", 8)
    has_it = sum(size for child, size in enumerate(tree.sizes) if child in tree.children[0]) - next(
        tree.sizes[child] for child in tree.children[0] if 7 in _below(child)
    )
    assert [stability.k_stable(k) for k in range(9)] == [
        0, *(int(k <= has_it) for k in range(1, 8)), 0,
    ]  # fmt: skip
    assert 0 < has_it < 7
    assert not stability.stable(0)
    group.give(laggard, ReaderLagged(is_behind=False))
    group.run(5 * BEAT_US)
    assert [stability.k_stable(k) for k in (1, 7)] == [1, 1]


def _below(rank: int) -> list[int]:
    children = spanning_tree("incomplete-hypercube", 8).children[rank]
    return [rank, *(other for child in children for other in _below(child))]


@pytest.mark.parametrize("place", [0, 1, 3, 12, 15])
def test_member_that_withholds_is_given_up_and_nobody_else(place: int) -> None:
    """Wherever it is in the tree: all between are held up too, and not to blame."""
    group = Group(16, unstable_bytes=100)
    group.settle()
    laggard, sender = group.members[place], group.members[5]
    group.give(laggard, ReaderLagged(is_behind=True))
    group.multicast(sender, b"x" * 200)
    group.give(sender, SendersWaited(is_waiting=True))
    group.run(29_000_000)
    assert not group.of(GiveUpProcess)
    admitted = [effect for me, effect in group.of(AdmitSenders) if me == sender]
    assert not admitted[-1].messages
    group.run(3_000_000)
    assert {effect.process for _, effect in group.of(GiveUpProcess)} == {laggard}


def test_member_that_moves_however_slowly_is_not_given_up() -> None:
    """Every twenty seconds it reads a little; another one would not have been borne."""
    group = Group(16, unstable_bytes=100)
    group.settle()
    laggard, sender = group.members[11], group.members[5]
    for _ in range(4):
        group.give(sender, SendersWaited(is_waiting=True))
        group.multicast(sender, b"x" * 200)
        group.give(laggard, ReaderLagged(is_behind=True))
        group.run(20_000_000)
        group.give(laggard, ReaderLagged(is_behind=False))
        group.run(3 * BEAT_US)
    assert not group.of(GiveUpProcess)


@pytest.mark.parametrize("place", [0, 3, 15])
def test_member_that_reads_on_is_not_given_up(place: int) -> None:
    """It confirms nothing for minutes, and is named; but it comes further."""
    group = Group(16, unstable_bytes=100)
    group.settle()
    laggard, sender = group.members[place], group.members[5]
    group.give(laggard, ReaderLagged(is_behind=True))
    group.multicast(sender, b"x" * 200)
    group.give(sender, SendersWaited(is_waiting=True))
    for _ in range(12):
        group.run(10_000_000)
        group.give(laggard, ReaderLagged(is_behind=True))
    assert not group.of(GiveUpProcess)
    group.run(33_000_000)
    assert {effect.process for _, effect in group.of(GiveUpProcess)} == {laggard}


def test_silent_member_that_beats_is_given_up() -> None:
    """One that lives, and says nothing of what it has: no correct member, but senders go on."""
    group = Group(8, unstable_bytes=100)
    group.settle()
    dumb, sender = group.members[6], group.members[1]
    tell = ReceiptTree._tell

    def tell_if_it_speaks(self: ReceiptTree, tree: TreeStability) -> None:
        if self._out.me != dumb:
            tell(self, tree)

    with patch.object(ReceiptTree, "_tell", tell_if_it_speaks):
        group.multicast(sender, b"x" * 200)
        group.give(sender, SendersWaited(is_waiting=True))
        group.run(33_000_000)
    assert {effect.process for _, effect in group.of(GiveUpProcess)} == {dumb}


def rejected(group: Group, me: int, peer: int, word: AnyMessage) -> bool:
    """Return whether a member rejects another for a word."""
    group.give(group.members[me], ControlReceived(group.members[peer], word))
    return any(
        who == group.members[me] and effect.peer == group.members[peer]
        for who, effect in group.of(RejectPeer)
    )


MANY = tuple((0, 1) for _ in range(NAMED_MAX + 1))


@pytest.mark.parametrize(
    ("me", "peer", "word"),
    [
        (0, 1, Subtree(1, ((2, 9),))),
        (0, 1, Subtree(1, ((2, 0),))),
        (0, 1, Subtree(1, ((8, 1),))),
        (0, 1, Subtree(1, (), ((8, 1),))),
        (0, 1, Subtree(1, (), MANY)),
        (0, 7, Subtree(1, ())),
        (1, 0, Subtree(1, ())),
        (1, 0, Everywhere(1, ((2, 9),))),
        (1, 0, Everywhere(1, ((2, 0),))),
        (1, 0, Everywhere(1, (), MANY)),
        (1, 5, Everywhere(1, ((2, 1),))),
        (0, 0 + 1, Everywhere(1, ((2, 1),))),
        (1, 0, Alive(1, ((2, 1),), 0, 1)),
        (1, 0, Alive(1, (), 1, 1)),
    ],
    ids=[
        "more than was sent", "less than before", "no member", "names no member", "names too many",
        "no child", "parent as a child", "all have more than this one", "all have less than before",
        "root names too many", "no parent", "child as a parent", "receipts to all", "stable to all",
    ],
)  # fmt: skip
def test_word_that_nobody_correct_says_is_refused(me: int, peer: int, word: AnyMessage) -> None:
    """Whoever says it is at fault; all know that all have one message of member 2."""
    group = Group(8)
    group.settle()
    group.multicast(group.members[2])
    group.run(5 * BEAT_US)
    assert rejected(group, me, peer, word)


def test_words_of_other_views_say_nothing() -> None:
    """Not of an earlier one; nor, before it is installed, of a later one, of which few are kept."""
    group = Group(8)
    group.settle()
    assert not rejected(group, 0, 7, Subtree(0, ((2, 9),)))
    for _ in range(64):
        assert not rejected(group, 0, 1, Subtree(2, ((2, 9),)))
    assert rejected(group, 0, 1, Subtree(2, ((2, 9),)))


def test_machine_of_one_member_by_hand() -> None:
    """It counts itself, and each child; what it has told it does not tell again."""
    delivered = [0, 0, 0, 0]
    tree = TreeStability(4, 0, delivered, spanning_tree("incomplete-hypercube", 4))
    assert tree.children == (1, 2)
    delivered[3] = 5
    assert tree.has_news(is_withheld=False)
    assert tree.tell() is None, "nothing has been confirmed"
    assert tree.hear_child(1, ((3, 4),), ())
    tree.confirm()
    assert tree.tell() is None, "the other child has not spoken"
    assert tree.hear_child(2, ((3, 5),), ())
    assert tree.tell() == (((3, 4),), ())
    assert tree.stable(3) == tree.delivered_by_all(3) == 4
    assert tree.tell() is None
    assert not tree.hear_child(2, ((3, 4),), ()), "it takes something back"
    assert not tree.hear_child(2, ((3, 6),), ()), "it has what has not come here"


def test_crash_before_it_has_counted_leaves_receipts_to_the_next_view() -> None:
    """An inner node dies: its word was needed, so nothing is known; the others go on without it."""
    group = Group(8)
    group.settle()
    group.multicast(group.members[2])
    group.run(2 * WAY_US)
    group.crash(group.members[1])
    group.run(4 * BEAT_US)
    for endpoint in group.endpoints.values():
        assert not endpoint.member.stability.stable(2)
    group.run(40 * BEAT_US)
    for endpoint in group.endpoints.values():
        assert endpoint.member.view_number == 2
        assert not endpoint.member.kept_bytes


def test_words_of_a_tree_are_refused_in_a_group_without_one() -> None:
    """Of vector time: everybody tells all others there."""
    with pytest.raises(PeerError, match="tree"):
        member(B, view_of(A, B)).take_control(A, Subtree(1, ()), 0)


def test_nonsense_of_members_is_refused_and_nothing_else_comes_of_it() -> None:
    """Whatever they say of receipts, alarms and views: a machine that floods never raises."""
    refused = 0
    for seed in range(40):
        random, liar = Random(f"{seed}/overlay"), Liar(seed)
        machine = Endpoint(A, view_of(A, B, C, D, E), Settings(protocol=Overlay()), 0)
        machine.start()
        for number in range(60):
            said: AnyMessage = liar.message(machine.latest)
            if random.random() < 0.5:
                counts = ((random.randint(0, 6), random.randint(0, 2)),)
                words: list[AnyMessage] = [Subtree(1, counts), Everywhere(1, counts)]
                said = random.choice([*words, AlarmSaid(is_raised=random.random() < 0.5)])
            effects = machine.step(ControlReceived(random.choice([B, C, D, E]), said), number)
            refused += any(isinstance(effect, RejectPeer) for effect in effects)
            if random.random() < 0.1 and machine.member.may_multicast:
                machine.step(MulticastRequested([b"x"], How(Order.CAUSAL), 1), number)
    assert refused > 100
