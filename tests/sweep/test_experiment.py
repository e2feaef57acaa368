"""An experiment's file: what it says, and what is said about a wrong one."""

from pathlib import Path

import pytest

from antiphon.core.errors import UsageError
from antiphon.sweep.experiment import read_experiment

GOOD = """
seeds = 3
[simulate]
messages = 40
[grid]
order = ["causal", "total"]
processes = [2, 3]
"""


def written(folder: Path, text: str) -> Path:
    """Return a file with this text."""
    file = folder / "orders.toml"
    file.write_text(text)
    return file


def test_every_combination_meets_every_seed(tmp_path: Path) -> None:
    """Two orders, two sizes, three seeds: twelve cells, the seed varying first."""
    experiment = read_experiment(written(tmp_path, GOOD))
    cells = list(experiment.cells())
    assert experiment.name == "orders"
    assert len(cells) == 12
    assert [seed for _, seed in cells[:4]] == [1, 2, 3, 1]
    assert [(each["order"], each["processes"]) for each, _ in cells[::3]] == [
        ("causal", 2), ("causal", 3), ("total", 2), ("total", 3),
    ]  # fmt: skip
    assert {each["messages"] for each, _ in cells} == {40}
    assert {each["burst"] for each, _ in cells} == {4}, "the rest has its defaults"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = 0", "seeds cannot be 0: give how many"),
        ("seeds = [1, 1]", "seeds cannot be [1, 1]: give how many"),
        ('seeds = "x"', "seeds cannot be 'x'"),
        ("[grids]", "grids is not known: use name, seeds, simulate, grid"),
        ("grid = 3", "grid is not a table: write [grid]"),
        ("[grid]\nprocesses = 3", "grid.processes is not a list of values"),
        ("[grid]\nprocesses = []", "grid.processes is not a list of values"),
        ("[grid]\nprocess = [3]", "grid.process is no parameter of antiphon simulate: use "),
        ("[grid]\nprocesses = [3, 3]", "grid.processes has a value twice"),
        ("[grid]\nprocesses = [0]", "grid.processes cannot be simulated: from 1 to"),
        ('[grid]\nprocesses = ["a"]', "grid.processes cannot be 'a': give a number of processes"),
        ('[grid]\norder = ["causl"]', "grid.order cannot be 'causl': give one of \"causal\""),
        ("[grid]\nanswers = [1.5]", "grid.answers cannot be simulated: answers must be from 0"),
        ("[grid]\nuniform = [1]", "grid.uniform cannot be 1: give true or false"),
        ("[simulate]\nmessages = -1", "simulate.messages cannot be -1: give a number of messages"),
        ("[simulate]\nmessages = 0", "simulate cannot be simulated: at least one message"),
        ("[simulate]\nburst = 2\n[grid]\nburst = [1]", "grid.burst is in [simulate] too"),
        ("seeds = 1000000\n[grid]\nburst = [1, 2]", "grid.burst makes too many cells"),
        ('name = "a/b"', "name cannot name a folder"),
        ("seeds = ", "not TOML"),
    ],
)
def test_wrong_file_is_told_by_its_key(tmp_path: Path, text: str, said: str) -> None:
    """One sentence: the file, the key, and what is allowed."""
    with pytest.raises(UsageError) as error:
        read_experiment(written(tmp_path, text))
    assert str(error.value).startswith(str(tmp_path / "orders.toml"))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """It cannot be read."""
    with pytest.raises(UsageError, match=r"none\.toml: cannot be read"):
        read_experiment(tmp_path / "none.toml")
