"""``antiphon verify --master`` on a real standalone cluster, and on ones that are not there."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.cli.command import antiphon
from tests.pipeline.large_trace import write_large_trace
from tests.spark.standalone import ON_LOOPBACK, Standalone, standalone
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.core.errors import UsageError
from antiphon.pipeline.session import cluster as session
from antiphon.pipeline.session.cluster import require_master


@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("spark://127.0.0.1:1", "no Spark master at spark://127.0.0.1:1 .*refused"),
        ("spark://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:2: Connection refused"),
        ("spark://127.0.0.1:x", "names no port"),
        ("nowhere", "expected spark://host:port"),
    ],
)
def test_master_that_is_not_there_is_said_at_once(master: str, words: str) -> None:
    """Before Java starts."""
    began = time.monotonic()
    with pytest.raises(UsageError, match=words):
        require_master(master)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_who_listens_and_is_no_master_is_told(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """Be it silent or not: Spark itself would try for a minute, and fail with pages."""
    monkeypatch.setattr(session, "ANSWER_SECONDS_MAX", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_accept, args=(server, answer), daemon=True).start()
        master = f"spark://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(UsageError, match=r"is no Spark master\): start one there, or correct"):
            require_master(master)


def _accept(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(answer)
        time.sleep(5)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("Caused by: java.io.IOException: No space left on device", "make room"),
        (
            "  File ...\nantiphon.core.errors.UsageError: a.ndjson: mend it\n\n\tat",
            "a.ndjson: mend it",
        ),
        ("All masters are unresponsive! Giving up.", "did not take us in"),
        ("something else", None),
    ],
)
def test_pages_of_sparks_become_a_sentence(said: str, sentence: str | None) -> None:
    """Where the cause is known; ours are said in our words."""
    found = session.explained("spark://there:7077", said)
    assert found == sentence if sentence is None else sentence in str(found)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A master with two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def bare_python(folder: Path, all_but: str = "") -> tuple[str, str]:
    """Make a Python without packages, or with all but one; return the option that names it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    for package in Path(msgspec.__file__).parent.parent.iterdir() if all_but else ():
        if all_but not in package.name and package.suffix != ".pth":
            (packages / package.name).symlink_to(package)
    return "--conf", f"spark.pyspark.python={folder / 'bin' / 'python'}"


@pytest.mark.spark
def test_trace_is_judged_on_a_cluster(cluster: Standalone, tmp_path: Path) -> None:
    """Executors, whose Python has all but this package, get it from the driver."""
    python = bare_python(tmp_path / "bare", all_but="antiphon")
    run = write_large_trace(
        tmp_path / "run", process_count=3, round_count=20, run_length=2, swapped_at=4
    )
    here = antiphon("verify", run.name, "--engine", "local", folder=tmp_path)
    options = ("--master", cluster.master, *ON_LOOPBACK, *python)
    there = antiphon("verify", run.name, *options, folder=tmp_path)
    assert there.stderr == ""
    assert there.returncode == here.returncode == 1
    assert there.stdout == here.stdout.replace("by local", "by spark")


@pytest.mark.spark
def test_measures_and_sweeps_are_computed_on_a_cluster(cluster: Standalone, tmp_path: Path) -> None:
    """The same tables as here, also of a path that is relative to where the command runs."""
    python = bare_python(tmp_path / "bare", all_but="antiphon")
    there = ("--master", cluster.master, *ON_LOOPBACK, *python)
    antiphon("simulate", "--messages", "40", "--out", "run", folder=tmp_path)
    for name, options in (("here", ("--engine", "local")), ("there", there)):
        done = antiphon("measure", "run", "--out", name, *options, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    for file in (tmp_path / "here").iterdir():
        assert pq.read_table(file).equals(pq.read_table(tmp_path / "there" / file.name))
    (tmp_path / "small.toml").write_text("seeds = 3\n[simulate]\nmessages = 20\n")
    done = antiphon("sweep", "small.toml", *there, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 cells" in done.stdout


@pytest.mark.parametrize("words", [("measure", "chat.ndjson"), ("sweep", "small.toml")])
def test_local_engine_has_no_use_for_a_master(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Said at once."""
    write_rows(tmp_path / "chat.ndjson", [multicast("A"), deliver("B", "A")])
    (tmp_path / "small.toml").write_text("seeds = 3\n")
    options = ("--engine", "local", "--master", "spark://127.0.0.1:1")
    done = antiphon(*words, *options, folder=tmp_path)
    assert (done.returncode, "leave one of them out" in done.stderr) == (2, True), done.stderr


@pytest.mark.spark
def test_worker_without_packages_is_a_sentence(cluster: Standalone, tmp_path: Path) -> None:
    """A Python that has none: the sentence names the package and the cure."""
    python = bare_python(tmp_path / "bare")
    run = write_large_trace(tmp_path / "run", process_count=2, round_count=3, run_length=1)
    refused = antiphon("verify", str(run), "--master", cluster.master, *ON_LOOPBACK, *python)
    assert refused.returncode == 2, refused.stdout
    assert "lacks the Python package" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.spark
def test_lost_executors_are_a_sentence(cluster: Standalone, tmp_path: Path) -> None:
    """Killed as soon as they run Python, again and again."""
    run = write_large_trace(tmp_path / "run", process_count=4, round_count=5_000, run_length=1)
    is_over = threading.Event()

    def kill() -> None:
        while not is_over.wait(0.2):
            cluster.kill_executors()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        once = ("--conf", "spark.task.maxFailures=1")
        refused = antiphon("verify", str(run), "--master", cluster.master, *ON_LOOPBACK, *once)
    finally:
        is_over.set()
        killer.join()
    assert refused.returncode == 2, refused.stdout
    assert f"an executor of {cluster.master} was lost" in refused.stderr
    assert refused.stderr.count("\n") == 1
