"""Packs hold what the judge needs of rows, and count the rest."""

from tests.live.rows import begin, deliver, multicast, stop

from antiphon.live.packs import FIFO, MULTICAST, TOTAL, UNIFORM, Note, Strip, decode, encode, packed
from antiphon.trace.schema import Event


def test_rows_about_messages_become_strips_and_others_notes() -> None:
    """A strip ends where the view, the process or the kind of row changes."""
    rows = [
        *begin("A"),
        multicast("A", 1, order="total", uniform=True),
        deliver("A", "A", 1, count=3, order="fifo"),
        Event(process="A", kind="receive", group="g", time_us=9),
        deliver("A", "B", 1, number=2),
        stop("A"),
    ]
    pack = decode(encode(packed(enumerate(rows), 8)))
    kinds = [item.kind if isinstance(item, Note) else len(item.rows) for item in pack.items]
    assert kinds == ["start", "view", 2, 1, "stop"]
    strip = pack.items[2]
    assert isinstance(strip, Strip)
    assert [row[0] for row in strip.rows] == [MULTICAST | TOTAL | UNIFORM, FIFO]
    assert [row[5:] for row in strip.rows] == [(1, 1), (1, 3)]
    assert (pack.row_count, pack.line_count, pack.newest_us) == (7, 8, 9)
    [tail] = pack.tails
    assert (pack.names[tail.process], tail.row_count, tail.line, tail.is_stop) == ("A", 7, 6, True)


def test_names_of_messages_are_kept() -> None:
    """A user's own name travels with its row."""
    row = Event(process="A", kind="multicast", first=1, id="order-4711")
    pack = decode(encode(packed([(0, row)], 1)))
    strip = pack.items[0]
    assert isinstance(strip, Strip)
    assert strip.ids == {0: "order-4711"}
