"""Keys of views: all who use one use the same, and nobody but the senior gives one."""

from random import Random

import pytest

from antiphon import PeerError
from antiphon.core.control import KeyTold, decode_message, encode_message
from antiphon.core.ids import GroupName, ProcessId, ViewNumber
from antiphon.core.views import View
from antiphon.membership.effects import SendControl
from antiphon.membership.group_keys import TOLD_MAX, GroupKeys, KeyEffect, UseKey

ANNA, BEN, CAROL = (ProcessId(name) for name in ("anna", "ben", "carol"))


def view_of(number: int, *members: ProcessId) -> View:
    """Return a view."""
    return View(GroupName("choir"), ViewNumber(number), members)


def secret_of(number: int, who: ProcessId = ANNA) -> bytes:
    """Return what a process draws for a view."""
    return f"{number} {who}".encode().ljust(32)


def test_senior_draws_and_tells_all_others() -> None:
    """It uses the key at once; whoever is alone tells nobody."""
    view = view_of(1, ANNA, BEN, CAROL)
    told = KeyTold(1, secret_of(1))
    assert GroupKeys(ANNA).install(view, secret_of(1)) == [
        SendControl((BEN, CAROL), told), UseKey(view, secret_of(1)),
    ]  # fmt: skip
    alone = view_of(1, ANNA)
    assert GroupKeys(ANNA).install(alone, secret_of(1)) == [UseKey(alone, secret_of(1))]


@pytest.mark.parametrize("is_early", [True, False])
def test_others_use_what_the_senior_tells_when_both_are_there(is_early: bool) -> None:
    """The view and its key, in either order; what they drew themselves is used by nobody."""
    ben, view, told = GroupKeys(BEN), view_of(1, ANNA, BEN), KeyTold(1, secret_of(1))
    use = UseKey(view, told.secret)
    if is_early:
        assert ben.hear(ANNA, told) == []
        assert ben.install(view, secret_of(1, BEN)) == [use]
    else:
        assert ben.install(view, secret_of(1, BEN)) == []
        assert ben.is_waiting
        assert ben.hear(ANNA, told) == [use]
    assert not ben.is_waiting
    assert ben.hear(ANNA, told) == []


def test_senior_that_dies_before_it_told_is_followed_by_another_key() -> None:
    """The next view has another senior, and its key has nothing to do with the one before."""
    ben, carol = GroupKeys(BEN), GroupKeys(CAROL)
    for member in (ben, carol):
        assert member.install(view_of(1, ANNA, BEN, CAROL), secret_of(1, BEN)) == []
    ben.hear(ANNA, KeyTold(1, secret_of(1)))  # carol was not told
    following = view_of(2, BEN, CAROL)
    send, use = ben.install(following, secret_of(2, BEN))
    assert carol.install(following, secret_of(2, CAROL)) == []
    assert isinstance(send, SendControl)
    assert isinstance(send.message, KeyTold)
    assert send.to == (CAROL,)
    assert carol.hear(BEN, send.message) == [use]
    assert carol.hear(ANNA, KeyTold(1, secret_of(1))) == [], "too late: that view is over"


def test_key_of_anybody_but_the_senior_is_refused() -> None:
    """And a second one of the senior; what was said too early by others is not used."""
    ben, view = GroupKeys(BEN), view_of(1, ANNA, BEN, CAROL)
    ben.hear(CAROL, KeyTold(1, secret_of(1, CAROL)))
    assert ben.install(view, secret_of(1, BEN)) == []
    with pytest.raises(PeerError, match="carol"):
        ben.hear(CAROL, KeyTold(1, secret_of(1, CAROL)))
    assert ben.hear(ANNA, KeyTold(1, secret_of(1))) == [UseKey(view, secret_of(1))]
    with pytest.raises(PeerError, match="anna"):
        ben.hear(ANNA, KeyTold(1, secret_of(2)))
    ben.hear(ANNA, KeyTold(2, secret_of(2)))
    with pytest.raises(PeerError, match="two keys of view 2"):
        ben.hear(ANNA, KeyTold(2, secret_of(3)))


def test_keys_of_later_views_are_bounded_and_the_latest_stay() -> None:
    """Whoever is far behind finds the key of the view in which it catches up."""
    ben = GroupKeys(BEN)
    for number in range(1, 100):
        ben.hear(ANNA, KeyTold(number, secret_of(number)))
    used = [
        number
        for number in range(1, 100)
        if ben.install(view_of(number, ANNA, BEN), secret_of(number, BEN))
    ]
    assert used == list(range(100 - TOLD_MAX, 100))


def test_secrets_are_not_shown() -> None:
    """A control message that is logged, or quoted in a failure, does not give the key away."""
    told = KeyTold(1, secret_of(1))
    assert repr(told) == "KeyTold(number=1)"
    assert decode_message(encode_message(told)) == told
    for wrong in (b"", bytes(31), bytes(33)):
        with pytest.raises(PeerError):
            decode_message(encode_message(KeyTold(1, wrong)))


class Choir:
    """Six members and some views, decided beforehand; channels are FIFO, and slow as they like."""

    def __init__(self, seed: int) -> None:
        """Who is out of a later view dies some time, perhaps while it tells a key."""
        self.dice = dice = Random(seed)
        names = [ProcessId(f"p{index}") for index in range(6)]
        self.machines = {name: GroupKeys(name) for name in names}
        self.views = [view_of(1, *names)]
        while len(self.views[-1].members) > 2 and len(self.views) < 8:
            members = list(self.views[-1].members)
            if dice.random() < 0.6:
                members.remove(dice.choice(members))
            self.views.append(view_of(len(self.views) + 1, *members))
        self.behind = dict.fromkeys(names, 0)
        self.channels: dict[tuple[ProcessId, ProcessId], list[KeyTold]] = {}
        self.used: dict[int, set[bytes]] = {}
        self.last: dict[ProcessId, int] = {}

    def do(self, who: ProcessId, effects: list[KeyEffect]) -> None:
        """Note what is used; put what is told into the channels, if its sender lives that long."""
        for effect in effects:
            if isinstance(effect, UseKey):
                self.used.setdefault(effect.view.number, set()).add(effect.secret)
                self.last[who] = effect.view.number
                continue
            lives = who in self.views[-1].members
            for to in effect.to[: None if lives else self.dice.randrange(6)]:
                assert isinstance(effect.message, KeyTold)
                self.channels.setdefault((who, to), []).append(effect.message)

    def step(self) -> bool:
        """Let somebody install its next view, or something arrive; tell whether there was any."""
        steps: list[tuple[ProcessId, ProcessId | None]] = [
            (who, None)
            for who, count in self.behind.items()
            if count < len(self.views) and who in self.views[count].members
        ]
        steps += [(to, sender) for (sender, to), waiting in self.channels.items() if waiting]
        if not steps:
            return False
        who, sender = self.dice.choice(steps)
        if sender is None:
            view = self.views[self.behind[who]]
            self.behind[who] += 1
            self.do(who, self.machines[who].install(view, secret_of(view.number, who)))
        else:
            self.do(who, self.machines[who].hear(sender, self.channels[sender, who].pop(0)))
        return True


@pytest.mark.parametrize("seed", range(200))
def test_random_histories_never_use_two_keys_in_one_view(seed: int) -> None:
    """And at the end everybody who is left uses the key of the last view."""
    choir = Choir(seed)
    while choir.step():
        pass
    assert all(len(secrets) == 1 for secrets in choir.used.values())
    assert all(choir.last[who] == len(choir.views) for who in choir.views[-1].members)
