"""Records that begin late and end early: windows cut out of traces, from dice.

Law: each process keeps a stretch of its rows, some of them all. Whose record lacks its beginning,
or its end, is said: by the terms, or by the record itself.
"""

from random import Random

import msgspec
from tests.pipeline.trace_generator import right_trace
from tests.pipeline.view_worlds import changing_views

from antiphon.trace.schema import EARLY, LATE, LEFT, QUIESCENT, Event
from antiphon.trace.verdict import EVERYBODY, Terms

Slice = tuple[list[Event], Terms]


def correct_trace(seed: int) -> list[Event]:
    """Return a trace in which orders are kept, with views or without."""
    dice = Random(f"slice {seed}")
    return dice.choice([right_trace, changing_views])(dice)


def sliced(rows: list[Event], dice: Random) -> Slice:
    """Return a window of each process's rows, and the terms that tell of it."""
    kept: list[Event] = []
    late, early = list[str](), list[str]()
    tells = dice.random() < 0.3
    for name in dict.fromkeys(row.process for row in rows):
        record = [row for row in rows if row.process == name]
        begin, end = _window(len(record), dice)
        is_late, is_early = begin > 0, end < len(record) or (begin > 0 and not _ends(record))
        window = record[begin:end]
        if not window:
            continue
        if tells:
            head = [Event(process=name, kind="start", detail=LATE)] if is_late else []
            tail = [Event(process=name, kind="stop", detail=EARLY)] if is_early else []
            window = [*head, *window, *tail]
        else:
            late += [name] if is_late else []
            early += [name] if is_early else []
        first = dice.choice([0, begin]) if is_late else 0
        kept += _numbered(window, first) if name[1] in "024" else window
    if not tells and dice.random() < 0.3:
        return kept, Terms(begins_late=(EVERYBODY,), ends_early=(EVERYBODY,))
    return kept, Terms(begins_late=tuple(late), ends_early=tuple(early))


def _window(length: int, dice: Random) -> tuple[int, int]:
    cuts = sorted(dice.randint(0, length) for _ in range(2))
    begin, end = dice.choice([(0, length), (0, cuts[1]), (cuts[0], length), (cuts[0], cuts[1])])
    return begin, end


def _ends(record: list[Event]) -> bool:
    """Whether a record is complete at its end: then it is so without its beginning, too."""
    kinds = {row.kind for row in record}
    is_quiet = record[-1].kind == "stop" and record[-1].detail in {QUIESCENT, LEFT}
    return "crash" not in kinds and ("start" not in kinds or is_quiet)


def _numbered(rows: list[Event], first: int) -> list[Event]:
    return [msgspec.structs.replace(row, index=first + place) for place, row in enumerate(rows)]
