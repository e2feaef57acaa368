"""The reader: rows with their places, and one sentence about everything that is not a row."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trace.hand_written import deliver, start, stop, write_rows

from antiphon.core.errors import TraceError
from antiphon.trace.journal import Journal
from antiphon.trace.reader import read_rows, read_segment
from antiphon.trace.rules import LINE_BYTES_MAX
from antiphon.trace.schema import INDEX_MAX, INT64_MAX, RUN_COUNT_MAX, Event

ROW = b'{"process":"p","kind":"start"}'


def refusal_of(path: Path) -> str:
    """Return the sentence with which a trace is refused."""
    with pytest.raises(TraceError) as caught:
        list(read_rows(path))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def refusal_of_line(tmp_path: Path, line: bytes) -> str:
    """Return the sentence with which the second line of a file is refused."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(ROW + b"\n" + line + b"\n" + ROW + b"\n")
    sentence = refusal_of(path)
    assert sentence.startswith(f"{path}:2: ")
    return sentence


def test_rows_come_with_their_file_and_line(tmp_path: Path) -> None:
    """Each row says where it is; blank lines count as lines but are no rows."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n" + ROW + b"\n  \r\n" + ROW + b"\n")
    assert [(file, line) for _, file, line in read_rows(path)] == [(str(path), 2), (str(path), 4)]


def test_windows_line_ends_and_byte_order_mark_are_no_trouble(tmp_path: Path) -> None:
    """Users' files come from all sorts of editors."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ROW + b"\r\n" + ROW + b"\r\n")
    assert [event.kind for event, _, _ in read_rows(path)] == ["start", "start"]


def test_fields_we_do_not_know_are_ignored(tmp_path: Path) -> None:
    """A user's log may say more than we ask for."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"process":"p","kind":"start","colour":"blue","more":[{"a":1.5}]}\n')
    assert [event for event, _, _ in read_rows(path)] == [start("p")]


def test_a_users_last_line_without_newline_counts(tmp_path: Path) -> None:
    """Editors leave it out; a row is a row."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(ROW + b"\n" + ROW)
    trace = read_rows(path)
    assert len(list(trace)) == 2
    assert trace.tally.truncated == []


