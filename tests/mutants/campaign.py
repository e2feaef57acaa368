"""Run the mutation suite: every planted bug must be found within ``SEEDS_MAX`` seeds.

    python -m tests.mutants.campaign [--out docs/mutants.md]

Prints a line per mutant: the seed that found it and what was found; exits with status 1 if any
mutant survives.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.mutants.planted import MUTANTS, planted

from antiphon.sim.exploration import explore

SEEDS_MAX = 2_000


def hunt(name: str, seeds_max: int = SEEDS_MAX) -> tuple[str, int | None, str, str]:
    """Return what finds a mutant: its name, the seeds needed, the kind and the sentence."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    with planted(mutant):
        for seed, finding in explore(range(seeds_max), mutant.flush):
            if finding is not None:
                return name, seed + 1, finding.what, finding.text
    return name, None, "", ""


def main() -> int:
    """Hunt all mutants, two at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    with ProcessPoolExecutor() as pool:
        for name, seeds, what, text in pool.map(hunt, [mutant.name for mutant in MUTANTS]):
            found = f"{seeds:5} seeds  {what}: {text}" if seeds else "SURVIVED"
            sys.stdout.write(f"{name:45} {found}\n")
            sys.stdout.flush()
            rows.append((name, seeds, what))
    survivors = [name for name, seeds, _ in rows if seeds is None]
    sys.stdout.write(f"{len(rows) - len(survivors)} of {len(rows)} mutants found\n")
    if arguments.out:
        arguments.out.write_text(report(rows))
    return 1 if survivors else 0


def report(rows: list[tuple[str, int | None, str]]) -> str:
    """Return the report as a page."""
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    lines = [
        "# Planted bugs and how soon exploration finds them",
        "",
        "Written by `make mutants`. Each bug is planted into the real machines, and random worlds",
        "from seed 0 on are run until one fails: the oracle, or the check of letters or answers,",
        "finds a broken promise; or the world does not come to rest (`stuck`); or a machine",
        "raises (the error's name).",
        "",
        "| planted bug | flush | after | seeds needed | found as |",
        "|---|---|---|---|---|",
    ]
    for name, seeds, what in rows:
        mutant = by_name[name]
        needed = str(seeds) if seeds else "not found"
        lines.append(f"| {name} | {mutant.flush} | {mutant.source} | {needed} | {what} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
