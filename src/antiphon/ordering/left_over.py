"""What is left of a view when its flush has ended: which messages; the order of the total ones.

Law: worked out from what is of the group alone, which is the same at all who go on; what each of
them has still to wait for in other groups is not. So everybody gets the same answer, whenever it
asks.

An orphan is a message of whose past, in its own group, something is lost with its sender (ISIS 5.5
(3)); its successors are orphans. The others are kept, and will be delivered.
"""

from collections.abc import Callable, Iterable, Sequence

from antiphon.core.runs import Letter, Order, Run

_TOTAL = Order.TOTAL


def kept_counts(received: list[int], held: Iterable[Run]) -> list[int]:
    """Return, by sender, how many messages can still be delivered, or have been."""
    kept = received
    runs = [run for run in held if type(run) is not Letter]
    is_settled = False
    while not is_settled:
        is_settled = True
        for run in runs:
            if not _has_past(run, kept) and kept[run.sender] >= run.first:
                kept[run.sender] = run.first - 1
                is_settled = False
    return kept


def is_kept(run: Run, kept: Sequence[int]) -> bool:
    """Whether nothing that a run of a closed view depends on, in its own group, is lost."""
    return run.first <= kept[run.sender] + (type(run) is Letter) and _has_past(run, kept)


def total_order(
    delivered: list[int], held: Iterable[Run], first_of: Callable[[list[Run]], Run]
) -> list[Run]:
    """Return the total messages among kept ones in the order in which all deliver them."""
    left, counts, order = list(held), list(delivered), []
    while left:
        ready = [
            run for run in left if run.first == counts[run.sender] + 1 and _has_past(run, counts)
        ]
        assert ready, "what is kept can be delivered"
        plain = [run for run in ready if run.order is not _TOTAL]
        for run in plain or [first_of(ready)]:
            counts[run.sender] = run.last
            left.remove(run)
            if run.order is _TOTAL:
                order.append(run)
    return order


def _has_past(run: Run, counts: Sequence[int]) -> bool:
    return all(count <= counts[rank] for rank, count in run.stamp)