def test_a_users_last_line_cut_short_is_refused(tmp_path: Path) -> None:
    """Only a journal may end in the middle of a row."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(ROW + b"\n" + ROW[:-5])
    assert refusal_of(path).startswith(f"{path}:2: not JSON")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"hello", "not JSON"),
        (b"[]", "not a row"),
        (b"null", "not a row"),
        (b"1", "not a row"),
        (ROW + ROW, "not JSON"),
        (b'{"kind":"start"}', "missing required field `process`"),
        (b'{"process":"p"}', "missing required field `kind`"),
        (b'{"host":"p","op":"got"}', "there are host, op: say --map process="),
        (b'{"process":"p","kind":"dance"}', "Invalid enum value 'dance'"),
        (b'{"process":"p","kind":"dance"}', "a later Antiphon may know it"),
        (b'{"process":"p","kind":"start","index":"1"}', "Expected `int`, got `str`"),
        (b'{"process":"p","kind":"start","index":1.0}', "Expected `int`, got `float`"),
        (b'{"process":"p","kind":"start","index":-2}', "Expected `int` >= -1"),
        (b'{"process":"p","kind":"start","index":true}', "Expected `int`, got `bool`"),
        (b'{"process":"p","kind":"start","uniform":1}', "Expected `bool`"),
        (b'{"process":"p","kind":"start","order":"any"}', "Invalid enum value"),
        (b'{"process":"p","kind":"start","view":-1}', "Expected `int` >= 0"),
        (b'{"process":"p","kind":"start","clock":{"q":-1}}', "Expected `int` >= 0"),
        (b'{"process":"p","kind":"start","clock":[1]}', "Expected `object | null`"),
        (b'{"process":"","kind":"start"}', "length >= 1"),
        (b'{"process":"p","kind":"start","time_us":' + b"9" * 20 + b"}", "Expected `int` <="),
        (b'{"process":"p","kind":"start","bytes":' + b"9" * 5_000 + b"}", "out of range"),
        (b'{"process":"p","kind":"multicast","first":1,"count":0}', "Expected `int` >= 1"),
        (b'{"process":"p","kind":"receive","count":1000001}', "Expected `int` <= 1000000"),
        (b'{"process":"p","kind":"multicast"}', "multicast row needs `first`"),
        (b'{"process":"p","kind":"multicast","sender":"q","first":1}', "happens at its sender"),
        (b'{"process":"p","kind":"deliver","sender":"q"}', "deliver row needs `first`"),
        (b'{"process":"p","kind":"deliver","sender":"q","first":-1}', "Expected `int` >= 0"),
        (b'{"process":"p","kind":"deliver","first":1}', "deliver row needs `sender`"),
        (b'{"process":"p","kind":"view"}', "view row needs `members`"),
        (b'{"process":"p","kind":"view","members":[]}', "view row needs `members`"),
        (b'{"process":"p","kind":"view","members":["p","p"]}', "different process names"),
        (b'{"process":"p","kind":"view","members":[""]}', "length >= 1"),
        (b'{"process":"p","kind":"vote","sender":"q","detail":"yes"}', "number of the transaction"),
        (b'{"process":"p","kind":"vote","first":1,"detail":"no"}', "vote row needs `sender`"),
        (b'{"process":"p","kind":"vote","sender":"q","first":1}', "needs `detail`, 'yes' or 'no'"),
        (b'{"process":"p","kind":"decide","sender":"q","first":1,"detail":"yes"}', "'commit' or"),
        (b'{"process":"p","kind":"send","first":1}', "the process that the letter is for"),
        (b'{"process":"p","kind":"send","first":1,"sender":"q","detail":"q"}', "at its sender"),
        (b'{"process":"p","kind":"send","detail":"q"}', "needs `first`, the number of the letter"),
        (b'{"process":"p","kind":"take","first":1}', "take row needs `sender`, the process that"),
        (b'{"process":"p","kind":"take","sender":"q"}', "the number of the letter"),
        (b'{"process":"\xff","kind":"start"}', "not UTF-8"),
        (b'{"process":"p","kind":"start","unknown":"\xff"}', "not UTF-8"),
        (b'{"process":"p\x00","kind":"start"}', "not JSON"),
        (b"\x00", "not JSON"),
        (b'{"process":"\\ud800","kind":"start"}', "not JSON"),
        (b'{"process":"p","kind":"start","x":' + b"[" * 50_000, "nested too deeply"),
        (b'{"process":"p","kind":"' + b"x" * 10_000 + b'"}', "..."),
        (b'{"process":"p","kind":"\\u001b[2J"}', "Invalid enum value"),
        (b'{"process":"p","kind":"start","detail":"' + b"x" * LINE_BYTES_MAX + b'"}', "longer"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_row_is_refused_by_file_and_line(
    tmp_path: Path, line: bytes, expected: str
) -> None:
    """Whatever is wrong with a line, the sentence names it and what was expected."""
    sentence = refusal_of_line(tmp_path, line)
    assert expected in sentence
    assert sentence.isprintable()


@pytest.mark.parametrize(
    "line",
    [
        b'{"process":"p","kind":"start","time_us":-%d}' % INT64_MAX,
        b'{"process":"p","kind":"start","bytes":%d,"queue_depth":%d}' % (INT64_MAX, INT64_MAX),
        b'{"process":"p","kind":"multicast","first":%d,"count":%d}'
        % (INT64_MAX - RUN_COUNT_MAX, RUN_COUNT_MAX),
        b'{"process":"p","kind":"multicast","sender":"p","first":1}',
        b'{"process":"p","kind":"start","clock":{"q":%d}}' % INT64_MAX,
        '{"process":"Zoë","kind":"start"}'.encode(),
    ],
)
def test_a_line_within_bounds_is_a_row(tmp_path: Path, line: bytes) -> None:
    """The largest numbers allowed, and names in any script."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(line + b"\n")
    assert len(list(read_rows(path))) == 1


