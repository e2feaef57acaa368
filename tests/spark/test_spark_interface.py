"""``antiphon.spark`` in a session that somebody else made."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.oracle.known_domains import question
from tests.oracle.known_names import chain_through_two_names
from tests.pipeline.large_trace import write_large_trace
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.measures.measuring import measure
from antiphon.pipeline.measures.tables import tables_of
from antiphon.pipeline.session.java import system_java_home
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify as verify_path
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Property, Status, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def answer_before_question() -> list[Event]:
    """C delivers B's answer before A's question."""
    return [
        multicast("A"),
        deliver("B", "A"),
        multicast("B"),
        deliver("C", "B"),
        deliver("C", "A"),
        deliver("A", "B"),
    ]


def judged(verdict: Verdict) -> list[tuple[str, str, int, str]]:
    """Return what a verdict says of each property."""
    return [
        (each.property, each.status, each.violation_count, each.reason)
        for each in verdict.properties
    ]


def test_path_becomes_tables_and_a_page(spark: "SparkSession", tmp_path: Path) -> None:
    """Verdicts, the violation with its witness, measures; and the session is as it was."""
    import antiphon.spark

    path = write_rows(tmp_path / "abc<.ndjson", answer_before_question())
    names = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
    before = [spark.conf.get(name) for name in names], spark.sparkContext.pythonExec
    result = antiphon.spark.verify(spark, str(path))
    assert ([spark.conf.get(name) for name in names], spark.sparkContext.pythonExec) == before
    assert result.is_violated
    assert judged(result.runs["abc<"]) == judged(verify_path(LocalExecutor(), path))
    status = {row["property"]: row["status"] for row in result.verdicts.collect()}
    assert (status["causal"], status["fifo"], status["total"]) == ("violated", "holds", "unknown")
    [violation] = result.violations.collect()
    assert (violation["process"], violation["message"]["sender"]) == ("C", "B")
    assert [(link["file"], link["line"]) for link in violation["chain"]] == [
        (str(path), line) for line in (1, 2, 3, 4)
    ]
    measures = {(row["process"], row["measure"]): row["value"] for row in result.measures.collect()}
    assert measures["C", "messages delivered"] == 2
    assert repr(result).startswith("abc<: violated: causal; ")
    page = result._repr_html_()
    assert "<b>causal</b>: C delivered" in page
    assert "abc&lt;" in page
    assert "violated (1)" in page
    assert f"{path}:4".replace("<", "&lt;") in page


def test_frame_knows_processes_of_several_names(spark: "SparkSession", tmp_path: Path) -> None:
    """Rows of a record are brought together, with and without `index`."""
    import antiphon.spark

    rows, _, _ = chain_through_two_names()
    for is_numbered in (False, True):
        for place, row in enumerate(rows if is_numbered else ()):
            row.index = sum(other.record == row.record for other in rows[:place])
        path = write_rows(tmp_path / f"{is_numbered}.ndjson", rows)
        frame = spark.read.json(str(path))
        result = antiphon.spark.verify(spark, frame.repartition(5) if is_numbered else frame)
        [verdict] = result.runs.values()
        assert judged(verdict) == judged(verify_path(LocalExecutor(), path))
        assert verdict.of(Property.CAUSAL).violation_count == 1


def test_frame_gets_the_verdict_of_the_file(spark: "SparkSession", tmp_path: Path) -> None:
    """With and without `index`, whatever the partitions are; a gap is refused in a sentence."""
    import antiphon.spark

    path = write_rows(tmp_path / "abc.ndjson", answer_before_question())
    wanted = judged(verify_path(LocalExecutor(), path))
    frame = spark.read.json(str(path))
    result = antiphon.spark.verify(spark, frame, run="mine")
    assert judged(result.runs["mine"]) == wanted
    [violation] = result.violations.collect()
    assert [(link["process"], link["index"]) for link in violation["chain"]] == [
        ("A", 0), ("B", 0), ("B", 1), ("C", 0),
    ]  # fmt: skip
    run = write_large_trace(
        tmp_path / "run", process_count=3, round_count=9, run_length=2, swapped_at=4
    )
    rows = spark.read.format("antiphon").load(str(run)).repartition(3)
    mixed = antiphon.spark.verify(spark, rows)
    assert judged(mixed.runs["run"]) == judged(verify_path(LocalExecutor(), run))
    with pytest.raises(TraceError, match=r"'p001' follows row 4"):
        antiphon.spark.verify(spark, rows.where("not (process = 'p001' and index = 5)"))


def test_several_runs_are_judged_together(spark: "SparkSession", tmp_path: Path) -> None:
    """One verdict for each path; an address is read by Spark, in lines or as Parquet."""
    import antiphon.spark

    good = write_rows(tmp_path / "good.ndjson", [multicast("A"), deliver("B", "A")])
    bad = write_rows(tmp_path / "bad.ndjson", answer_before_question())
    result = antiphon.spark.verify(spark, [good, bad])
    assert {run: each.is_violated for run, each in result.runs.items()} == {
        "good": False,
        "bad": True,
    }
    spark.read.json(str(bad)).repartition(1).write.parquet(str(tmp_path / "table"))
    for address in (bad.as_uri(), (tmp_path / "table").as_uri()):
        assert antiphon.spark.verify(spark, address).is_violated


def test_run_folder_is_a_table(spark: "SparkSession", tmp_path: Path) -> None:
    """Every row is there, with its run and file, and what is no row fails with our sentence."""
    import antiphon.spark

    antiphon.spark.register(spark)
    run = write_large_trace(tmp_path / "run", process_count=3, round_count=9, run_length=2)
    rows = spark.read.format("antiphon").load(str(run))
    assert rows.where("kind = 'deliver' and run = 'run'").count() == 3 * 3 * 9
    [view] = rows.where("kind = 'view' and process = 'p001'").collect()
    assert (view["members"], Path(view["file"]).parent.name) == (["p000", "p001", "p002"], "p001")
    bad = write_rows(tmp_path / "bad.ndjson", [deliver("B", "")])
    with pytest.raises(Exception, match=r"bad\.ndjson:1: a deliver row needs `sender`"):
        spark.read.format("antiphon").load(str(bad)).count()


def test_parquet_is_a_table_like_lines(tmp_path: Path) -> None:
    """The same rows, defaults included, in whatever types; what is no row is a sentence."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from antiphon.pipeline.ingest.sources import find_sources
    from antiphon.spark.tables import rows_of

    def rows(path: Path) -> list[dict[str, object]]:
        return [
            {**row, "file": ""}
            for source in find_sources([path])
            for batch in rows_of(source)
            for row in batch.to_pylist()
        ]

    told = {"process": ["A", "B"], "kind": ["multicast", "deliver"], "first": [1, 1]}
    told["sender"] = [None, "A"]
    lines = write_rows(tmp_path / "log.ndjson", [multicast("A"), deliver("B", "A")])
    table = tmp_path / "log.parquet"
    pq.write_table(pa.table(told), table)
    expected = rows(lines)
    assert expected[0]["count"] == 1
    assert rows(table) == expected
    pq.write_table(pa.table({**told, "first": ["1", "1"]}), table)
    assert rows(table) == expected
    for wrong, words in (
        ({"kind": ["multicast", "jump"]}, r"log\.parquet:2: what is `kind` 'jump'"),
        ({"first": [1, 0]}, r"log\.parquet:2: a deliver row needs `first`"),
    ):
        pq.write_table(pa.table({**told, **wrong}), table)
        with pytest.raises(TraceError, match=words):
            rows(table)
    table.write_bytes(table.read_bytes()[:-40])
    with pytest.raises(TraceError, match=r"log\.parquet:1: not a whole Parquet file"):
        rows(table)


