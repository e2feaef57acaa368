"""Measure a run in a session of yours: the tables of ``antiphon measure``, as DataFrames.

Law: the same tables as those that ``antiphon measure`` writes (docs/measures.md); of several paths
they are those of one log. Files are read where every worker sees them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from antiphon.core.errors import UsageError
from antiphon.logs.clocks.parsing import require_messages
from antiphon.logs.ids import asks_for_numbers, numbered
from antiphon.logs.mapping import column_map
from antiphon.pipeline.measures.measuring import measure as measured
from antiphon.pipeline.measures.tables import save, tables_of
from antiphon.pipeline.tables.spark import SparkExecutor
from antiphon.spark.borrowing import borrowed, is_local
from antiphon.trace.log import Log, is_address, local_path


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a log tells of delays, queues, headers, stability and views."""

    runs: DataFrame
    """A row per run."""
    distributions: DataFrame
    """A row per run and measure, and per process."""
    histograms: DataFrame
    """A row per run, measure and bucket."""
    kinds: DataFrame
    """A row per process and kind of row."""
    views: DataFrame
    """A row per view that follows another."""

    def save(self, folder: str | Path) -> None:
        """Write a Parquet file per table, on this machine."""
        tables = {each.name: getattr(self, each.name).toArrow() for each in fields(self)}
        save(tables, Path(folder))


def measure(
    spark: SparkSession,
    source: str | Path | Sequence[str | Path],
    *,
    run: str = "",
    columns: str | Iterable[str] = (),
) -> Measurement:
    """Return the measures of a log: a path, or several that are one log, called ``run``.

    ``columns`` is the ``--map`` of the command line.
    """
    if not isinstance(source, str | Path | Sequence) or not source:
        message = f"{type(source).__name__}: give a path, or a list of paths, to be measured"
        raise UsageError(message)
    named = [str(each) for each in ([source] if isinstance(source, str | Path) else source)]
    for each in filter(is_address, named):
        message = f"{each}: addresses are not measured: copy it to where workers see it"
        raise UsageError(message)
    said = (columns,) if isinstance(columns, str) else tuple(columns)
    log = Log(tuple(map(local_path, named)), columns=column_map(said), title=run)
    require_messages(log, "has no measures")
    with borrowed(spark):
        if asks_for_numbers(log) and not is_local(spark):
            message = (
                "columns: ids without numbers are numbered on this machine: on a cluster, measure "
                "what `antiphon import LOG --map ... --to mine.parquet` writes"
            )
            raise UsageError(message)
        with numbered(log) as ready:
            runs = measured(SparkExecutor(spark), ready)
    tables = tables_of(runs.values())
    return Measurement(**{name: spark.createDataFrame(table) for name, table in tables.items()})