def test_positions_fit_64_bits() -> None:
    """The last message of the longest row with the largest index has a 64-bit position."""
    assert INDEX_MAX * RUN_COUNT_MAX + RUN_COUNT_MAX - 1 <= INT64_MAX


def test_the_first_bad_line_is_named_whatever_is_wrong_further_on(tmp_path: Path) -> None:
    """A bad rule in line 2 is reported before broken JSON in line 4."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(ROW + b'\n{"process":"p","kind":"view"}\n' + ROW + b"\nhello\n")
    assert refusal_of(path).startswith(f"{path}:2: a view row")


@pytest.mark.parametrize("contents", [b"", b"\n", b" \n\n"])
def test_an_empty_file_is_refused(tmp_path: Path, contents: bytes) -> None:
    """No rows, no trace."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(contents)
    assert refusal_of(path) == f"{path}:1: the file has no rows: expected one JSON object per line"


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    """The path is named."""
    assert "does not exist: give a run folder or a trace file" in refusal_of(tmp_path / "nothing")


def test_a_device_is_refused() -> None:
    """What is neither a file nor a folder has no end."""
    assert "is neither a file nor a folder" in refusal_of(Path("/dev/zero"))


def test_a_file_that_vanishes_is_refused(tmp_path: Path) -> None:
    """A file listed but gone by the time it is read is named."""
    path = write_rows(tmp_path / "log.ndjson", [start("p")])
    trace = read_rows(path)
    path.unlink()
    with pytest.raises(TraceError, match=r"log\.ndjson:1: cannot be read .*: check the path"):
        list(trace)


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [
        ([0, 2], "row 2 of 'p' follows row 0"),
        ([0, 0], "row 0 of 'p' follows row 0"),
        ([0, 1, 0], "row 0 of 'p' follows row 1"),
        ([0, -1], "has no `index` and earlier ones have"),
        ([-1, 0], "is numbered and an earlier one is not"),
        ([-1, 5], "is numbered and an earlier one is not"),
        ([1], "go on with 1 where 0 was expected"),
    ],
)
def test_rows_not_numbered_without_gaps_are_refused(
    tmp_path: Path, indexes: list[int], expected: str
) -> None:
    """Numbers are all there, each once, in order; or there are none at all."""
    rows = [Event(process="p", kind="start", index=index) for index in indexes]
    path = write_rows(tmp_path / "log.ndjson", [start("other"), *rows])
    sentence = refusal_of(path)
    assert expected in sentence
    assert sentence.startswith(f"{path}:{len(indexes) + 1}: ")


def test_numbered_and_unnumbered_processes_may_share_a_file(tmp_path: Path) -> None:
    """Numbering is each process's own affair, and so are runs."""
    rows = [
        Event(process="p", kind="start", index=0),
        start("q"),
        Event(process="p", kind="start", index=0, run="b"),
        Event(process="p", kind="stop", index=1),
        stop("q"),
    ]
    assert [row for row, _, _ in read_rows(write_rows(tmp_path / "log.ndjson", rows))] == rows


def journal_of_rows(folder: Path, segment_bytes: int = 200, row_count: int = 7) -> list[Event]:
    """Write a journal of a few segments and return its rows."""
    rows = [deliver("p", "q", number, index=number - 1) for number in range(1, row_count + 1)]
    with Journal(folder / "events", "p", segment_bytes=segment_bytes) as journal:
        for row in rows:
            journal.append(row)
    return rows


def test_a_journal_cut_anywhere_in_its_last_segment_is_a_prefix(tmp_path: Path) -> None:
    """At every byte: whole rows are there, the rest is dropped and reported."""
    rows = journal_of_rows(tmp_path)
    last = max((tmp_path / "events" / "p").iterdir())
    before = len(rows) - last.read_bytes().count(b"\n")
    contents = last.read_bytes()
    assert before > 0
    for size in range(len(contents) + 1):
        last.write_bytes(contents[:size])
        whole, _, rest = contents[:size].rpartition(b"\n")
        kept = before + (whole.count(b"\n") + 1 if whole else 0)
        trace = read_rows(tmp_path)
        assert [event for event, _, _ in trace] == rows[:kept]
        reported = [(item.file, item.byte_count) for item in trace.tally.truncated]
        assert reported == ([(str(last), len(rest))] if rest or not size else [])


