"""The Spark session: quiet, local, leaving the caller's environment as it was."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from antiphon.core.errors import UsageError
from antiphon.pipeline.session import spark as session
from antiphon.pipeline.session.spark import spark_session

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyspark.sql import SparkSession

BEFORE = dict(os.environ)


@pytest.mark.parametrize("name", ["pyspark", "numpy", "pyarrow"])
def test_missing_package_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PySpark, or what comes with it, one sentence says how to get it."""
    monkeypatch.setitem(sys.modules, name, None)
    said = rf"^Spark is not installed \({name} missing\): .*'antiphon\[spark,java\]'; small"
    with pytest.raises(UsageError, match=said):
        spark_session("absent")


@pytest.mark.parametrize(
    ("machine_gb", "container", "expected_mb"),
    [(8, None, 4096), (8, "max\n", 4096), (8, "4294967296\n", 2048), (1, None, 1024)],
    ids=["machine", "no-limit", "container", "small"],
)
def test_memory_is_half_of_what_there_is(
    machine_gb: int,
    container: str | None,
    expected_mb: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Spark takes half of the machine's memory, or of the container's, but at least 1 GB."""
    limit = tmp_path / "memory.max"
    if container is not None:
        limit.write_text(container, encoding="ascii")
    monkeypatch.setattr(session, "_CGROUP_LIMITS", (limit,))
    sizes = {"SC_PHYS_PAGES": machine_gb * 1024**2 // 4, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert session._default_memory_mb() == expected_mb


@pytest.mark.spark
def test_workers_run_the_python_that_started_them(spark: "SparkSession") -> None:
    """Workers use this interpreter, else they would miss the packages that are installed here."""

    def interpreter(frames: "Iterator[DataFrame]") -> "Iterator[DataFrame]":
        for frame in frames:
            yield frame.assign(path=sys.executable)[["path"]]

    row = spark.range(1).mapInPandas(interpreter, "path string").first()
    assert row is not None
    assert row.path == sys.executable


@pytest.mark.spark
def test_second_request_returns_the_running_session(spark: "SparkSession") -> None:
    """A process has one session: asking again, with whatever settings, returns that one."""
    assert spark_session("again", cores=1) is spark


@pytest.mark.spark
def test_environment_is_left_as_it_was(spark: "SparkSession") -> None:
    """What Spark had to be told through the environment is gone once it runs."""
    names = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME", "SPARK_LOCAL_IP")
    assert [os.environ.get(name) for name in names] == [BEFORE.get(name) for name in names]


@pytest.mark.spark
def test_nothing_listens_beyond_loopback(spark: "SparkSession") -> None:
    """The driver's port cannot be reached through the machine's other addresses."""
    port = int(str(spark.sparkContext.getConf().get("spark.driver.port")))
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(OSError, match=r"refused|timed out"):
        socket.create_connection(("127.0.0.2", port), timeout=5)


@pytest.mark.spark
def test_java_that_dies_is_quoted(tmp_path: Path) -> None:
    """When Java does not start, the error names that Java and quotes what it gave up on."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh
case $* in
    *-version*) echo 'java.home = {tmp_path}'; echo 'openjdk version "17.0.1"' ;;
    *) echo 'Warning: first' >&2; echo 'Error: no room for the heap' >&2; exit 1 ;;
esac
""",
        encoding="utf-8",
    )
    program.chmod(0o700)
    code = "from antiphon.pipeline.session.spark import spark_session; spark_session('dies')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        timeout=60,
    )
    quoted = f"Java in {tmp_path}, which said: Error: no room for the heap\n"
    assert done.stderr.endswith(f"UsageError: Spark could not start with the {quoted}")
