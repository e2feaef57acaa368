"""Run the mutation suite: every planted bug must be found within ``SEEDS_MAX`` seeds.

    python -m tests.mutants.campaign [--out docs/mutants.md]

Prints a line per mutant: how many seeds it took from 0, and from ``FRESH``, and what was found;
exits with status 1 if any mutant survives either.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.mutants import (
    planted_block_views,
    planted_blocks,
    planted_domains,
    planted_overlay,
    planted_structure,
)
from tests.mutants.planted import MUTANTS, planted

from antiphon.sim.exploration import explore

assert planted_structure.__doc__, "it has planted its bugs among those of domains"

SEEDS_MAX = 2_000


OTHERS: tuple[tuple[str, str, Sequence[Any]], ...] = (
    ("Causal blocks", "test_block_mutants.py", planted_blocks.MUTANTS),
    ("Causal blocks under views", "test_block_view_mutants.py", planted_block_views.VIEW_MUTANTS),
    ("Flooding an overlay", "test_overlay_mutants.py", planted_overlay.MUTANTS),
    ("Causality across groups", "test_domain_mutants.py", planted_domains.MUTANTS),
)
"""What is planted elsewhere: its title, the test that hunts it, and what it is."""

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
    return "\n".join([*lines, *others()]) + "\n"


def others() -> list[str]:
    """Return what is planted elsewhere, and found by worlds and schedules of its own."""
    lines = [
        "",
        "## Of what a group, or a domain, may choose",
        "",
        "These are found by tests of their own, in random worlds of their own kind or, some of",
        "domains, by a schedule.",
    ]
    for title, module, mutants in OTHERS:
        lines += [
            "",
            f"**{title}** ([`{module}`](../tests/mutants/{module})): {len(mutants)}.",
            "",
            "| planted bug | after |",
            "|---|---|",
            *(f"| {mutant.name} | {mutant.source} |" for mutant in mutants),
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
