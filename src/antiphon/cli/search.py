"""A search through random worlds on several cores: what failed, and which situations were met."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from antiphon.cli.interrupt import deaf_children, kill_workers
from antiphon.cli.screen import progress_bar
from antiphon.sim.coverage import Pair
from antiphon.sim.exploration import Finding, survey
from antiphon.sim.other_protocols import protocol_scenario

_CHUNK = 50

_Chunk = tuple[list[Finding], Counter[Pair]]


class SeedSearch:
    """Worlds run so far, and what was found in them."""

    def __init__(self, flush: str, jobs: int, failures: int, protocol: str = "vector") -> None:
        """Stop after so many failing worlds."""
        self.flush, self.protocol = flush, protocol
        self._jobs = jobs
        self._failures = failures
        self.findings: list[Finding] = []
        self.reached: Counter[Pair] = Counter()
        """In how many worlds each pair of events was reached."""
        self.world_count = 0

    @property
    def is_over(self) -> bool:
        """Whether enough has been found."""
        return len(self.findings) >= self._failures

    def run(self, seeds: range, aim: Pair | None = None) -> None:
        """Run the worlds of these seeds, perhaps aimed at a pair of events."""
        what = f"aiming at {'+'.join(aim)}" if aim else "exploring"
        with progress_bar(what, len(seeds)) as (bar, task):
            for chunk, (found, reached) in self._examined(seeds, aim):
                self.findings = (self.findings + found)[: self._failures]
                self.reached.update(reached)
                self.world_count += len(chunk)
                bar.update(bar.task_ids[task], advance=len(chunk))
                if self.is_over:
                    break

    def _examined(self, seeds: range, aim: Pair | None) -> Iterator[tuple[range, _Chunk]]:
        chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
        if self._jobs == 1 or len(chunks) == 1:
            for chunk in chunks:
                yield chunk, _examine(chunk, self.flush, self.protocol, aim)
            return
        with ProcessPoolExecutor(self._jobs) as pool:
            try:
                asked = ([what] * len(chunks) for what in (self.flush, self.protocol, aim))
                with deaf_children():
                    examined = pool.map(_examine, chunks, *asked)
                yield from zip(chunks, examined, strict=True)
            except BaseException:  # Ctrl-C, or nobody wants more: what they are at is of no use
                kill_workers()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _examine(seeds: range, flush: str, protocol: str, aim: Pair | None) -> _Chunk:
    findings: list[Finding] = []
    reached: Counter[Pair] = Counter()
    for seed in seeds:
        finding, _, pairs = survey(protocol_scenario(seed, flush, protocol, aim))
        reached.update(pairs)
        if finding is not None:
            findings.append(replace(finding, aim="+".join(aim or ())))
    return findings, reached
