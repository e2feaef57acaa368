"""Whether a cluster is there, and what became of it: one sentence each, in seconds.

Law: a master is asked for on its port before Java starts: Spark's own way takes over a minute to
say that nobody is there. What Spark says afterwards, in pages, is turned into one sentence where
the cause is known: executors that get lost, or that lack a package. Anything else is passed on.
"""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from antiphon.core.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_SECONDS_MAX = 5.0
"""For each address that a master is said to have."""

EXECUTOR_SECONDS_MAX = 20.0
"""For a standalone master to start the first executor."""

_PORT = 7077
_LOCAL = re.compile(r"local(\[.*\])?$")
_MISSING = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '([\w.]+)'"
    r"|PACKAGE_NOT_INSTALLED\] (\w+)"
)
_VERSIONS = re.compile(r"PYTHON_VERSION_MISMATCH|different (?:minor )?version")
_LOST = ("ExecutorLostFailure", "FetchFailed", "Master removed our application", "has no workers")


def is_local(master: str) -> bool:
    """Whether Spark runs in this machine's processes alone."""
    return bool(_LOCAL.match(master))


def require_master(master: str) -> None:
    """Say at once that nobody is at a standalone master's address; others are Spark's to find."""
    if not master.startswith("spark://"):
        if is_local(master) or re.match(r"(yarn|k8s://.+|local-cluster\[.+\])$", master):
            return
        message = f"--master {master}: expected spark://host:port, yarn, k8s://... or local[cores]"
        raise UsageError(message)
    failures = [_failure_at(address) for address in master.removeprefix("spark://").split(",")]
    if all(failures):
        said = "; ".join(failures)
        message = f"no Spark master at {master} ({said}): start one there, or correct --master"
        raise UsageError(message)


def require_executors(session: "SparkSession") -> None:
    """Say that a standalone master has nobody to work for us: Spark would wait for ever."""
    context = session.sparkContext
    if not (context.master or "").startswith("spark://"):
        return
    status = context._jsc.sc()  # noqa: SLF001 - no other way
    until = time.monotonic() + EXECUTOR_SECONDS_MAX
    while status.getExecutorMemoryStatus().size() < 2:  # the driver is one
        if time.monotonic() > until:
            message = (
                f"{context.master} gave us no executor within {EXECUTOR_SECONDS_MAX:.0f} s: start "
                "workers, or ask for what they have: --conf spark.executor.memory=..., "
                "--conf spark.executor.cores=..."
            )
            raise UsageError(message)
        time.sleep(0.1)


def _failure_at(address: str) -> str:
    """Return why nobody can be reached at an address; nothing: somebody can."""
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(_PORT))
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS_MAX):
            return ""
    except ValueError:
        return f"{address} names no port"
    except OSError as error:
        return f"{address}: {error.strerror or error}"


@contextmanager
def told_plainly(master: str) -> Iterator[None]:
    """Turn what is known to go wrong on a cluster into one sentence."""
    try:
        yield
    except UsageError:
        raise
    except Exception as failure:
        sentence = explained(master, str(failure))
        if sentence is None:
            raise
        raise UsageError(sentence) from failure


def explained(master: str, said: str) -> str | None:
    """Return what Spark's pages mean, if that is known."""
    missing = _MISSING.search(said)
    if missing:
        package = (missing[1] or missing[2].lower()).partition(".")[0]
        return (
            f"a worker of {master} lacks the Python package {package}: install msgspec, numpy, "
            "pandas and pyarrow for the Python that workers run, or name a Python that has them: "
            "--conf spark.pyspark.python=..."
        )
    if _VERSIONS.search(said):
        return (
            f"workers of {master} run another version of Python than this: name one that is the "
            "same: --conf spark.pyspark.python=..."
        )
    if any(word in said for word in _LOST):
        return (
            f"an executor of {master} was lost, too often to go on: give executors more memory "
            "(--conf spark.executor.memory=..., spark.executor.memoryOverhead=...), or look into "
            "the worker's log"
        )
    return None
