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
