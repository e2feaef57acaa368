"""What our jobs need of somebody else's session, for as long as they run.

Law: when a ``with borrowed(spark)`` ends, settings are what they were. Nothing has to be set
beforehand: workers on this machine run this program's Python (unless the session says which) and
find this package where this program found it; to other machines the package is sent. A trace is
judged in as many partitions as it needs, whatever the session says of shuffles.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from antiphon.core.errors import UsageError
from antiphon.spark.shipping import package_archive

_SETTINGS = {
    # Every shuffle of ours says how many partitions it wants: there is nothing to adapt.
    "spark.sql.adaptive.enabled": "false",
    # Rows are few and large, and Python's: compiling Java for them takes longer than it saves.
    "spark.sql.codegen.wholeStage": "false",
}


@contextmanager
def borrowed(session: SparkSession) -> Iterator[None]:
    """Use a session for a while."""
    check(session)
    before = {name: session.conf.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        with equipped(session):
            yield
    finally:
        for name, setting in before.items():
            session.conf.set(name, str(setting))


@contextmanager
def equipped(session: SparkSession) -> Iterator[None]:
    """See to it that functions made in the meantime run with the right Python, and find us."""
    check(session)
    context = session.sparkContext
    if not is_local(session):
        context.addPyFile(str(package_archive()))
        yield
        return
    python, path = context.pythonExec, context.environment.get("PYTHONPATH")
    is_chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    try:
        context.pythonExec = python if is_chosen else sys.executable
        context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [path, *sys.path]))
        yield
    finally:
        context.pythonExec = python
        if path is None:
            del context.environment["PYTHONPATH"]
        else:
            context.environment["PYTHONPATH"] = path


def check(session: SparkSession) -> None:
    """Complain of a session that cannot be used, before Spark does in pages."""
    if not hasattr(session, "_jsparkSession"):
        message = (
            "this is a Spark Connect session, which runs elsewhere: give a session made without a "
            "remote address"
        )
        raise UsageError(message)
    if session.sparkContext._jsc is None:  # noqa: SLF001 - no other way
        message = (
            "this Spark session has been stopped: give one that runs, of builder.getOrCreate()"
        )
        raise UsageError(message)


def is_local(session: SparkSession) -> bool:
    """Whether workers are on this machine, with its files."""
    master = session.sparkContext.master or ""
    return master == "local" or master.startswith("local[")
