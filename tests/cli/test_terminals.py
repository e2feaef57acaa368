"""Terminals that know no letters beyond ASCII, or no tricks: nothing fails there."""

import json
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon import __version__

TERMINALS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "dumb": {"TERM": "dumb", "LC_ALL": "C"},
}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a trace with a violation, and a name that is not ASCII."""
    rows = [multicast("José", 1, 2), deliver("B", "José", 2), deliver("B", "José", 1)]
    return write_rows(tmp_path / "chat.ndjson", rows)


@pytest.mark.parametrize("name", TERMINALS)
def test_verdict_is_printed_whatever_the_terminal(chat: Path, name: str) -> None:
    """Marks are those of ASCII where it must be, and letters that are lacking are spelt out."""
    done = antiphon("verify", "--engine", "oracle", str(chat), environment=TERMINALS[name])
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    if name == "dumb":
        return
    assert done.stdout.isascii()
    assert "! violated" in done.stdout
    assert "+ holds" in done.stdout
    assert r"message 2 of Jos\xe9" in done.stdout


def test_letters_that_are_spelt_out_leave_columns_and_width_as_they_are(chat: Path) -> None:
    """Places stand below each other, and no line is longer than the terminal."""
    words = ("verify", "--engine", "oracle", "--only", "fifo", chat.name)
    for width in (60, 90):
        terminal = {**TERMINALS["ascii"], "COLUMNS": str(width)}
        done = antiphon(*words, folder=chat.parent, environment=terminal)
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= width
        places = [line.index("chat.ndjson:") for line in lines if "chat.ndjson:" in line]
        assert len(places) > 2
        assert len(set(places)) == 1


def test_json_is_json_whatever_the_terminal(chat: Path) -> None:
    """A document is in UTF-8: programs read it."""
    done = antiphon(
        "verify", "--engine", "oracle", "--json", str(chat), environment=TERMINALS["ascii"]
    )
    [fifo] = [item for item in json.loads(done.stdout)["properties"] if item["property"] == "fifo"]
    assert fifo["violations"][0]["message"]["sender"] == "José"


@pytest.mark.parametrize("name", TERMINALS)
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("verify", "--help"),
        ("demo", "--help"),
        ("simulate", "--messages", "50"),
        ("explore", "--seeds", "0..1"),
        ("explore", "--replay", "scene.txt"),
    ],
    ids=" ".join,
)
def test_no_command_fails_for_lack_of_letters(
    tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    """What works elsewhere works there, too."""
    (tmp_path / "scene.txt").write_text("at 5 crash p1  # çà et là\n", encoding="utf-8")
    done = antiphon(*words, folder=tmp_path, environment=TERMINALS[name])
    assert done.returncode == 0, done.stderr


@pytest.mark.net
def test_demo_on_an_ascii_terminal(tmp_path: Path) -> None:
    """The verdict is there, with other marks."""
    words = ("demo", "--messages", "100", "--seconds", "0.5", "--engine", "oracle", "--out", "run")
    done = antiphon(*words, folder=tmp_path, environment=TERMINALS["ascii"])
    assert done.returncode == 0, done.stderr
    assert "+ holds" in done.stdout


def test_version_is_told() -> None:
    """One line, and status 0."""
    done = antiphon("--version")
    assert (done.returncode, done.stdout) == (0, f"antiphon {__version__}\n")


def test_nothing_is_cut_at_60_columns(tmp_path: Path) -> None:
    """Of tables of measures, sweeps and imported rows: what is too long goes on below."""
    narrow = {"COLUMNS": "60"}
    name = "a_rather_long_name_of_a_log_that_somebody_else_has_written.ndjson"
    write_rows(tmp_path / name, [multicast("A", 1), deliver("B", "A", 1)])
    (tmp_path / "orders.toml").write_text(
        "seeds = 1\n[simulate]\nmessages = 20\n[grid]\nprocesses = [3, 4]\ndelay_us_min = [5, 6]\n"
    )
    assert antiphon("simulate", "--messages", "20", "--out", "a", folder=tmp_path).returncode == 0
    measured, swept, imported = (
        antiphon(*words, folder=tmp_path, environment=narrow)
        for words in (("measure", "a"), ("sweep", "orders.toml"), ("import", name))
    )
    for done in (measured, swept, imported):
        assert done.returncode == 0, done.stderr
        assert "\u2026" not in done.stdout
    assert "stability" in measured.stdout
    [delays] = [line for line in measured.stdout.splitlines() if line.startswith("delivery")]
    assert delays.split()[-1] == "ms"
    beginnings = "".join(line.split(" ")[0] for line in imported.stdout.splitlines()[:8])
    assert f"{name}:1" in beginnings
