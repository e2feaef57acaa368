"""Large traces, written fast: the load on which docs/pipeline.md measures.

In each round every process multicasts a run and delivers it, then delivers the runs of all others
in an order of its own. So a round depends on all of the one before, and nothing else does.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from antiphon.trace.segments import segment_name

ROWS_PER_SEGMENT = 50_000


def write_large_trace(
    folder: Path, *, process_count: int, round_count: int, run_length: int, swapped_at: int = -1
) -> Path:
    """Write a run folder; the last process delivers a run of round ``swapped_at`` too late.

    It does so in the next round, after a run of another sender that depends on it.
    """
    names = [f"p{number:03}" for number in range(process_count)]
    for name in names:
        journal = folder / "events" / name
        journal.mkdir(parents=True)
        is_last = name == names[-1]
        rows = list(_rows(names, name, round_count, run_length, swapped_at if is_last else -1))
        for begin in range(0, len(rows), ROWS_PER_SEGMENT):
            lines = (
                f'{{"process":"{name}","index":{index},{row}}}\n'
                for index, row in enumerate(rows[begin : begin + ROWS_PER_SEGMENT], begin)
            )
            file = journal / segment_name(1 + begin // ROWS_PER_SEGMENT)
            file.write_text("".join(lines), encoding="ascii")
    return folder


def _rows(
    names: list[str], name: str, round_count: int, run_length: int, swapped_at: int
) -> Iterator[str]:
    """Yield what is particular to each row of a process."""
    dice = Random(name)
    others = [other for other in names if other != name]
    yield '"kind":"start"'
    yield f'"kind":"view","group":"g","members":{names}'.replace("'", '"')
    held_back: list[str] = []
    for round_number in range(round_count):
        first = f'"first":{1 + round_number * run_length},"count":{run_length},"bytes":64'
        yield f'"kind":"multicast","group":"g",{first},"order":"causal"'
        yield f'"kind":"deliver","group":"g","sender":"{name}",{first}'
        late = others[-1]
        dice.shuffle(others)
        if held_back and others[0] == late:
            others.reverse()
        rows = [f'"kind":"deliver","group":"g","sender":"{other}",{first}' for other in others]
        rows[1:1] = held_back
        held_back = [rows.pop()] if round_number == swapped_at else []
        yield from rows
    yield '"kind":"stop","detail":"quiescent"'
