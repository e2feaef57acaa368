"""Simulator events per second, against the same world on SimPy.

Two readings. The whole simulation (``measure_simulation``): endpoints and their driver included,
which are the same on both sides. The kernel alone (``measure_kernel``): the same number of timed
events with handlers that do nothing, which is what the two schedulers themselves cost.
"""

import gc
import time
from collections.abc import Callable, Generator

from antiphon.core.errors import UsageError
from antiphon.sim.scheduler import Scheduler
from antiphon.sim.steady_group import Options, SteadyGroup
from antiphon.sim.workload import WorkloadOptions

_SEED = 7


def measure_simulation(message_count: int) -> dict[str, float]:
    """Return CPU-time rates of the whole simulation, ours and SimPy's, and their ratio."""
    _need_simpy()
    from antiphon.bench.simpy_group import SimpyGroup  # noqa: PLC0415 - optional dependency

    options = Options(seed=_SEED, workload=WorkloadOptions(message_count=message_count))
    theirs = SimpyGroup(options)
    their_s = _cpu_s(theirs.run)
    ours = SteadyGroup(options)
    our_s = _cpu_s(lambda: [None for _ in ours.run()])
    return _rates(ours.scheduler.event_count / our_s, theirs.event_count / their_s)


def measure_kernel(event_count: int) -> dict[str, float]:
    """Return CPU-time rates of bare timed events, ours and SimPy's, and their ratio."""
    _need_simpy()
    import simpy  # noqa: PLC0415 - optional dependency

    chains = 1_000
    rounds = event_count // chains
    environment = simpy.Environment()

    def tick(delay_us: int) -> Generator[simpy.Event, None, None]:
        for _ in range(rounds):
            yield environment.timeout(delay_us)

    for chain in range(chains):
        environment.process(tick(1 + chain))
    their_s = _cpu_s(environment.run)
    scheduler = Scheduler()

    def tock(state: list[int]) -> None:
        state[1] -= 1
        if state[1]:
            scheduler.at(scheduler.now_us + state[0], tock, state)

    for chain in range(chains):
        scheduler.at(1 + chain, tock, [1 + chain, rounds])
    our_s = _cpu_s(scheduler.run)
    count = chains * rounds
    return _rates(count / our_s, count / their_s)


def _rates(ours: float, theirs: float) -> dict[str, float]:
    return {"antiphon_per_s": ours, "simpy_per_s": theirs, "ratio": ours / theirs}


def _cpu_s(action: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    action()
    return time.process_time() - begin


def _need_simpy() -> None:
    try:
        import simpy  # noqa: F401, PLC0415
    except ImportError:
        message = "SimPy is not installed: pip install 'antiphon[bench]'"
        raise UsageError(message) from None
