"""Traces at addresses of Hadoop's file systems: the same words as of files here, on all terms.

``viewfs``, a file system of Hadoop's own that leads to another one, stands for an object store.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.cli.command import antiphon
from tests.logs.chat import ROWS, lines
from tests.logs.tables import write_csv, write_parquet
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.cli.engines import Engine, judge
from antiphon.core.errors import AntiphonError, TraceError, UsageError
from antiphon.trace.log import is_address, local_path
from antiphon.trace.segments import segments
from antiphon.trace.verdict import Property, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORE = "viewfs://store/logs"
LINK = "fs.viewfs.mounttable.store.link./logs"


@pytest.fixture
def store(spark: "SparkSession", tmp_path: Path) -> Iterator[Path]:
    """Return the folder that the address leads to."""
    spark.conf.set(LINK, tmp_path.as_uri())
    spark.conf.set("fs.viewfs.impl.disable.cache", "true")
    yield tmp_path
    spark.conf.unset(LINK)


def judged(spark: "SparkSession", source: object, **terms: Any) -> Verdict:
    """Return the verdict on the only run."""
    import antiphon.spark

    [verdict] = antiphon.spark.verify(spark, source, **terms).runs.values()  # type: ignore[arg-type]
    return verdict


def test_what_is_an_address() -> None:
    """Anything with a scheme but file, which is a path."""
    assert is_address("s3a://bucket/run")
    assert not is_address(Path("/logs/a").as_uri())
    assert not is_address("C:/logs")
    assert local_path(Path("/logs/a b").as_uri()) == Path("/logs/a b")


@pytest.mark.spark
def test_verdict_is_that_of_the_files(spark: "SparkSession", store: Path) -> None:
    """In every format, also a run folder with tables of its measures; evidence names addresses."""
    events = store / "run" / "events"
    for name in "ABC":
        (events / name).mkdir(parents=True)
        rows = [row for row in ROWS if row.process == name]
        numbered = [msgspec.structs.replace(row, index=n) for n, row in enumerate(rows)]
        (events / name / "000001.ndjson").write_bytes(lines(numbered))
    (store / "run" / "metrics").mkdir()
    write_parquet(store / "run" / "metrics" / "runs.parquet", ROWS)
    write_parquet(store / "table.parquet", ROWS)
    write_csv(store / "cells.csv", ROWS)
    for name in ("run", "table.parquet", "cells.csv"):
        expected = judge(store / name, Engine.LOCAL)
        found = judged(spark, f"{STORE}/{name}")
        said = msgspec.json.encode(found).decode().replace(STORE, str(store))
        assert msgspec.json.decode(said, type=Verdict) == msgspec.structs.replace(
            expected, engine="spark"
        )
        assert found.of(Property.CAUSAL).violations[0].chain[0].file.startswith(STORE)


@pytest.mark.spark
def test_names_of_messages_are_fetched(spark: "SparkSession", store: Path) -> None:
    """The file is looked into again, where the driver is."""
    rows = [multicast("A", 1, id="one"), multicast("A", 2), deliver("B", "A", 2)]
    write_rows(store / "named.ndjson", rows)
    violation = judged(spark, f"{STORE}/named.ndjson").of(Property.FIFO).violations[0]
    assert 'message 1 of A ("one")' in violation.text


@pytest.mark.spark
def test_several_addresses_and_paths_are_a_run_each(spark: "SparkSession", store: Path) -> None:
    """By their names."""
    import antiphon.spark

    good = write_rows(store / "good.ndjson", [multicast("A"), deliver("B", "A")])
    (store / "bad.json").write_bytes(lines(ROWS))
    result = antiphon.spark.verify(spark, [good, f"{STORE}/bad.json"])
    assert {run: each.is_violated for run, each in result.runs.items()} == {
        "good": False, "bad": True,
    }  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (f"{STORE}/nowhere", "nothing can be read there: give a run folder"),
        ("nosuch://bucket/run", "have it load the package that does, for s3a with --conf"),
        (f"{STORE}/cut.parquet", "cut.parquet:1: not a whole Parquet file"),
        (f"{STORE}/empty", "no trace here: expected a run folder"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    spark: "SparkSession", store: Path, address: str, sentence: str
) -> None:
    """That names the address."""
    (store / "cut.parquet").write_bytes(b"PAR1 and no more")
    (store / "empty").mkdir()
    (store / "empty" / "readme.txt").write_text("nothing")
    with pytest.raises(AntiphonError) as caught:
        judged(spark, address)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(address)


@pytest.mark.spark
def test_terms_are_those_of_the_command_line(spark: "SparkSession", tmp_path: Path) -> None:
    """What is judged, of a slice, for whom, and whose columns."""
    import antiphon.spark

    path = write_rows(tmp_path / "log.ndjson", [multicast("A", 1, 3), deliver("B", "A", 2)])
    assert judged(spark, path).is_violated
    assert not judged(spark, path, begins_late="all", ends_early=["A", "B"]).is_violated
    only = judged(spark, path, only=["fifo", "no-duplicate"])
    assert [item.property for item in only.properties] == [Property.FIFO, Property.NO_DUPLICATE]
    frame = spark.read.json(str(path))
    assert not judged(spark, frame, begins_late="all", ends_early="all").is_violated
    assert not judged(spark, path, subscriptions={"": ["A"]}).is_violated
    theirs = tmp_path / "theirs.ndjson"
    theirs.write_text(
        '{"node": "A", "op": "multicast", "seq": 1}\n'
        '{"node": "B", "op": "deliver", "from": "A", "seq": 1}\n'
    )
    mapped = judged(spark, theirs, columns="process=node,kind=op,sender=from,first=seq")
    assert (mapped.message_count, mapped.delivery_count) == (1, 1)
    for source, terms, sentence in (
        (path, {"only": ["casual"]}, "'casual' is no property"),
        (frame, {"columns": "sender=from"}, "withColumnRenamed"),
        ([path, theirs], {"columns": "id=uuid"}, "antiphon import"),
    ):
        with pytest.raises(UsageError, match=sentence):
            antiphon.spark.verify(spark, source, **terms)


@pytest.mark.spark
def test_command_line_takes_addresses(tmp_path: Path) -> None:
    """Spark is started for them, with the settings that they need."""
    write_rows(tmp_path / "log.ndjson", [row for row in random_trace(3) if row.index < 0])
    (tmp_path / "chat.ndjson").write_bytes(lines(ROWS))
    conf = f"spark.hadoop.{LINK}={tmp_path.as_uri()}"
    done = antiphon("verify", f"{STORE}/chat.ndjson", "--conf", conf)
    assert done.returncode == 1, done.stderr
    assert f"{STORE}/chat.ndjson:4" in done.stdout
    assert "chat: 6 events of 3 processes" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["verify", "s3a://bucket/run", "--engine", "local"], "leave --engine local out"),
        (["verify", "s3a://bucket/run", "chat.ndjson"], "cannot be judged together"),
        (["verify", "s3a://bucket/run", "--map", "id=uuid"], "copy it here"),
        (["measure", "s3a://bucket/run"], "s3a://bucket/run: addresses are read by"),
    ],
)
def test_what_only_spark_reads_is_said_without_it(words: list[str], sentence: str) -> None:
    """Before anything is started."""
    done = antiphon(*words)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_files_may_be_named_by_address(tmp_path: Path) -> None:
    """file:// is a path, in this process."""
    (tmp_path / "chat.ndjson").write_bytes(lines(ROWS))
    done = antiphon("verify", (tmp_path / "chat.ndjson").as_uri())
    assert done.returncode == 1
    assert f"{tmp_path}/chat.ndjson:4" in done.stdout
    with pytest.raises(TraceError, match=r"s3a://b/x: addresses are read by"):
        segments(Path("s3a://b/x"))
