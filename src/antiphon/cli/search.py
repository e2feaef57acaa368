"""A search through random worlds on several cores: what failed, and which situations were met."""

from collections import Counter
from dataclasses import replace
from functools import partial

from antiphon.cli.pool import answered_by_processes
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
        chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
        examine = partial(_examine, flush=self.flush, protocol=self.protocol, aim=aim)
        with (
            progress_bar(what, len(seeds)) as (bar, task),
            answered_by_processes(examine, chunks, self._jobs) as answers,
        ):
            for chunk, (found, reached) in zip(chunks, answers, strict=True):
                self.findings = (self.findings + found)[: self._failures]
                self.reached.update(reached)
                self.world_count += len(chunk)
                bar.update(bar.task_ids[task], advance=len(chunk))
                if self.is_over:
                    break


def _examine(seeds: range, flush: str, protocol: str, aim: Pair | None) -> _Chunk:
    findings: list[Finding] = []
    reached: Counter[Pair] = Counter()
    for seed in seeds:
        finding, _, pairs = survey(protocol_scenario(seed, flush, protocol, aim))
        reached.update(pairs)
        if finding is not None:
            findings.append(replace(finding, aim="+".join(aim or ())))
    return findings, reached
