"""The planted bugs: what one is, and how it is planted.

Law: a mistake is planted into the real machines, by replacing methods of their classes, and
nothing of it remains afterwards. Those that random worlds do not meet within the bound of the
campaign are kept apart: each has a scenario in ``tests/scenarios_views`` or
``tests/scenarios_wide`` that does.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

Patch = tuple[type, str, Any]
"""A class, the name of its method, and what to put there."""


class Mutant(NamedTuple):
    """One mistake."""

    name: str
    flush: str
    source: str
    """The erratum, or what it is kin to."""
    target: type
    method: str
    wrong: Any
    also: tuple[Patch, ...] = ()
    """What belongs to the same mistake, elsewhere."""


MUTANTS: list[Mutant] = []
"""Mistakes that exploration finds."""

UNMET: list[Mutant] = []
"""Mistakes that do harm only where more comes together than random worlds bring about."""


def plant(
    target: type,
    method: str,
    source: str,
    flush: str = "view-atomic",
    *,
    is_property: bool = False,
    also: tuple[Patch, ...] = (),
    is_met: bool = True,
) -> Callable[[Any], Any]:
    """Register a wrong method, or property, under the name of the function that is it."""

    def register(wrong: Any) -> Any:
        name = wrong.__name__.replace("_", " ")
        planted = property(wrong) if is_property else wrong
        kept = MUTANTS if is_met else UNMET
        kept.append(Mutant(name, flush, source, target, method, planted, also))
        return wrong

    return register


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """Make the mistake, for a while."""
    with ExitStack() as stack:
        for target, method, wrong in ((mutant.target, mutant.method, mutant.wrong), *mutant.also):
            stack.enter_context(patch.object(target, method, wrong))
        yield
