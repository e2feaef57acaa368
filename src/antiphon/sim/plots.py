"""Plots of wide worlds: situations of several processes that single events hardly ever bring about.

Law: each plot leaves to chance who plays which part, and when exactly; what it is about is said in
its first line.
"""

from collections.abc import Callable
from typing import NamedTuple

from antiphon.sim.script import Script

_HOLD_SILENCES = 34
"""For so long a link stays down where the group has to go on without it."""

_HOLD_LONG_SILENCES = 16
"""The same where silence is borne for many heartbeats."""


def senior_dies(script: Script, time_us: int) -> None:
    """The most senior member dies, perhaps the next one with it; the rest is distance."""
    script.multicast(time_us - script.soon())
    for who in script.names[: script.random.choice([1, 1, 1, 2])]:
        script.add(time_us + script.soon(1), "crash", who, amount=script.random.choice([0, 0, 1]))
    script.add(time_us + script.silence_us + script.soon(), "heal")


def deaf_leaver(script: Script, time_us: int) -> None:
    """Who leaves hears only some of the others, one of whom multicasts meanwhile.

    What the senior member says to that one takes a while, so that the views last; and it does not
    hear the leaver, so that it is taken for dead.
    """
    random, silence_us = script.random, script.silence_us
    senior = script.names[0] if random.random() < 0.8 else script.somebody()
    leaver, speaker, *others = script.cast(len(script.names), senior)
    long_us = random.choice([3, 6, 9]) * silence_us
    script.add(time_us, "slow", speaker, leaver, amount=long_us)
    if random.random() < 0.8:
        script.add(time_us, "slow", senior, speaker, amount=random.randint(3, 8) * silence_us // 10)
    leave_us = time_us + script.soon()
    script.add(leave_us, "leave", leaver)
    for _ in range(random.choice([1, 2])):
        script.add(leave_us + script.soon(20), random.choice(script.sayings), speaker, amount=1)
    cut_us = leave_us + script.soon(20)
    until_us = cut_us + random.choice([2, 4, 4]) * silence_us
    for who, likely in [(senior, 0.9), *((other, 0.2) for other in others)]:
        if random.random() < likely:
            script.add(cut_us, "slow", who, leaver, amount=long_us)
            script.add(until_us, "slow", who, leaver)
        if random.random() < likely:
            script.add(cut_us, "slow", leaver, who, amount=long_us)
    script.add(until_us + script.soon(), "heal")


def lone_link(script: Script, time_us: int) -> None:
    """Some die; of the others two cannot reach each other, for long, but both the senior one."""
    random = script.random
    dead = script.cast((len(script.names) - 1) // 2, script.names[0])
    left = [who for who in script.names[1:] if who not in dead]
    pair = random.sample(left, min(2, len(left)))
    is_quick = script.silence_us < 10 * script.beat_us
    hold = _HOLD_SILENCES if is_quick else _HOLD_LONG_SILENCES
    until_us = time_us + hold * script.silence_us + 80 * script.way_us
    for who in script.names:  # then everybody has heard everybody else at about the same time
        script.add(time_us - script.way_us - script.beat_us // 20, "causal", who, amount=1)
    for way in [pair, pair[::-1]][: random.choice([1, 2, 2, 2])] if len(pair) > 1 else []:
        script.add(time_us, "down", *way)
        script.add(until_us, "up", *way)
    for who in dead:
        script.add(time_us + random.choice([0, 0, 0, script.soon()]), "crash", who)
    script.add(until_us, "heal")


def untold_joiners(script: Script, time_us: int) -> None:
    """Joiners begin transactions at once, and all who could tell them the past die.

    A leaver keeps the others busy, so that all who ask meanwhile come in one view.
    """
    random, way_us = script.random, script.way_us
    *seniors, leaver = script.names[:3]
    script.add(time_us, "leave", leaver)
    for who in script.newcomers:
        script.add(time_us + script.soon(1), "join", who)
        if script.is_atomic and random.random() < 0.7:
            script.add(time_us + way_us, "begin", who)
    gone_us = time_us + int((6.5 + 1.2 * random.random()) * way_us)
    for who in seniors:
        script.add(gone_us + script.soon(0.1), "crash", who, amount=1)
    script.names += [who for who in script.newcomers if who not in script.names]


def second_letter(script: Script, time_us: int) -> None:
    """The first letter is acknowledged, the second is still on its way; a third brings news."""
    random, way_us = script.random, script.way_us
    if len(script.names) < 3:
        return
    sender, addressee, third = script.cast(3)
    script.add(time_us, "send", sender, addressee)
    script.add(time_us + way_us // 4, "slow", sender, addressee, amount=40 * way_us)
    script.add(time_us + way_us // 3, "send", sender, addressee)
    for _ in range(random.choice([1, 2])):
        script.add(time_us + way_us // 2 + script.soon(4), "send", sender, third)
    for ways in (3, 5, 7):
        script.add(time_us + ways * way_us + script.soon(2), "send", third, addressee)
    script.add(time_us + 20 * way_us, "slow", sender, addressee)


def missed_views(script: Script, time_us: int) -> None:
    """Somebody hears of no view for a while, and who decided them dies with what it had sent."""
    random = script.random
    senior, heir, *others = script.names
    deaf, *dying = random.sample(others, len(others))
    script.add(time_us, "slow", senior, deaf, amount=2 * script.silence_us)
    time_us += script.soon(2)
    for who in dying[:2]:
        script.add(time_us, "crash", who, amount=1)
        time_us += random.choice([0, 5_000]) + (6 + random.randint(0, 6)) * script.way_us
    if random.random() < 0.3:
        script.add(time_us - script.soon(6), "slow", senior, heir, amount=script.silence_us)
    script.add(time_us + random.choice([0, script.beat_us]), "crash", senior, amount=1)


def several_out(script: Script, time_us: int) -> None:
    """Several are stopped, or cut off, until they are excluded, and come back together."""
    random = script.random
    who = script.cast(max(1, (len(script.names) - 1) // 2 + random.choice([0, 0, 1])))
    until_us = time_us + random.choice([2, 3]) * script.silence_us + script.soon()
    if random.random() < 0.5:
        script.add(time_us, "partition", *who)
        script.add(until_us, "heal")
    else:
        for process in who:
            script.add(time_us + script.soon(1), "pause", process)
            script.add(until_us + script.soon(1), "resume", process)
    for event in random.sample([script.join, script.leave, script.multicast, script.letter], 2):
        event(random.choice([time_us, until_us]) + script.soon(6))
    script.uniform(time_us + script.soon(4))


def own_verdict(script: Script, time_us: int) -> None:
    """Who is excluded votes for it and learns it; who counted the votes dies before others do.

    One does not hear the excluded, and says so; what the senior member says to all but the excluded
    takes so long that its death cuts it short.
    """
    random, silence_us = script.random, script.silence_us
    senior, accuser, *others = script.names
    excluded = others[-((len(script.names) - 1) // 2) :]
    for who in excluded:
        script.add(time_us, "down", who, accuser)
    slow_us = time_us + silence_us // 2
    for who in script.names[1:]:
        if who not in excluded:
            script.add(slow_us, "slow", senior, who, amount=silence_us // 4)
    begin_us = time_us + silence_us - script.beat_us
    dies_us = begin_us + 4 * script.way_us + int(random.random() * script.beat_us)
    script.add(dies_us, "crash", senior, amount=random.choice([0, 0, 1]))
    script.add(dies_us + script.soon() + silence_us // 4, "heal")
    for who in excluded:
        script.add(dies_us + script.soon() + silence_us // 4, "up", who, accuser)


class Plot(NamedTuple):
    """A plot, how often it is played, and what it needs."""

    play: Callable[[Script, int], None]
    weight: int
    founders: tuple[int, ...] = (3, 4, 5)
    is_even: bool = False
    """Whether all ways must take about the same time, and applications keep no state."""
    is_near: bool = False
    """Whether a view change must take less than the silence that is borne."""


PLOTS = (
    Plot(senior_dies, 3),
    Plot(deaf_leaver, 3, (4, 5), is_near=True),
    Plot(lone_link, 2, (5,), is_near=True),
    Plot(untold_joiners, 5, (3,), is_even=True),
    Plot(second_letter, 2),
    Plot(missed_views, 5, (5,), is_near=True),
    Plot(several_out, 4),
    Plot(own_verdict, 2, (4, 4, 5), is_near=True),
)
"""The plots, each of which came out of a promise that was broken."""
