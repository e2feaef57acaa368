"""`help()` on every public name explains it: each field, parameter and method, and its unit.

Law: what is public is what ``antiphon.__all__`` lists; the rules are tried on a class that breaks
them before they are trusted.
"""

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

import antiphon

UNITS = {"_us": "microseconds", "(?<!_per)_s": "seconds", "_per_s": "per second"}


def field_names(kind: type) -> list[str]:
    """Return the names of what an object of a public class holds for its users."""
    names = [field.name for field in dataclasses.fields(kind)] if is_dataclass(kind) else []
    names += getattr(kind, "_fields", ())  # of a named tuple
    names += getattr(kind, "__struct_fields__", ())
    names += kind.__dict__.get("__slots__", ())
    if issubclass(kind, enum.Enum):
        names += [member.name for member in kind]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def is_dataclass(kind: type) -> bool:
    """Tell whether a class is a dataclass, without narrowing its type."""
    return dataclasses.is_dataclass(kind)


def unexplained_fields(kind: type) -> Iterator[str]:
    """Yield the fields of which the class's own docstring says nothing, or not their unit."""
    said = inspect.cleandoc(kind.__doc__ or "")
    for name in field_names(kind):
        if not re.search(rf"``{name}``", said):
            yield f"{kind.__name__}.{name}: the docstring of the class does not explain it"
        yield from unit_missing(f"{kind.__name__}.{name}", name, said)


def unit_missing(where: str, name: str, said: str) -> Iterator[str]:
    """Yield a complaint if a name ends in a unit that the text does not spell out."""
    said = " ".join(said.split())
    for ending, unit in UNITS.items():
        word = unit.removesuffix("s") if "_per_" in name else unit
        if re.search(rf"{ending}(_max|_min)?$", name) and word not in said:
            yield f"{where}: its unit, {word}, is not said"


def unexplained_methods(kind: type) -> Iterator[str]:
    """Yield the public methods and properties that have no docstring of their own."""
    for name, value in vars(kind).items():
        is_ours = inspect.isfunction(value) or isinstance(value, property | classmethod)
        if is_ours and not name.startswith("_") and not value.__doc__:
            yield f"{kind.__name__}.{name}: has no docstring"


def unexplained_parameters(function: Callable[..., object]) -> Iterator[str]:
    """Yield the parameters of a public function of which its docstring says nothing."""
    said = inspect.getdoc(function) or ""
    for name in inspect.signature(function).parameters:
        if not re.search(rf"``{name}(``|=)", said):
            yield f"{function.__name__}: the docstring does not explain {name}"
        yield from unit_missing(function.__name__, name, said)


def complaints(name: str) -> list[str]:
    """Return what `help()` on a public name leaves open."""
    value = getattr(antiphon, name)
    if not inspect.isclass(value):
        return list(unexplained_parameters(value))
    found = [] if inspect.cleandoc(value.__doc__ or "") else [f"{name}: has no docstring"]
    return [*found, *unexplained_fields(value), *unexplained_methods(value)]


@pytest.mark.parametrize("name", antiphon.__all__)
def test_help_explains_every_public_name(name: str) -> None:
    """Fields, units, parameters and methods."""
    assert complaints(name) == []


def test_rules_find_what_is_not_explained() -> None:
    """Each rule complains of what breaks it: a field, a unit, a method, a parameter."""

    class Pause(NamedTuple):
        """How long: ``length_s``."""

        length_s: float
        times: int

        def double(self) -> float:
            return 2 * self.length_s

    @dataclasses.dataclass
    class Beat:
        """Nothing is said."""

        beat_us: int

    @dataclasses.dataclass
    class Line:
        """What is sent: ``bytes_per_s``, in seconds."""

        bytes_per_s: int

    def wait(pause: Pause, timeout_s: float) -> None:
        """Wait for ``pause``."""

    assert [*unexplained_fields(Pause), *unexplained_methods(Pause)] == [
        "Pause.length_s: its unit, seconds, is not said",
        "Pause.times: the docstring of the class does not explain it",
        "Pause.double: has no docstring",
    ]
    assert len(list(unexplained_fields(Beat))) == 2
    assert [*unexplained_fields(Line)] == ["Line.bytes_per_s: its unit, per second, is not said"]
    assert len(list(unexplained_parameters(wait))) == 2
