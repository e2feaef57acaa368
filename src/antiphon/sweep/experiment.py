"""An experiment's file: which parameters vary, over which values, and which seeds.

Law: every parameter is one of ``antiphon simulate``'s, by the same name. What is wrong is said in
one sentence that names the file and the key, and what is allowed there; before anything runs.

    name = "orders"            # optional: the file's name if left out
    seeds = 10                 # 1 to 10; or a list
    [simulate]                 # shared by all cells; the rest has its defaults
    messages = 500
    [grid]                     # every combination is simulated with every seed
    order = ["causal", "total"]
    processes = [3, 5, 9]
"""

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.core.errors import UsageError
from antiphon.sim.parameters import PARAMETERS, check_world

CELLS_MAX = 1_000_000

_KEYS = ("name", "seeds", "simulate", "grid")


@dataclass(frozen=True, slots=True)
class Experiment:
    """What to sweep."""

    name: str
    fixed: dict[str, Any]
    """What all cells share, defaults included."""
    grid: dict[str, list[Any]]
    seeds: list[int]

    def cells(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield parameters and seed of each cell; the seed varies first."""
        for values in itertools.product(*self.grid.values()):
            chosen = self.fixed | dict(zip(self.grid, values, strict=True))
            ordered = {name: chosen[name] for name in PARAMETERS}
            for seed in self.seeds:
                yield ordered, seed


def read_experiment(path: Path) -> Experiment:
    """Return the experiment that a file tells."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}): give the TOML file of an experiment"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: not TOML ({error}): see docs/sweeps.md for an example"
        raise UsageError(message) from error
    return experiment_of(document, path)


def experiment_of(document: Mapping[str, Any], path: Path) -> Experiment:
    """Return the experiment that a document tells."""
    for key in document:
        if key not in _KEYS:
            raise _wrong(path, key, "is not known", f"use {', '.join(_KEYS)}")
    name = document.get("name", path.stem)
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise _wrong(path, "name", "cannot name a folder", "give a short word")
    fixed = _table(document, "simulate", path)
    grid = _table(document, "grid", path)
    _check_grid(grid, fixed, path)
    for parameter, value in fixed.items():
        _check(path, "simulate", parameter, value)
    defaults = {key: each.default for key, each in PARAMETERS.items() if key not in grid}
    experiment = Experiment(name, defaults | fixed, grid, _seeds(document, path))
    count = len(experiment.seeds)
    for key, values in grid.items():
        count *= len(values)
        if count > CELLS_MAX:
            raise _wrong(path, f"grid.{key}", "makes too many cells", f"at most {CELLS_MAX:,}")
    _check_worlds(experiment, path)
    return experiment


def _table(document: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise _wrong(path, key, "is not a table", f"write [{key}] and parameters below it")
    return table


def _check_grid(grid: dict[str, Any], fixed: dict[str, Any], path: Path) -> None:
    for parameter, values in grid.items():
        if not isinstance(values, list) or not values:
            raise _wrong(path, f"grid.{parameter}", "is not a list of values", "write [1, 2]")
        if parameter in fixed:
            raise _wrong(path, f"grid.{parameter}", "is in [simulate] too", "say it once")
        for value in values:
            _check(path, "grid", parameter, value)
        if len(set(map(str, values))) < len(values):
            raise _wrong(path, f"grid.{parameter}", "has a value twice", "say each once")


def _check(path: Path, table: str, name: str, value: object) -> None:
    known = PARAMETERS.get(name)
    if known is None:
        allowed = f"use {', '.join(PARAMETERS)}"
        raise _wrong(path, f"{table}.{name}", "is no parameter of antiphon simulate", allowed)
    if not known.takes(value):
        raise _wrong(path, f"{table}.{name}", f"cannot be {value!r}", f"give {known.allowed}")


def _seeds(document: Mapping[str, Any], path: Path) -> list[int]:
    seeds = document.get("seeds", 1)
    allowed = "give how many (from 1 up), or a list of different integers"
    if isinstance(seeds, int) and not isinstance(seeds, bool) and 1 <= seeds <= CELLS_MAX:
        return list(range(1, seeds + 1))
    if (
        isinstance(seeds, list)
        and seeds
        and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
        and len(set(seeds)) == len(seeds)
    ):
        return seeds
    raise _wrong(path, "seeds", f"cannot be {seeds!r}", allowed)


def _check_worlds(experiment: Experiment, path: Path) -> None:
    """Let every value be refused by who uses it, one parameter at a time."""
    tried = [("simulate", experiment.fixed)]
    tried += [
        (f"grid.{name}", experiment.fixed | {name: value})
        for name, values in experiment.grid.items()
        for value in values
    ]
    for key, parameters in tried:
        try:
            check_world(experiment.seeds[0], parameters)
        except UsageError as error:
            raise _wrong(path, key, "cannot be simulated", str(error)) from error


def _wrong(path: Path, key: str, what: str, allowed: str) -> UsageError:
    return UsageError(f"{path}: {key} {what}: {allowed}")