def test_stream_follows_journals_as_they_grow(spark: "SparkSession", tmp_path: Path) -> None:
    """Each row comes once: those of new processes too, and a row only when it is whole."""
    import antiphon.spark

    antiphon.spark.register(spark)
    run = tmp_path / "run"
    journal = run / "events" / "A" / "000001.ndjson"
    run.mkdir()
    rows = spark.readStream.format("antiphon").load(str(run)).select("process", "first")
    checkpoint = str(tmp_path / "checkpoint")

    def seen() -> list[tuple[str, int]]:
        stream = rows.writeStream.option("checkpointLocation", checkpoint).format("parquet")
        stream.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        return sorted(
            map(
                tuple,
                spark.read.schema("process string, first bigint")
                .parquet(str(tmp_path / "out"))
                .collect(),
            )
        )

    write_rows(journal, [multicast("A", 1, index=0), multicast("A", 2, index=1)])
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-4])
    assert seen() == [("A", 1)]
    journal.write_bytes(whole)
    write_rows(run / "events" / "B" / "000001.ndjson", [multicast("B", 1, index=0)])
    assert seen() == [("A", 1), ("A", 2), ("B", 1)]


@pytest.mark.long
@pytest.mark.skipif(system_java_home() is None, reason="a session of one's own needs a Java")
def test_example_runs_in_a_session_of_its_own(tmp_path: Path) -> None:
    """No environment variables, no Python on the path, the package on ``sys.path`` alone."""
    run = write_large_trace(
        tmp_path / "run", process_count=3, round_count=9, run_length=2, swapped_at=4
    )
    environment = {name: value for name, value in os.environ.items() if "PY" not in name}
    program = f"import sys; sys.path[:] = {sys.path}; sys.argv[1:] = [{str(run)!r}]"
    program += f"; exec(open({str(EXAMPLES / 'spark_notebook.py')!r}).read())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "|  causal|" in done.stdout
    assert "p002 delivered" in done.stdout


