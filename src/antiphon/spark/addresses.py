"""Traces at addresses of Hadoop's file systems, such as s3a://bucket/run: read where tasks run.

Law: the same rows, words and lines as of files here, in all formats, and evidence names addresses.
What an address holds is listed once, by the driver; a file is then handed whole to the task that
reads it, which keeps it in a temporary folder meanwhile. So a file has 2 GB at most.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from antiphon.core.errors import TraceError, UsageError
from antiphon.pipeline.ingest.loading import Trace, ingest_contents, written_down
from antiphon.pipeline.ingest.sources import Source
from antiphon.pipeline.tables.spark import SparkTable
from antiphon.trace.log import ColumnMap, Log
from antiphon.trace.segments import Segment, segments
from antiphon.trace.verdict import ALL, Terms

FILE_BYTES_MAX = 2**31 - 1
"""Spark hands over no more in one value."""

_NO_CLASSES = ("No FileSystem for scheme", "ClassNotFoundException")


class _Listed(NamedTuple):
    """What is at an address."""

    root: str
    files: dict[str, int]
    """By what follows the root: how many bytes; a file that is named itself follows as nothing."""


def address_name(address: str) -> str:
    """Return what a trace at an address is called."""
    name = PurePosixPath(address.rstrip("/")).name
    return name.removesuffix(".gz").rpartition(".")[0] or name


def ingest_addresses(
    session: SparkSession,
    addresses: Sequence[str],
    columns: ColumnMap | None = None,
    terms: Terms = ALL,
    *,
    name: str = "",
) -> AbstractContextManager[Trace]:
    """Read what is at these addresses; ``name``: all is one run, if not each address its own."""
    sources: dict[str, Source] = {}
    for address in addresses:
        for file, segment in _segments_at(session, address, columns).items():
            if file in sources:
                message = f"{file}: is given twice: leave one of the two out"
                raise UsageError(message)
            sources[file] = Source(len(sources), segment, name or address_name(address))
    files = _binary(session, list(sources)).select("path", "content")
    return ingest_contents(SparkTable(files), sources, partial(_fetched, session), terms)


@contextmanager
def _fetched(session: SparkSession, source: Source) -> Iterator[Source]:
    """Bring a file here for a while."""
    row = _binary(session, [source.segment.file]).select("content").head()
    assert row is not None, "it was there when it was listed"
    with written_down(source, bytes(row["content"])) as here:
        yield here


def _segments_at(
    session: SparkSession, address: str, columns: ColumnMap | None
) -> dict[str, Segment]:
    """Return the files of a trace, by address.

    Which of them are is found out where their names, and nothing else, are on this machine.
    """
    listed = _listed(session, address)
    with tempfile.TemporaryDirectory(prefix="antiphon-") as folder:
        here = Path(folder) / (PurePosixPath(listed.root).name or "trace")
        for name in listed.files:
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).touch()
        try:
            there = segments(Log((here,), columns=columns))
        except TraceError as error:
            raise TraceError(str(error).replace(str(here), listed.root)) from error
        found = {}
        for segment in there:
            name = "" if segment.path == here else segment.path.relative_to(here).as_posix()
            file = f"{listed.root}/{name}" if name else listed.root
            if listed.files[name] > FILE_BYTES_MAX:
                message = (
                    f"{file}: has {listed.files[name]:,} bytes, and Spark hands over files whole, "
                    f"of {FILE_BYTES_MAX:,} at most: split it"
                )
                raise UsageError(message)
            found[file] = segment._replace(shown=file)
    return found


def _listed(session: SparkSession, address: str) -> _Listed:
    try:
        path = session._jvm.org.apache.hadoop.fs.Path(address)  # type: ignore[union-attr]  # noqa: SLF001 - no other way
        state = session._jsparkSession.sessionState()  # noqa: SLF001
        system = path.getFileSystem(state.newHadoopConf())
        root = str(system.makeQualified(path).toString()).rstrip("/")
        rows = _binary(session, [address]).select("path", "length").collect()
    except AnalysisException as error:
        message = f"{address}: nothing can be read there: give a run folder or a trace file"
        raise UsageError(message) from error
    except Exception as error:
        raise _refusal(session, address, error) from error
    files = {str(row["path"])[len(root) :].lstrip("/"): int(row["length"]) for row in rows}
    if not files:
        message = f"{address}: there is no file: give a run folder or a trace file"
        raise UsageError(message)
    return _Listed(root, files)


def _refusal(session: SparkSession, address: str, error: Exception) -> UsageError:
    said = str(error)
    lines = said.split("\n")
    if any(word in said for word in _NO_CLASSES):
        hadoop = session._jvm.org.apache.hadoop.util.VersionInfo.getVersion()  # type: ignore[union-attr]  # noqa: SLF001
        return UsageError(
            f"{address}: this Spark does not know such addresses: have it load the package that "
            f"does, for s3a with --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop}"
        )
    cause = next((line for line in lines if "Exception: " in line), lines[0])
    return UsageError(f"{address}: cannot be listed ({cause.strip()}): check it, and your access")


def _binary(session: SparkSession, addresses: list[str]) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", value=True)
    return reader.load(addresses)
