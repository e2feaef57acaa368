"""Who judges a trace if nobody is asked for: by its size, and by what is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.cli import engines
from antiphon.cli.engines import LOCAL_BYTES_MAX, ORACLE_BYTES_MAX, Engine, chosen, judge
from antiphon.core.errors import TraceError, UsageError
from antiphon.trace.verdict import Property

HEAVY = ("numpy", "pandas", "pyarrow", "pyspark")


@pytest.fixture
def sized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a trace of two files, whose sizes are what a test says."""
    write_rows(tmp_path / "t" / "a.ndjson", [multicast("A")])
    write_rows(tmp_path / "t" / "b.ndjson", [deliver("B", "A")])
    return tmp_path / "t"


def set_up(monkeypatch: pytest.MonkeyPatch, byte_count: int, *, tables: bool, spark: bool) -> None:
    """Let each file have half of so many bytes, and these be installed."""
    monkeypatch.setattr(engines, "_byte_count", lambda _: byte_count // 2)
    monkeypatch.setattr(engines, "_has_tables", lambda: tables)
    monkeypatch.setattr(engines, "_has_spark", lambda: spark)


@pytest.mark.parametrize(
    ("byte_count", "tables", "spark", "expected"),
    [
        (ORACLE_BYTES_MAX, True, True, Engine.ORACLE),
        (ORACLE_BYTES_MAX + 2, True, True, Engine.LOCAL),
        (LOCAL_BYTES_MAX, True, True, Engine.LOCAL),
        (LOCAL_BYTES_MAX + 2, True, True, Engine.SPARK),
        (LOCAL_BYTES_MAX + 2, True, False, Engine.LOCAL),
        (LOCAL_BYTES_MAX + 2, False, False, Engine.ORACLE),
    ],
)
def test_size_and_installation_decide(
    sized: Path,
    monkeypatch: pytest.MonkeyPatch,
    byte_count: int,
    tables: bool,
    spark: bool,
    expected: Engine,
) -> None:
    """Tiny: the oracle; up to ten million rows: this process; more: Spark, where it is."""
    set_up(monkeypatch, byte_count, tables=tables, spark=spark)
    assert chosen(sized) is expected


def test_few_rows_may_be_too_many_messages_for_the_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny file of long runs is judged all the same; where nothing else is, that is said."""
    rows = [multicast("A", 1, 900_000), deliver("B", "A", 1, 900_000)]
    path = write_rows(tmp_path / "t.ndjson", rows)
    verdict = judge(path)
    assert (verdict.engine, verdict.message_count) == ("local", 900_000)
    assert judge(write_rows(tmp_path / "u.ndjson", [multicast("A")])).engine == "oracle"
    many = [multicast("A", 1, 9_000), *(deliver(name, "A", 1, 9_000) for name in "BC")]
    path_of_many = write_rows(tmp_path / "many.ndjson", many)
    assert judge(path_of_many).engine == "local"
    set_up(monkeypatch, 0, tables=False, spark=False)
    assert judge(path_of_many).engine == "oracle"
    with pytest.raises(UsageError, match=r"pip install 'antiphon\[verify\]'$"):
        judge(path)


def test_what_does_not_fit_in_memory_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence with a way out, not a traceback."""

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("antiphon.pipeline.verify.verify", fail)
    path = write_rows(tmp_path / "t.ndjson", [multicast("A")])
    with pytest.raises(UsageError, match="does not fit in memory: judge it with --engine spark"):
        judge(path, Engine.LOCAL)


def test_missing_trace_is_missing_for_every_engine(tmp_path: Path) -> None:
    """It is said before anything is chosen or started."""
    for engine in Engine:
        with pytest.raises(TraceError, match="does not exist"):
            judge(tmp_path / "nothing", engine)


@pytest.mark.parametrize(
    ("engine", "loaded"), [("auto", []), ("oracle", []), ("local", ["numpy", "pyarrow"])]
)
def test_engine_loads_no_more_than_it_needs(tmp_path: Path, engine: str, loaded: list[str]) -> None:
    """Without Spark and pandas, and for a tiny trace without numpy: they take their time."""
    rows = [multicast("A"), deliver("B", "A"), multicast("B"), deliver("C", "B"), deliver("C", "A")]
    path = write_rows(tmp_path / "t.ndjson", rows)
    code = (
        "import sys\nfrom pathlib import Path\nfrom antiphon.cli.engines import Engine, judge\n"
        f"verdict = judge(Path({str(path)!r}), Engine({engine!r}))\n"
        "import json\n"
        f"loaded = [name for name in {HEAVY} if name in sys.modules]\n"
        "print(json.dumps([loaded, sum(item.violation_count for item in verdict.properties)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [loaded, 3]


def test_engines_say_the_same(tmp_path: Path) -> None:
    """Word for word, but for their names."""
    rows = [multicast("A"), deliver("B", "A"), multicast("B"), deliver("C", "B"), deliver("C", "A")]
    path = write_rows(tmp_path / "t.ndjson", rows)
    one, other = judge(path, Engine.ORACLE), judge(path, Engine.LOCAL)
    assert one.of(Property.CAUSAL).violation_count == 1
    assert one.properties == other.properties
    assert (one.engine, other.engine) == ("oracle", "local")