def test_groups_are_said_to_be_one_domain(spark: "SparkSession", tmp_path: Path) -> None:
    """As --domains does on the command line; what is not understood is refused."""
    import antiphon.spark

    path = write_rows(tmp_path / "groups.ndjson", question())
    statuses = {
        domains: antiphon.spark.verify(spark, path, domains=domains)
        .runs["groups"]
        .of(Property.CAUSAL)
        .status
        for domains in ("", "one", "each")
    }
    assert statuses == {"": Status.UNKNOWN, "one": Status.VIOLATED, "each": Status.HOLDS}
    with pytest.raises(UsageError, match="'one' or 'each'"):
        antiphon.spark.verify(spark, path, domains="all")


def test_paths_with_a_name_are_one_log(spark: "SparkSession", tmp_path: Path) -> None:
    """As on the command line; their ids are numbered over all of them."""
    import antiphon.spark

    paths = []
    for process in "ABC":
        own = [row for row in answer_before_question() if row.process == process]
        paths.append(write_rows(tmp_path / f"{process}.ndjson", own))
    result = antiphon.spark.verify(spark, paths, run="chat")
    assert result.runs["chat"].of(Property.CAUSAL).status is Status.VIOLATED
    theirs = [
        '{"process": "A", "kind": "multicast", "uuid": "q"}',
        '{"process": "B", "kind": "deliver", "uuid": "q"}',
    ]
    for name, row in zip("xy", theirs, strict=True):
        (tmp_path / f"{name}.ndjson").write_text(f"{row}\n")
    both = [tmp_path / "x.ndjson", tmp_path / "y.ndjson"]
    named = antiphon.spark.verify(spark, both, run="ids", columns="id=uuid")
    assert antiphon.spark.measure(spark, both, run="ids", columns="id=uuid").runs.count() == 1
    assert named.runs["ids"].of(Property.NO_CREATION).status is Status.HOLDS
    with pytest.raises(UsageError, match="say run="):
        antiphon.spark.verify(spark, both, columns="id=uuid")


def test_what_is_no_trace_is_one_sentence(spark: "SparkSession", tmp_path: Path) -> None:
    """A frame without our columns, a log of clocks, something else."""
    import antiphon.spark

    rows = [("a", "multicast", 1), ("b", "deliver", 1)]
    columns = "process string, kind string, first int"
    for frame, words in (
        (spark.createDataFrame(rows, columns), "the DataFrame: row 0 of 'b': a deliver row needs"),
        (
            spark.createDataFrame(rows, columns).selectExpr("process", "kind", "'x' as first"),
            "the DataFrame: the column `first` holds string, not integers",
        ),
    ):
        with pytest.raises(TraceError, match=words):
            antiphon.spark.verify(spark, frame)
    frame = spark.createDataFrame([("a", 1)], "who string, x int")
    with pytest.raises(UsageError, match="no column 'process' but who, x: rename yours"):
        antiphon.spark.verify(spark, frame)
    (tmp_path / "gov.log").write_text('alice {"alice":1}\nbegins\n')
    with pytest.raises(UsageError, match="a log of clocks names no messages"):
        antiphon.spark.verify(spark, tmp_path / "gov.log")
    with pytest.raises(UsageError, match="give a path"):
        antiphon.spark.verify(spark, 7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the list of paths is empty"):
        antiphon.spark.verify(spark, [])
    stream = spark.readStream.format("antiphon").load(str(tmp_path))
    with pytest.raises(UsageError, match="the DataFrame is a stream"):
        antiphon.spark.verify(spark, stream)


def test_measures_are_the_tables_of_the_command(spark: "SparkSession", tmp_path: Path) -> None:
    """As DataFrames, whole; saved, they are its files."""
    import pyarrow.parquet as pq

    import antiphon.spark

    run = write_large_trace(tmp_path / "run", process_count=3, round_count=9, run_length=2)
    found = antiphon.spark.measure(spark, run)
    expected = tables_of(measure(LocalExecutor(), run).values())
    assert found.distributions.toArrow().to_pylist() == expected["distributions"].to_pylist()
    found.save(tmp_path / "tables")
    for name, table in expected.items():
        assert pq.read_table(tmp_path / "tables" / f"{name}.parquet").to_pylist() == (
            table.to_pylist()
        )
    for source, words in (([], "list: give a path"), (["s3a://b/run"], "are not measured")):
        with pytest.raises(UsageError, match=words):
            antiphon.spark.measure(spark, source)


def test_session_that_cannot_be_used_is_a_sentence() -> None:
    """One that was stopped, and one of Spark Connect: Spark would answer with pages."""
    import antiphon.spark

    stopped = SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(_jsc=None))
    for session, words in ((stopped, "has been stopped"), (SimpleNamespace(), "Spark Connect")):
        for use in (antiphon.spark.verify, antiphon.spark.measure):
            with pytest.raises(UsageError, match=words):
                use(session, "any.ndjson")  # type: ignore[arg-type]
