"""How coverage looks on a terminal: a triangle of numbers, 80 columns wide."""

from collections import Counter
from string import ascii_lowercase

from antiphon.cli.screen import output
from antiphon.sim.coverage import Pair, kinds_of, pairs_of

_THOUSAND = 1_000
_MUCH = 99_000


def print_pairs(flush: str, reached: Counter[Pair]) -> None:
    """Print in how many worlds each pair was reached, and which ones never were."""
    kinds = kinds_of(flush)
    letters = ascii_lowercase[: len(kinds)]
    lines = ["pairs of events inside one view change, in how many worlds:"]
    lines.append(" " + "".join(f"{letter:>4}" for letter in letters))
    for place, kind in enumerate(kinds):
        counts = [reached[other, kind] for other in kinds[: place + 1]]
        # The name stands at the end of its row, along the long side of the triangle.
        lines.append(letters[place] + "".join(f"{_short(n):>4}" for n in counts) + f" {kind}")
    pairs = pairs_of(flush)
    never = ["+".join(pair) for pair in pairs if not reached[pair]]
    lines.append(f"{len(pairs) - len(never)} of {len(pairs)} pairs were reached")
    if never and len(never) < len(pairs):
        lines.append(f"never: {', '.join(never)}")
    for line in lines:
        output.print(line, soft_wrap=True, markup=False)


def _short(count: int) -> str:
    """Return a number in at most three characters."""
    if count < _THOUSAND:
        return str(count or ".")
    return f"{min(count, _MUCH) // _THOUSAND}k"
