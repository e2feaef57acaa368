"""Run the mutation suite: every planted bug must be found within ``SEEDS_MAX`` seeds.

    python -m tests.mutants.campaign [--out docs/mutants.md]

Prints a line per mutant: how many seeds it took from 0, and from ``FRESH``, and what was found;
exits with status 1 if any mutant survives either.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.mutants.planted import MUTANTS, planted

from antiphon.sim.exploration import explore

SEEDS_MAX = 2_000


FRESH = 500_000
"""Where the seeds begin with which nothing was ever tuned."""


def hunt(name: str, seeds_max: int = SEEDS_MAX, first: int = 0) -> tuple[str, int | None, str, str]:
    """Return what finds a mutant: its name, the seeds needed, the kind and the sentence."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with planted(mutant):
        for seed, finding in explore(range(first, first + seeds_max), mutant.flush):
            if finding is not None:
                return name, seed - first + 1, finding.what, finding.text
    return name, None, "", ""


def main() -> int:
    """Hunt all mutants, two at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    with ProcessPoolExecutor() as pool:
        names = [mutant.name for mutant in MUTANTS]
        found_first = pool.map(hunt, names)
        found_fresh = pool.map(partial(hunt, first=FRESH), names)
        for (name, seeds, what, text), (_, fresh, *_) in zip(found_first, found_fresh, strict=True):
            needed = " ".join(f"{count or 'SURVIVED':>8}" for count in (seeds, fresh))
            sys.stdout.write(f"{name:45} {needed} seeds  {what}: {text}\n")
            sys.stdout.flush()
            rows.append((name, seeds, fresh, what))
    survivors = [name for name, seeds, fresh, _ in rows if seeds is None or fresh is None]
    sys.stdout.write(f"{len(rows) - len(survivors)} of {len(rows)} mutants found\n")
    if arguments.out:
        arguments.out.write_text(report(rows))
    return 1 if survivors else 0


def report(rows: list[tuple[str, int | None, int | None, str]]) -> str:
    """Return the report as a page."""
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    lines = [
        "# Planted bugs and how soon exploration finds them",
        "",
        "Written by `make mutants`. Each bug is planted into the real machines, and random worlds",
        f"from seed 0 on, and from seed {FRESH:,} on, are run until one fails: the oracle, or the",
        "check of letters, answers, program order, calls or deliveries, finds a broken promise;",
        "or the world does not come to rest in time, or somebody does what nobody may (`stuck`),",
        "or it does not go on in time (`late`); or a machine raises (the error's name).",
        "",
        f"| planted bug | flush | after | seeds from 0 | from {FRESH:,} | found as |",
        "|---|---|---|---|---|---|",
    ]
    for name, seeds, fresh, what in rows:
        mutant = by_name[name]
        needed = " | ".join(str(count) if count else "not found" for count in (seeds, fresh))
        lines.append(f"| {name} | {mutant.flush} | {mutant.source} | {needed} | {what} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
