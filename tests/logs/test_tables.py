"""CSV and Parquet: the same verdicts as JSON, the same words from all judges; and refusals."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.logs.chat import ENGINES, ROWS, lines, places, same_from_both
from tests.logs.tables import SCHEMA, write_csv, write_parquet, write_records
from tests.pipeline.trace_generator import random_trace

from antiphon.cli.engines import judge
from antiphon.core.errors import TraceError
from antiphon.logs.opening import log_at
from antiphon.trace.log import Log
from antiphon.trace.verdict import Verdict


def refused(where: Path | Log) -> str:
    """Return what all judges refuse a log with."""
    said = set()
    for engine in ENGINES:
        with pytest.raises(TraceError) as caught:
            judge(where, engine)
        said.add(str(caught.value))
    (sentence,) = said
    return sentence


def words(verdict: Verdict) -> list[tuple[str, str, int, str, list[str]]]:
    """Return what a verdict says, but for files and lines."""
    return [
        (
            item.property,
            item.status,
            item.violation_count,
            item.reason,
            [violation.text for violation in item.violations],
        )
        for item in verdict.properties
    ]


@pytest.mark.parametrize("seed", range(12))
def test_formats_say_the_same(tmp_path: Path, seed: int) -> None:
    """A random trace, wrong more often than not, is judged alike as JSON, CSV and Parquet."""
    rows = random_trace(seed)
    path = tmp_path / "t.json"
    path.write_bytes(lines(rows))
    expected = words(same_from_both(path))
    table = write_csv(tmp_path / "t.csv", rows, ",;\t|"[seed % 4])
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    for other in (table, tmp_path / "z.csv.gz", write_parquet(tmp_path / "t.parquet", rows)):
        assert words(same_from_both(other)) == expected, other.name


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_table_on_standard_input_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """By how it begins."""
    path = tmp_path / name
    if path.suffix == ".parquet":
        data = write_parquet(path, ROWS).read_bytes()
    else:
        data = write_csv(tmp_path / "a.csv", ROWS, ";").read_bytes()
    data = gzip.compress(data) if path.suffix == ".gz" else data
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with log_at([Path("-")]) as log:
        verdict = same_from_both(log)
    assert [file for file, _ in places(verdict)] == ["stdin"] * 4
    assert verdict.run == "stdin"


def test_evidence_is_the_line_or_the_row(tmp_path: Path) -> None:
    """Lines of CSV count its first one, cells may go over several; Parquet's rows count from 1."""
    path = tmp_path / "a.csv"
    text = 'process,kind,sender,first,detail\nA,multicast,,1,"two\nlines"\nB,deliver,A,1,\n'
    path.write_text(text + "B,multicast,,1,\nC,deliver,B,1,\n\nC,deliver,A,1,\nA,deliver,B,1,\n")
    assert places(same_from_both(path)) == [(str(path), line) for line in (2, 4, 5, 6)]
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    assert places(same_from_both(path)) == [(str(path), row) for row in (1, 2, 3, 4)]


def test_folder_of_parts_is_one_log(tmp_path: Path) -> None:
    """As Spark writes it: some parts are empty."""
    for number, name in enumerate("ABCD"):
        rows = [row for row in ROWS if row.process == name]
        write_parquet(tmp_path / f"part-{number:05}-x.snappy.parquet", rows)
    (tmp_path / "_SUCCESS").touch()
    verdict = same_from_both(tmp_path)
    assert verdict.event_count == len(ROWS)
    assert [line for _, line in places(verdict)] == [1, 1, 2, 1]


