"""Large traces, written fast: the load on which docs/pipeline.md measures.

In each round every process multicasts a run and delivers it, then delivers the runs of all others
in an order of its own. So a round depends on all of the one before, and nothing else does. Rounds
are divided evenly among views, of the same members.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from antiphon.trace.segments import segment_name

ROWS_PER_SEGMENT = 50_000
_HELD_ROUNDS = 3


def write_large_trace(
    folder: Path,
    *,
    process_count: int,
    round_count: int,
    run_length: int,
    view_count: int = 1,
    swapped_at: int = -1,
    dropped_at: int = -1,
) -> Path:
    """Write a run folder; the last process delivers a run of round ``swapped_at`` too late.

    It does so in the next round, after a run of another sender that depends on it; the last one
    of round ``dropped_at`` it never delivers.
    """
    names = [f"p{number:03}" for number in range(process_count)]
    for name in names:
        journal = folder / "events" / name
        journal.mkdir(parents=True)
        wrong_at = (swapped_at, dropped_at) if name == names[-1] else (-1, -1)
        rounds = (round_count, run_length, round_count // view_count)
        rows = list(_rows(names, name, rounds, wrong_at))
        for begin in range(0, len(rows), ROWS_PER_SEGMENT):
            lines = (
                f'{{"process":"{name}","index":{index},{row}}}\n'
                for index, row in enumerate(rows[begin : begin + ROWS_PER_SEGMENT], begin)
            )
            file = journal / segment_name(1 + begin // ROWS_PER_SEGMENT)
            file.write_text("".join(lines), encoding="ascii")
    return folder


def write_large_domain(
    folder: Path, groups: dict[str, list[str]], round_count: int, swapped_at: int = -1
) -> Path:
    """Write a run folder of overlapping groups of one domain.

    In each round every process multicasts one message, in one of its groups by turns, and then
    delivers those of all its groups, in an order of its own. What the first that is in two groups
    delivers last in round ``swapped_at``, it delivers only three rounds later, after much that
    depends on it, in all its groups.
    """
    names = sorted({name for members in groups.values() for name in members})
    of_process = {name: [group for group in groups if name in groups[group]] for name in names}
    late = next((name for name in names if len(of_process[name]) > 1), "")
    for place, name in enumerate(names):
        journal = folder / "events" / name
        journal.mkdir(parents=True)
        wrong_at = swapped_at if name == late else -1
        rows = list(_domain_rows(groups, of_process, (place, name), round_count, wrong_at))
        for begin in range(0, len(rows), ROWS_PER_SEGMENT):
            lines = (
                f'{{"process":"{name}","index":{index},{row}}}\n'
                for index, row in enumerate(rows[begin : begin + ROWS_PER_SEGMENT], begin)
            )
            file = journal / segment_name(1 + begin // ROWS_PER_SEGMENT)
            file.write_text("".join(lines), encoding="ascii")
    return folder


def _domain_rows(
    groups: dict[str, list[str]],
    of_process: dict[str, list[str]],
    who: tuple[int, str],
    round_count: int,
    wrong_at: int,
) -> Iterator[str]:
    place, name = who
    dice = Random(name)
    places = {other: number for number, other in enumerate(sorted(of_process))}
    sent = dict.fromkeys(groups, 0)
    senders = {
        group: [other for other in groups[group] if other != name] for group in of_process[name]
    }
    got = {(group, other): 0 for group in senders for other in senders[group]}
    yield '"kind":"start"'
    for group in of_process[name]:
        members = f"{groups[group]}".replace("'", '"')
        yield f'"kind":"view","group":"{group}","domain":"d","members":{members}'
    held_back: list[str] = []
    for number in range(round_count):
        group = of_process[name][(number + place) % len(of_process[name])]
        sent[group] += 1
        row = f'"group":"{group}","first":{sent[group]},"bytes":64'
        yield f'"kind":"multicast",{row},"order":"causal"'
        yield f'"kind":"deliver",{row},"sender":"{name}"'
        rows = []
        for group, others in senders.items():
            for other in others:
                turns = of_process[other]
                if turns[(number + places[other]) % len(turns)] == group:
                    got[group, other] += 1
                    rows.append(
                        f'"kind":"deliver","group":"{group}","sender":"{other}",'
                        f'"first":{got[group, other]},"bytes":64'
                    )
        dice.shuffle(rows)
        if number == wrong_at:
            held_back = [rows.pop()]
        yield from rows
        if number == wrong_at + _HELD_ROUNDS:
            yield from held_back
    yield '"kind":"stop","detail":"quiescent"'


def _rows(
    names: list[str], name: str, rounds: tuple[int, int, int], wrong_at: tuple[int, int]
) -> Iterator[str]:
    """Yield what is particular to each row of a process."""
    (round_count, run_length, rounds_per_view), (swapped_at, dropped_at) = rounds, wrong_at
    dice = Random(name)
    others = [other for other in names if other != name]
    yield '"kind":"start"'
    held_back: list[str] = []
    for round_number in range(round_count):
        view, in_view = divmod(round_number, rounds_per_view)
        if in_view == 0:
            members = f"{names}".replace("'", '"')
            yield f'"kind":"view","group":"g","view":{view + 1},"members":{members}'
        first = f'"view":{view + 1},"first":{1 + in_view * run_length},"count":{run_length}'
        first += ',"bytes":64'
        yield f'"kind":"multicast","group":"g",{first},"order":"causal"'
        yield f'"kind":"deliver","group":"g","sender":"{name}",{first}'
        late = others[-1]
        dice.shuffle(others)
        if held_back and others[0] == late:
            others.reverse()
        rows = [f'"kind":"deliver","group":"g","sender":"{other}",{first}' for other in others]
        rows[1:1] = held_back
        held_back = [rows.pop()] if round_number == swapped_at else []
        rows = rows[:-1] if round_number == dropped_at else rows
        yield from rows
    yield '"kind":"stop","detail":"quiescent"'
