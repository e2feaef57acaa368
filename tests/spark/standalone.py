"""A standalone Spark cluster on loopback: a master and two workers, each a process of its own."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from antiphon.pipeline.session.java import find_java_home

_SPARK_HOME = Path(pyspark.__file__).parent
_CLASS = _SPARK_HOME / "bin" / "spark-class"
_DEPLOY = "org.apache.spark.deploy"
_SECONDS_MAX = 120.0

ON_LOOPBACK = (
    "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
    "--conf", "spark.executor.memory=512m",
)  # fmt: skip
"""Options for a driver that such a cluster can reach."""


class Standalone:
    """A running cluster."""

    def __init__(self, master: str, workers: "list[subprocess.Popen[bytes]]") -> None:
        """Take what has been started."""
        self.master, self._workers = master, workers

    def kill_executors(self) -> int:
        """Kill the executors that have begun to run Python, and nothing else; return how many."""
        parents = dict(_parents())
        workers, busy = {worker.pid for worker in self._workers}, set(parents.values())
        found = [pid for pid, parent in parents.items() if parent in workers and pid in busy]
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return len(found)


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            yield int(folder.name), int(fields[1])


@contextmanager
def standalone(folder: Path, worker_count: int = 2) -> Iterator[Standalone]:
    """Start a cluster, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    started = [_started(folder / "master", "master.Master", "--port", str(port))]
    try:
        _wait_for(folder / "master", "New state: ALIVE")
        for number in range(worker_count):
            words = ("--cores", "1", "--memory", "1g", "-d", str(folder / f"work{number}"), master)
            started.append(_started(folder / f"worker{number}", "worker.Worker", *words))
        for number in range(worker_count):
            _wait_for(folder / f"worker{number}", "Successfully registered with master")
        yield Standalone(master, started[1:])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(60)


def _started(log: Path, name: str, *words: str) -> "subprocess.Popen[bytes]":
    # Nothing of this program's Python is passed on: executors get the package from the driver.
    environment = {key: value for key, value in os.environ.items() if "PYTHON" not in key}
    environment |= {
        "JAVA_HOME": str(find_java_home()),
        "SPARK_HOME": str(_SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
    }
    command = [str(_CLASS), f"{_DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0", *words]
    with log.open("wb") as file:
        return subprocess.Popen(command, env=environment, stdout=file, stderr=file)


def _wait_for(log: Path, words: str) -> None:
    until = time.monotonic() + _SECONDS_MAX
    while words not in log.read_text(encoding="utf-8", errors="replace"):
        assert time.monotonic() < until, log.read_text(encoding="utf-8", errors="replace")
        time.sleep(0.1)