def test_folders_may_name_processes(tmp_path: Path) -> None:
    """As Spark writes a table that it divides by a column, which is then in no file."""
    for name in ("parquet", "csv", "json"):
        for process in "ABC":
            folder = tmp_path / name / f"process={process}"
            folder.mkdir(parents=True)
            rows = [row for row in ROWS if row.process == process]
            records = [msgspec.to_builtins(row) for row in rows]
            for record in records:
                del record["process"]
            if name == "json":
                data = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
                (folder / "part-0.json").write_bytes(data)
            elif name == "csv":
                text = "".join(f"{row.kind},{row.sender},{row.first}\n" for row in rows)
                (folder / "part-0.csv").write_text(f"kind,sender,first\n{text}")
            else:
                schema = SCHEMA.remove(SCHEMA.get_field_index("process"))
                pq.write_table(
                    pa.Table.from_pylist(records, schema=schema), folder / "part-0.parquet"
                )
        verdict = same_from_both(tmp_path / name)
        found = [(Path(file).parent.name, line) for file, line in places(verdict)]
        shift = name == "csv"
        assert found == [
            ("process=A", 1 + shift), ("process=B", 1 + shift), ("process=B", 2 + shift),
            ("process=C", 1 + shift),
        ]  # fmt: skip


def test_cut_parquet_is_one_sentence(tmp_path: Path) -> None:
    """Wherever it is cut, or whatever is written over its pages."""
    path = write_parquet(tmp_path / "a.parquet", ROWS * 50)
    whole = path.read_bytes()
    expected = f"{path}:1: not a whole Parquet file: it is cut or damaged, copy it again"
    for length in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert refused(path) == expected, length


def test_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    """In a table it is seen before any row is read."""
    path = write_records(tmp_path / "a.parquet", [{"who": "A", "kind": "start"}])
    assert refused(path) == (
        f"{path}:1: there is no column 'process' to be `process`: there are who, kind; "
        "say which is it with --map process=..."
    )
    path = tmp_path / "a.csv"
    path.write_text("who,kind\nA,start\n")
    assert "there are who, kind;" in refused(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("process,kind\nA,start,B\n", ":2: 3 cells where the first line names 2: mend it"),
        ("process,kind\nA,strat\n", ":2: what is `kind` 'strat'? Say --map kind:deliver=strat"),
        ("process,kind,first\nA,multicast,one\n", ":2: `first` cannot be 'one'"),
        ("process,kind,first\nA,multicast,0\n", ":2: a multicast row needs `first`"),
        (
            "process,kind,seq\nA,multicast,1\n",
            (
                ":2: a multicast row needs `first`, the number of its first message, from 1: there "
                "are process, kind, seq; say which of them it is with --map first=..."
            ),
        ),
        (
            "process,kind,from,first\nA,deliver,B,1\n",
            (
                ":2: a deliver row needs `sender`, the process "
                "that multicast the messages: there are process, kind, from, first; say"
            ),
        ),
        ("process,kind,uniform\nA,start,maybe\n", ":2: `uniform` cannot be 'maybe'"),
        ('process,kind\nA,"start\n', ":2: not CSV"),
        ("process,kind\n", ":1: the file has no rows"),
        ("process,kind\nA,st\u00e4rt\n".encode("latin-1"), ":2: not UTF-8 text"),
        ("", ":1: there is no column 'process'"),
    ],
)
def test_wrong_csv_is_refused(tmp_path: Path, text: str | bytes, said: str) -> None:
    """With file and line."""
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert refused(path).startswith(f"{path}{said}")


def test_parts_of_other_versions_are_told_apart(tmp_path: Path) -> None:
    """A part without a column has its default; one whose types do not fit is named."""
    write_parquet(tmp_path / "part-1.parquet", [row for row in ROWS if row.process != "A"])
    names = ["process", "kind", "sender", "first"]
    narrow = pa.schema([SCHEMA.field(name) for name in names]).set(3, pa.field("first", pa.int32()))
    write_parquet(tmp_path / "part-2.parquet", [row for row in ROWS if row.process == "A"], narrow)
    assert same_from_both(tmp_path).event_count == len(ROWS)
    write_records(
        tmp_path / "part-3.parquet", [{"process": "D", "kind": "multicast", "first": "x"}]
    )
    assert refused(tmp_path).startswith(f"{tmp_path}/part-3.parquet:1: `first` cannot be 'x'")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path) -> None:
    """Small logs need no table library, unless they are Parquet."""
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    code = (
        "import sys; sys.modules['pyarrow'] = None; "
        f"sys.argv[1:] = ['verify', {str(path)!r}]; from antiphon.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2, f"antiphon: {path}: Parquet needs pyarrow: run: pip install 'antiphon[verify]'\n",
    )  # fmt: skip
