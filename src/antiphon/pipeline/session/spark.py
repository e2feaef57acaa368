"""The Spark session: started quietly, on this machine only, with settings that say why.

Law: nothing that Spark or Java print reaches the terminal (it goes to a log that an error names),
nothing listens beyond loopback, nothing is left behind in the working folder, and the caller's
environment is as it was. PySpark is imported on the first call, not before. Whoever starts a
session stops it: ``with spark_session("verify") as spark``. Cost: 6 to 8 s for the first one of
a process, about 1 s for later ones, which reuse the JVM.
"""

import atexit
import contextlib
import functools
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.core.errors import UsageError
from antiphon.pipeline.session.cluster import is_local, require_master
from antiphon.pipeline.session.java import find_java_home
from antiphon.pipeline.tables.packages import TABLE_PACKAGES, missing_packages

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"

MEMORY_MB_MIN = 1024
"""Spark refuses to start below about half of this."""

MEMORY_MB_MAX = 16 * 1024
"""Beyond this, one heap gains little: Spark spills what does not fit."""

QUICK = {
    # The second compiler pays after minutes, and one core collects a small heap's garbage best.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
    # Cleaning up while a job runs takes longer than leaving it to the end.
    "spark.cleaner.referenceTracking": "false",
}
"""Settings for small traces: seconds less to start, slower by and by."""

_HERE_ALONE = (
    "spark.driver.bindAddress",
    "spark.driver.host",
    "spark.local.dir",
    "spark.sql.shuffle.partitions",
)
"""What is chosen for this machine, and would be wrong for a cluster's."""

_QUOTE_LENGTH_MAX = 300
_CAUSE = re.compile(r"^(Exception|Error|Caused by)\b|\w+(Exception|Error): ")
"""What Java says when it gives up, among all that Spark says on the way."""

_PACKAGES = (*TABLE_PACKAGES, "pyspark")

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def require_spark() -> None:
    """Say what to install if anything that the pipeline needs is missing."""
    missing = missing_packages(_PACKAGES)
    if missing:
        message = (
            f"Spark is not installed ({', '.join(missing)} missing): run: "
            "pip install 'antiphon[spark,java]'; small traces need none of it: --engine oracle"
        )
        raise UsageError(message)


def require_streams() -> None:
    """Say what to install if Spark, or what its stateful streams need, is missing."""
    require_spark()
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        message = "--follow needs the package protobuf: run: pip install 'antiphon[spark,java]'"
        raise UsageError(message)
    from pyspark.sql import GroupedData

    if not hasattr(GroupedData, "transformWithState"):
        message = "--follow needs PySpark 4.1 or later: run: pip install -U pyspark"
        raise UsageError(message)


def is_spark_ready() -> bool:
    """Whether Spark can be started: its packages are here (none is imported), and a Java is."""
    if any(find_spec(name) is None for name in _PACKAGES):
        return False
    try:
        find_java_home()
    except UsageError:
        return False
    return True


def tasks_under_way(session: "SparkSession") -> tuple[int, int]:
    """Return how many tasks of the stages that run now are done, and of how many."""
    tracker = session.sparkContext.statusTracker()
    found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    stages = [stage for stage in found if stage is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)


def abandon() -> None:
    """End Spark at once, whatever it is doing: for a process that is about to end itself."""
    context = sys.modules.get("pyspark.core.context")
    gateway = getattr(getattr(context, "SparkContext", None), "_gateway", None)
    java = getattr(gateway, "proc", None)
    if java is not None:
        java.kill()
        java.wait()
    if _folder.cache_info().currsize:
        shutil.rmtree(_folder(), ignore_errors=True)


