"""Coming back: some of five processes are stopped (SIGSTOP) together, and continued together.

    python -m antiphon.bench.coming_back --stopped 2 --tries 50

Law: a try counts when all five are members of one and the same primary view again, each as its own
application reads it, and still are a moment later; its time is from the first SIGCONT to the last
of these views. A try in which that has not happened in time is reported as such, and not timed.
"""

import argparse
import signal
import statistics
import sys
import time

from antiphon.bench.changes import MEMBER_COUNT, MemberProcesses, cluster
from antiphon.bench.changes_member import ViewSeen

SLEEP_S = 4.0
"""Longer than it takes the others to suspect and to exclude."""

_STEADY_S = 0.7


def come_back_s(stopped: int, turn: int, patience_s: float) -> float | None:
    """Stop so many of five for a while; return how long all took to be together again.

    None: they were not, within ``patience_s``. Who is stopped changes from turn to turn.
    """
    with cluster(is_loaded=False, rejoin=True) as members:
        members.watch(0.5)
        everybody = list(members.processes.values()) * 2
        victims = everybody[turn % MEMBER_COUNT :][:stopped]
        for process in victims:
            process.send_signal(signal.SIGSTOP)
        members.watch(SLEEP_S)
        continued_ns = time.monotonic_ns()
        for process in victims:
            process.send_signal(signal.SIGCONT)
        end_s = time.monotonic() + patience_s + _STEADY_S
        while time.monotonic() < end_s:
            if _are_together(members):
                last_ns = max(view.time_ns for view in _last_views(members))
                members.watch(_STEADY_S)
                if _are_together(members):
                    return max(0.0, (last_ns - continued_ns) / 1e9)
            members.take(0.05)
    return None


def _last_views(members: MemberProcesses) -> list[ViewSeen]:
    return list({view.name: view for view in members.views}.values())


def _are_together(members: MemberProcesses) -> bool:
    last = _last_views(members)
    alike = {(view.number, tuple(view.members), view.primary) for view in last}
    names = sorted(name.partition("~")[0] for name in last[0].members)
    return len(alike) == 1 and last[0].primary and names == sorted(members.processes)


def main() -> int:
    """Try often; print every time, and what came of it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stopped", type=int, default=2)
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--patience", type=float, default=30.0)
    arguments = parser.parse_args()
    times: list[float] = []
    for turn in range(1, arguments.tries + 1):
        took_s = come_back_s(arguments.stopped, turn, arguments.patience)
        said = "not back" if took_s is None else f"{took_s:.2f} s"
        sys.stdout.write(f"try {turn}: {said}\n")
        sys.stdout.flush()
        if took_s is not None:
            times.append(took_s)
    sys.stdout.write(
        f"{arguments.stopped} of {MEMBER_COUNT} stopped for {SLEEP_S:g} s: all back in "
        f"{len(times)} of {arguments.tries} tries"
    )
    if times:
        sys.stdout.write(f", median {statistics.median(times):.2f} s, most {max(times):.2f} s")
    sys.stdout.write("\n")
    return 0 if len(times) == arguments.tries else 1


if __name__ == "__main__":
    sys.exit(main())
