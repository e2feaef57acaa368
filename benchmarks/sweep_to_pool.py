"""How much longer a sweep takes than a bare pool of processes that runs the same cells.

Law: both simulate, judge and measure the same 200 small worlds, on as many processes; the sweep
also finds out what is finished, keeps each result, and writes the table. Each is started from
nothing, in turns, because the machine's speed drifts; the median ratio counts, in wall time and
in processor time. Bar: 1.2 times.

    python benchmarks/sweep_to_pool.py [REPEATS]
"""

import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.sweep.cells import cell_of, run_cell
from antiphon.sweep.experiment import Experiment, experiment_of
from antiphon.sweep.results import save_results
from antiphon.sweep.running import sweep
from antiphon.trace.sweep_folder import SweepFolder

BAR = 1.2
CORES = os.cpu_count() or 1

EXPERIMENT: Experiment = experiment_of(
    {
        "seeds": 10,
        "simulate": {"messages": 500},
        "grid": {
            "order": ["causal", "total"],
            "processes": [3, 5, 8, 12, 16],
            "delay_us": [200, 2000],
        },
    },
    Path("bench.toml"),
)


def with_pool() -> None:
    """Run every cell in a bare pool; forget the results."""
    cells = [cell_of(parameters, seed) for parameters, seed in EXPERIMENT.cells()]
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        results = pool.map(run_cell, cells, chunksize=1)
        pool.close()
        pool.join()
    assert all(result.status == "done" for result in results)


def with_sweep() -> None:
    """Sweep into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        target = SweepFolder(Path(folder) / "sweep")
        results = sweep(LocalExecutor(CORES), EXPERIMENT, target, "", "bench")
        save_results(results, target)


def timed(run: Callable[[], None]) -> tuple[float, float]:
    """Return how long something took, and how much processor time with its children."""
    begin_s, cpu_s = time.perf_counter(), _cpu_s()
    run()
    return time.perf_counter() - begin_s, _cpu_s() - cpu_s


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(repeats: int) -> None:
    """Print each pair, and the medians."""
    wall, cpu = [], []
    for _ in range(repeats):
        pool_s, pool_cpu_s = timed(with_pool)
        sweep_s, sweep_cpu_s = timed(with_sweep)
        wall.append(sweep_s / pool_s)
        cpu.append(sweep_cpu_s / pool_cpu_s)
        print(f"pool {pool_s:.1f} s, sweep {sweep_s:.1f} s: {wall[-1]:.2f} (cpu {cpu[-1]:.2f})")
    middle = statistics.median(wall)
    print(f"median: {middle:.2f} in wall time, {statistics.median(cpu):.2f} in processor time")
    print(f"bar {BAR}: {'reached' if middle <= BAR else 'missed'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
