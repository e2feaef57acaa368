"""What a claim measures, point by point: in this process, or as tasks of whoever computes.

Law: a point is a call of a function of a module with plain arguments, and what it returns depends
on these alone; so it makes no difference who computes it, and no verdict depends on that. It is
computed once in a reproduction, however many claims ask for it. Cost: a task per core and wave
(``_WAVES``), and one collection per claim.
"""

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from antiphon.pipeline.tables.table import Executor

Value = TypeVar("Value")
Point = tuple[Hashable, ...]
Function = Callable[..., object]

_WAVES = 4
"""Tasks per core: points may differ in what they cost."""

_TYPES = {"point": "bigint", "value": "binary"}


@dataclass(slots=True)
class Sweeping:
    """Points that are known, and who computes the others: this process, unless somebody else."""

    executor: "Executor | None" = None
    _known: dict[tuple[Function, Point], object] = field(default_factory=dict)

    def values(self, function: Callable[..., Value], points: Iterable[Point]) -> list[Value]:
        """Return what a function is at each point."""
        wanted = list(points)
        missing = [each for each in dict.fromkeys(wanted) if (function, each) not in self._known]
        if self.executor is None or len(missing) < 2:  # else there is nothing to share
            found: Iterable[object] = (function(*each) for each in missing)
        else:
            found = _in_tasks(self.executor, function, missing)
        for point, value in zip(missing, found, strict=True):
            self._known[function, point] = value
        return [self._known[function, each] for each in wanted]  # type: ignore[misc]


def _in_tasks(executor: "Executor", function: Function, points: list[Point]) -> list[object]:
    count = min(len(points), _WAVES * executor.core_count)
    kernel = partial(_computed, function=function, points=points, stride=count)
    values: dict[int, object] = {}
    for batch in executor.numbered(count).map(kernel, _TYPES).batches():
        told = zip(
            batch.column("point").to_pylist(), batch.column("value").to_pylist(), strict=True
        )
        for number, value in told:
            values[number] = pickle.loads(value)  # noqa: S301 - from a task of ours
    return [values[number] for number in range(len(points))]


def _computed(
    batches: "Iterable[pa.RecordBatch]", *, function: Function, points: list[Point], stride: int
) -> "Iterator[pa.RecordBatch]":
    """Be a kernel: compute every so many points, from these numbers on."""
    import pyarrow as pa

    for batch in batches:
        for first in batch.column("id").to_pylist():
            numbers = range(first, len(points), stride)
            values = [pickle.dumps(function(*points[number])) for number in numbers]
            columns = [pa.array(numbers, pa.int64()), pa.array(values, pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=list(_TYPES))
