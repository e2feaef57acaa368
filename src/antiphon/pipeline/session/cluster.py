"""Whether a cluster is there, and what became of it: one sentence each, in seconds.

Law: a master is asked for on its port before Java starts: Spark's own way takes over a minute to
say that nobody is there, or that somebody else is. What Spark says afterwards, in pages, is turned
into one sentence where the cause is known: executors that get lost, or that lack a package, a disk
that is full, an error of ours in a task. Anything else is passed on.
"""

import re
import socket
import struct
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

ANSWER_SECONDS_MAX = 10.0
"""For a busy master to answer."""

_PORT = 7077
_STREAM = b"/files/antiphon"
_QUESTION = struct.pack(">qBi", 13 + len(_STREAM), 6, len(_STREAM)) + _STREAM
"""A request of Spark's transport for a file that no master has: it says so, and logs nothing."""
_REFUSED = 8
"""What its answer is, in the byte after the length."""
_LOCAL = re.compile(r"local(\[.*\])?$")
_MISSING = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '([\w.]+)'"
    r"|PACKAGE_NOT_INSTALLED\] (\w+)"
)
_OURS = re.compile(r"^antiphon\.core\.errors\.\w+: (.+)$", re.MULTILINE)
_CAUSES = {
    ("No space left on device", "File too large"): (
        "a disk on which Spark keeps what does not fit in memory is full ({master}): make room, "
        "or name another folder: TMPDIR here, spark.local.dir for a cluster's workers"
    ),
    ("All masters are unresponsive", "Application has been killed"): (
        "{master} did not take us in: look into its log, or correct --master"
    ),
    ("PYTHON_VERSION_MISMATCH", "different version", "different minor version"): (
        "workers of {master} run another version of Python than this: name one that is the same: "
        "--conf spark.pyspark.python=..."
    ),
    ("ExecutorLostFailure", "FetchFailed", "Master removed our application", "has no workers"): (
        "an executor of {master} was lost, too often to go on: give executors more memory "
        "(--conf spark.executor.memory=..., spark.executor.memoryOverhead=...), or look into "
        "the worker's log"
    ),
}
"""What is somewhere in Spark's pages, and what it means; the first that is counts."""


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
        place = (host.strip("[]"), int(port))
        with socket.create_connection(place, CONNECT_SECONDS_MAX) as connection:
            return "" if _is_spark(connection) else f"who listens at {address} is no Spark master"
    except ValueError:
        return f"{address} names no port"
    except OSError as error:
        return f"{address}: {error.strerror or error}"


def _is_spark(connection: socket.socket) -> bool:
    """Whether Spark is at the other end; if it hangs up, it may want to be asked in secret."""
    connection.settimeout(ANSWER_SECONDS_MAX)
    try:
        connection.sendall(_QUESTION)
        answer = connection.recv(9, socket.MSG_WAITALL)
    except TimeoutError:
        return False
    return not answer or (len(answer) == 9 and answer[8] == _REFUSED)


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
    refused = _OURS.search(said)
    if refused:
        return refused[1]
    missing = _MISSING.search(said)
    if missing:
        package = (missing[1] or missing[2].lower()).partition(".")[0]
        return (
            f"a worker of {master} lacks the Python package {package}: install msgspec, numpy, "
            "pandas and pyarrow for the Python that workers run, or name a Python that has them: "
            "--conf spark.pyspark.python=..."
        )
    for signs, sentence in _CAUSES.items():
        if any(sign in said for sign in signs):
            return sentence.format(master=master)
    return None