def test_a_journal_cut_in_an_earlier_segment_is_refused(tmp_path: Path) -> None:
    """That is no kill but damage."""
    journal_of_rows(tmp_path)
    first = tmp_path / "events" / "p" / "000001.ndjson"
    first.write_bytes(first.read_bytes()[:-3])
    assert refusal_of(tmp_path).startswith(f"{first}:")


def test_a_journal_with_an_empty_earlier_segment_is_refused(tmp_path: Path) -> None:
    """Rows are missing there."""
    journal_of_rows(tmp_path)
    first = tmp_path / "events" / "p" / "000001.ndjson"
    first.write_bytes(b"")
    assert refusal_of(tmp_path).startswith(f"{first}:1: the file has no rows")


def test_a_trace_whose_every_journal_is_empty_is_refused(tmp_path: Path) -> None:
    """One killed early is fine, all of them are no trace."""
    journal_of_rows(tmp_path)
    other = tmp_path / "events" / "z" / "000001.ndjson"
    other.parent.mkdir()
    other.write_bytes(b"")
    trace = read_rows(tmp_path)
    assert len(list(trace)) == 7
    assert [(item.file, item.byte_count) for item in trace.tally.truncated] == [(str(other), 0)]
    assert "the trace is empty" in refusal_of(other.parent)


def test_a_row_lost_between_segments_is_refused(tmp_path: Path) -> None:
    """A segment that loses its first row no longer continues the one before."""
    journal_of_rows(tmp_path)
    second = tmp_path / "events" / "p" / "000002.ndjson"
    second.write_bytes(second.read_bytes().split(b"\n", 1)[1])
    assert refusal_of(tmp_path).startswith(f"{second}:1: the rows of 'p' go on with ")


def test_a_row_of_another_process_in_a_journal_is_refused(tmp_path: Path) -> None:
    """A journal is its own process's alone."""
    path = tmp_path / "events" / "p" / "000001.ndjson"
    write_rows(path, [start("q")])
    assert "a row of 'q' in the journal of 'p'" in refusal_of(tmp_path)


def test_rows_without_index_in_two_files_are_refused(tmp_path: Path) -> None:
    """Lines order rows within a file only."""
    write_rows(tmp_path / "a.ndjson", [start("p")])
    write_rows(tmp_path / "b.ndjson", [stop("p")])
    sentence = refusal_of(tmp_path)
    assert sentence.startswith(f"{tmp_path / 'b.ndjson'}:1: rows of 'p' without `index`")


def test_numbered_rows_may_be_spread_over_files_in_any_order(tmp_path: Path) -> None:
    """The index is the order, whatever the files are called."""
    write_rows(tmp_path / "a.ndjson", [Event(process="p", kind="stop", index=1)])
    write_rows(tmp_path / "b.ndjson", [Event(process="p", kind="start", index=0)])
    assert len(list(read_rows(tmp_path))) == 2


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A segment is streamed: 40 MB are read in a fraction of that."""
    path = tmp_path / "log.ndjson"
    line = b'{"process":"p","kind":"start","detail":"' + b"x" * 900 + b'"}\n'
    with path.open("wb") as file:
        for _ in range(40):
            file.write(line * 1_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_segment(path, last=False)) == 40_000
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


@given(
    lines=st.lists(st.integers(1, 400), min_size=1, max_size=20),
    padding=st.integers(LINE_BYTES_MAX - 3_000, LINE_BYTES_MAX - 100),
)
def test_rows_across_block_borders_are_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[int], padding: int
) -> None:
    """Wherever blocks of the file end, lines and their numbers come out right."""
    rows = [Event(process="p", kind="start", detail="y" * padding)]
    rows += [Event(process="p", kind="start", detail="x" * size) for size in lines]
    path = write_rows(tmp_path_factory.mktemp("trace") / "log.ndjson", rows)
    assert list(read_segment(path, last=False)) == list(enumerate(rows, 1))
