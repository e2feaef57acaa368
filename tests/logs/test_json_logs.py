"""JSON lines under any name, compressed, in parts, from standard input, at several paths."""

import gzip
import io
import sys
from pathlib import Path

import msgspec
import pytest
from tests.logs.chat import ENGINES, ROWS, lines, places, same_from_both

from antiphon.cli.engines import Engine, judge
from antiphon.core.errors import TraceError, UsageError
from antiphon.logs.opening import log_at
from antiphon.trace.log import Log
from antiphon.trace.segments import segments

CHAIN = [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["a.ndjson", "a.json", "a.jsonl", "a.log", "events"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_name_says_nothing(tmp_path: Path, name: str, is_compressed: bool) -> None:
    """Any name will do, with .gz or not, and evidence names the file and its lines."""
    path = tmp_path / (f"{name}.gz" if is_compressed else name)
    path.write_bytes(gzip.compress(lines(ROWS)) if is_compressed else lines(ROWS))
    verdict = same_from_both(path)
    assert places(verdict) == [(str(path), line) for line in CHAIN]
    assert verdict.run == name.partition(".")[0]


def test_compressed_file_under_a_plain_name_is_read(tmp_path: Path) -> None:
    """What counts is how a file begins."""
    path = tmp_path / "a.ndjson"
    path.write_bytes(gzip.compress(lines(ROWS)))
    assert places(same_from_both(path))[-1] == (str(path), 4)


@pytest.mark.parametrize("engine", ENGINES)
def test_cut_compressed_file_is_one_sentence(tmp_path: Path, engine: Engine) -> None:
    """It names the file, and says what to do."""
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(lines(ROWS))[:-10])
    with pytest.raises(TraceError, match=r"a.ndjson.gz:1: the compressed file is cut or damaged"):
        judge(path, engine)


def test_what_spark_writes_is_read(tmp_path: Path) -> None:
    """Parts are files of the trace, some empty; marks and checksums are not."""
    by_process = [[row for row in ROWS if row.process == name] for name in "ABC"]
    for number, rows in enumerate([*by_process, []]):
        part = f"part-{number:05}-4c1d-c000.json.gz"
        (tmp_path / part).write_bytes(gzip.compress(lines(rows)))
        (tmp_path / f".{part}.crc").write_bytes(b"crc\0")
    (tmp_path / "_SUCCESS").touch()
    found = places(same_from_both(tmp_path))
    assert [(Path(file).name[:10], line) for file, line in found] == [
        ("part-00000", 1), ("part-00001", 1), ("part-00001", 2), ("part-00002", 1),
    ]  # fmt: skip


def test_run_folder_without_events_has_no_trace(tmp_path: Path) -> None:
    """What a run folder holds besides its events is not taken for rows."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.json").write_text("{}")
    with pytest.raises(TraceError, match=r"no trace here: .*\.parquet, \.csv or \.tsv"):
        segments(tmp_path)


def test_folder_of_several_kinds_is_refused(tmp_path: Path) -> None:
    """Nothing is left out in silence."""
    (tmp_path / "a.json").write_bytes(lines(ROWS))
    (tmp_path / "b.csv").write_text("process,kind\n")
    with pytest.raises(TraceError, match=r"several kinds, such as a\.json and b\.csv: name those"):
        segments(tmp_path)
    (tmp_path / "c.ndjson").write_bytes(lines(ROWS))
    with pytest.raises(TraceError, match=r"several kinds, such as c\.ndjson and a\.json: name"):
        segments(tmp_path)


def test_several_paths_are_one_log(tmp_path: Path) -> None:
    """Each process has a file; there is one verdict, on all."""
    paths = []
    for name in "ABC":
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_bytes(lines([row for row in ROWS if row.process == name]))
    verdict = same_from_both(Log(tuple(paths)))
    assert (verdict.run, verdict.event_count) == ("A + B + C", 6)
    expected = [(0, 1), (1, 1), (1, 2), (2, 1)]
    assert places(verdict) == [(str(paths[number]), line) for number, line in expected]


def test_path_given_twice_is_refused(tmp_path: Path) -> None:
    """Also if it is inside a folder that is given."""
    path = tmp_path / "a.json"
    path.write_bytes(lines(ROWS))
    with pytest.raises(TraceError, match=r"a\.json: is given twice: leave one"):
        segments(Log((tmp_path, path)))


def test_copied_segment_is_named_with_its_original(tmp_path: Path) -> None:
    """Rows that are there twice are told from rows that are missing."""
    rows = [row for row in ROWS if row.process == "A"]  # which other tests share: not changed here
    numbered = [msgspec.structs.replace(row, index=index) for index, row in enumerate(rows)]
    for name in ("000001.ndjson", "copy.ndjson"):
        (tmp_path / name).write_bytes(lines(numbered))
    for engine in ENGINES:
        with pytest.raises(TraceError) as caught:
            judge(tmp_path, engine)
        assert str(caught.value) == (
            f"{tmp_path}/copy.ndjson:1: rows 0 to 1 of 'A' are in {tmp_path}/000001.ndjson, too: "
            "leave one of the two files out"
        )


@pytest.mark.parametrize("is_compressed", [False, True])
def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch, is_compressed: bool) -> None:
    """It is read once and judged by anyone; evidence calls it stdin; nothing is left behind."""
    data = gzip.compress(lines(ROWS)) if is_compressed else lines(ROWS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with log_at([Path("-")]) as log:
        assert places(same_from_both(log)) == [("stdin", line) for line in CHAIN]
        (kept,) = log.paths
    assert not kept.exists()
    with pytest.raises(UsageError, match="given twice"), log_at([Path("-"), Path("-")]):
        pass


def test_refusals_call_standard_input_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that it is kept in is nobody's business."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"process": "A"}\n')))
    with log_at([Path("-")]) as log:
        for engine in ENGINES:
            with pytest.raises(TraceError, match=r"^stdin:1: not a row"):
                judge(log, engine)