def spark_session(
    name: str,
    cores: int | None = None,
    memory_mb: int | None = None,
    shuffle_partitions: int | None = None,
    settings: Mapping[str, str] | None = None,
    master: str | None = None,
) -> "SparkSession":
    """Start Spark on this machine, or return the session that is already running.

    ``cores`` defaults to all of them, ``memory_mb`` to half of the machine's memory (the other
    half is for the Python workers), ``shuffle_partitions`` to twice the cores; ``settings`` adds
    to Spark's settings, or overrides what is chosen here. ``master``: where tasks run, if that is
    not here; the driver is here all the same.
    """
    require_spark()
    is_elsewhere = master is not None and not is_local(master)
    if master is not None:
        require_master(master)
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    conf = SparkConf().setAppName(name).setMaster(master or f"local[{cores or '*'}]")
    chosen = _settings(cores, memory_mb, shuffle_partitions)
    if is_elsewhere:
        chosen = {name: value for name, value in chosen.items() if name not in _HERE_ALONE}
        chosen |= {"spark.cores.max": str(cores)} if cores else {}
    conf.setAll(list(chosen.items()))
    conf.setAll(list((settings or {}).items()))
    # PySpark keeps one JVM for the life of a process, also after its session is stopped.
    gateway = SparkContext._gateway or _launch(conf, is_elsewhere=is_elsewhere)  # noqa: SLF001
    python = conf.get("spark.pyspark.python", sys.executable)
    with _environment(PYSPARK_PYTHON=python), _same_interrupt():
        context = SparkContext(conf=conf, gateway=gateway)
    # What it prints when Java is killed helps nobody: whoever waits for Java is told anyway.
    server = context._accumulatorServer  # noqa: SLF001 - no other way
    if server is not None:
        server.handle_error = _say_nothing  # type: ignore[method-assign,assignment]
    return SparkSession.builder.getOrCreate()


def _say_nothing(*_: object) -> None:
    """Say nothing."""


def _settings(
    cores: int | None, memory_mb: int | None, shuffle_partitions: int | None
) -> dict[str, str]:
    folder = _folder()
    return {
        # Half of what there is: Python workers and the page cache need the rest.
        "spark.driver.memory": f"{memory_mb or _default_memory_mb()}m",
        # The default of 200 is for clusters; here each partition costs a task on few cores.
        "spark.sql.shuffle.partitions": str(shuffle_partitions or 2 * (cores or _core_count())),
        # Rows cross between Java and Python in columns, not pickled one by one.
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Every shuffle of ours says how many partitions it wants: there is nothing to adapt.
        "spark.sql.adaptive.enabled": "false",
        # Rows are few and large, and Python's: compiling Java for them takes longer than it saves.
        "spark.sql.codegen.wholeStage": "false",
        # A report must not depend on where the machine stands.
        "spark.sql.session.timeZone": "UTC",
        # Blocks and shuffles are on this machine: no other one may connect.
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        # No web server on a port, no progress bar over ours, no warnings.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # What Spark writes while it works goes away with the process.
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _launch(conf: "SparkConf", *, is_elsewhere: bool) -> "JavaGateway":
    """Start the JVM with its complaints going to a log instead of the terminal."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    log = _folder() / "java.log"
    home = find_java_home()
    environment = _environment(
        JAVA_HOME=str(home),
        PYSPARK_PYTHON=sys.executable,
        # Else Spark looks up this machine's name, which may be slow, fail, or lead outside.
        SPARK_LOCAL_IP=os.environ.get("SPARK_LOCAL_IP") if is_elsewhere else LOOPBACK,
        # Another Spark on this machine is not the one that was installed with this package.
        SPARK_HOME=None,
    )
    with environment, log.open("ab") as complaints:
        try:
            output = {"stdout": complaints, "stderr": complaints}
            return launch_gateway(conf, popen_kwargs=output)
        except PySparkRuntimeError as failure:
            message = f"Spark could not start with the Java in {home}, which said: {_said(log)}"
            raise UsageError(message) from failure


@functools.cache
def _folder() -> Path:
    """Return this process's own folder for what Spark writes, removed when the process ends."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="antiphon-spark-", ignore_cleanup_errors=True)
    except OSError as failure:
        message = f"Spark needs a temporary folder: set TMPDIR to one it can write to ({failure})."
        raise UsageError(message) from failure
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _said(log: Path) -> str:
    """Return what Java said, without what Spark's start script made of it."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    lines = [line.strip() for line in lines if "spark-class: line" not in line]
    causes = [line for line in lines if _CAUSE.search(line)]
    return " ".join(causes[:1] or lines).strip()[:_QUOTE_LENGTH_MAX] or "nothing"


@contextlib.contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    """Set (or, with None, remove) environment variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set_environment(variables)
        yield
    finally:
        _set_environment(before)


@contextlib.contextmanager
def _same_interrupt() -> Iterator[None]:
    """Keep what Ctrl-C does: Spark's own way speaks to Java while it may be spoken to already."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _core_count() -> int:
    """Count the cores as Spark's ``local[*]`` does."""
    return os.cpu_count() or 1


def _default_memory_mb() -> int:
    half = _memory_bytes() // 2 // 1024**2
    return max(MEMORY_MB_MIN, min(half, MEMORY_MB_MAX))


def _memory_bytes() -> int:
    """Return the machine's memory, or the container's share of it."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for file in _CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # absent, or the word "max"
            limits.append(int(file.read_text(encoding="ascii")))
    return min(limits)
