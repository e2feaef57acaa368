"""What Spark writes is read as it is, by whoever judges, in the same words."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.logs.chat import ROWS, same_from_both
from tests.logs.tables import write_parquet
from tests.pipeline.trace_generator import random_trace

from antiphon.trace.schema import Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def numbered(rows: list[Event]) -> list[Event]:
    """Return rows with an index each, as it must be where files are many."""
    counts: dict[tuple[str, str], int] = {}
    found = []
    for row in rows:
        of = (row.run, row.process)
        found.append(msgspec.structs.replace(row, index=counts.get(of, 0)))
        counts[of] = counts.get(of, 0) + 1
    return found


@pytest.mark.spark
def test_folders_that_spark_wrote_are_judged(spark: "SparkSession", tmp_path: Path) -> None:
    """JSON, compressed or not, CSV and Parquet; parts of which some are empty."""
    from antiphon.pipeline.tables.spark import SparkExecutor
    from antiphon.pipeline.verify import verify

    rows = numbered([*random_trace(3), *(msgspec.structs.replace(row, run="x") for row in ROWS)])
    source = write_parquet(tmp_path / "source.parquet", rows)
    frame = spark.read.parquet(str(source)).drop("clock")
    frame = frame.repartition(8, "run", "process").sortWithinPartitions("run", "process", "index")
    frame.write.json(str(tmp_path / "json"))
    frame.write.json(str(tmp_path / "gz"), compression="gzip")
    frame.write.parquet(str(tmp_path / "parquet"))
    chat = frame.where("run = 'x'").drop("members", "to")
    chat.write.csv(str(tmp_path / "csv"), header=True)
    assert same_from_both(tmp_path / "csv").event_count == len(ROWS)
    one = None
    for name in ("json", "gz", "parquet"):
        verdict = same_from_both(tmp_path / name)
        assert verdict.event_count == len(rows)
        assert verdict.is_violated
        if name != "json":
            on_spark = verify(SparkExecutor(spark), tmp_path / name)
            assert msgspec.structs.replace(on_spark, engine="oracle") == verdict
        said = [(item.property, item.violation_count, item.reason) for item in verdict.properties]
        one = one or said
        assert said == one, name
