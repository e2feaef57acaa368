"""A planted bug takes what the right method takes: else it is found because it cannot be called."""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.mutants import (
    planted,
    planted_block_views,
    planted_blocks,
    planted_domains,
    planted_overlay,
    planted_structure,
)

PLANTED: tuple[Any, ...] = (
    *planted.MUTANTS,
    *planted_block_views.VIEW_MUTANTS,
    *planted_blocks.MUTANTS,
    *planted_domains.MUTANTS,
    *planted_overlay.MUTANTS,
)
assert planted_structure.__doc__, "it has planted its bugs among those of domains"


class Shape(NamedTuple):
    """What can be handed to a function."""

    positional: int
    keywords: frozenset[str]
    takes_any: bool


def shape_of(function: Any) -> Shape:
    """Return what a function, or the getter of a property, takes."""
    plain: Any = function.fget if isinstance(function, property) else function
    parameters = inspect.signature(getattr(plain, "__func__", plain)).parameters.values()
    kinds = [parameter.kind for parameter in parameters]
    return Shape(
        sum(kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
            for kind in kinds),
        frozenset(one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY),
        inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds,
    )  # fmt: skip


def _patches() -> Iterator[Any]:
    for mutant in PLANTED:
        also = getattr(mutant, "also", ())
        for target, method, wrong in ((mutant.target, mutant.method, mutant.wrong), *also):
            right = inspect.getattr_static(target, method)
            if callable(right) or isinstance(right, property | classmethod):
                yield pytest.param(target, method, wrong, id=f"{mutant.name}, {method}")


@pytest.mark.parametrize(("target", "method", "wrong"), list(_patches()))
def test_planted_bug_takes_what_the_right_method_takes(
    target: type, method: str, wrong: Any
) -> None:
    """As many arguments, and those by name that callers may name."""
    right = inspect.getattr_static(target, method)
    planted_shape = shape_of(wrong)
    assert planted_shape.takes_any or planted_shape == shape_of(right)
