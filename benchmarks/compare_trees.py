"""Compare two source trees: the same multicast runs, turn by turn, on both.

    git worktree add ../before COMMIT
    python benchmarks/compare_trees.py ../before/src src [REPEATS]

Law: the machine's speed drifts, so the two trees take turns, and each pair of neighbours gives one
ratio (above 1: the second tree is faster), in messages per second and in processor time.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

_CODE = """
import sys
from antiphon.bench.multicast import measure
from antiphon.bench.spec import Spec
senders, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rate = measure(Spec(system="antiphon", senders=senders, payload_bytes=size, form="batch",
                    message_count=count, ports=()))
print(rate.per_s, rate.cpu_us)
"""

_RUNS = (("one", 64, 400_000), ("one", 1000, 100_000), ("all", 64, 100_000), ("all", 1000, 30_000))


def measured(tree: str, senders: str, size: int, count: int) -> tuple[float, float]:
    """Return the rate and the processor time per message of one run."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, senders, str(size), str(count)],
        env=os.environ | {"PYTHONPATH": str(Path(tree).resolve())},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    per_s, cpu_us = done.stdout.split()
    return float(per_s), float(cpu_us)


def main() -> None:
    """Compare, and print a line per kind of run."""
    before, after, *rest = sys.argv[1:]
    for senders, size, count in _RUNS:
        rates, times = [], []
        for _ in range(int(rest[0]) if rest else 7):
            old, new = (measured(tree, senders, size, count) for tree in (before, after))
            rates.append(new[0] / old[0])
            times.append(old[1] / new[1])
        line = (
            f"{senders} sender(s), {size} B: rate {statistics.median(rates):.2f} "
            f"({min(rates):.2f} to {max(rates):.2f}), "
            f"processor time {statistics.median(times):.2f} "
            f"({min(times):.2f} to {max(times):.2f})\n"
        )
        sys.stdout.write(line)


if __name__ == "__main__":
    main()
