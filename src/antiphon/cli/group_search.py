"""``antiphon explore --groups``, ``--domains`` and ``--blocks``: worlds that are not shrunk."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import typer

from antiphon.cli.engines import verify_command
from antiphon.cli.pool import answered_by_processes
from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.core.errors import UsageError
from antiphon.sim.lossy.author import survey_blocks
from antiphon.sim.random_domains import AUTHORS, survey_domain
from antiphon.sim.random_groups import examine_groups
from antiphon.stack.domain import ALL
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.schema import Event

_CHUNK = 10
"""Worlds that a process is asked for at once: about a second of work."""

RESILIENCES = {"1": 1, "2": 2, "all": ALL}
"""As they are said on the command line."""

SAID_OF_STRUCTURES = {
    "none": "nothing declared of overlaps",
    "declared": "declared overlaps",
    "excluded": "declared overlaps, some groups excluded",
}


class SearchEffort(NamedTuple):
    """How far to go."""

    jobs: int
    """Processes to explore with."""
    failures: int
    """Failing worlds to stop after."""


class WorldKind(NamedTuple):
    """Worlds that are alike."""

    option: str
    """Which words of the command line choose them."""
    name: str
    """What they are worlds of."""
    examine: Callable[[int], tuple[str, list[Event]]]
    """Lives through the world of a seed: what went wrong, and the trace. It is pickled."""
    folder: str = ""
    """How folders of failing worlds begin; nothing is kept, if there is none."""
    config: Mapping[str, str] = {}
    """What such a folder says of its world."""

    def replay(self, seed: int) -> str:
        """Return the command that lives through a world again."""
        return f"antiphon explore {self.option} --seeds {seed}..{seed}"


def explore_groups(seeds: range, effort: SearchEffort, *, as_json: bool) -> None:
    """Run worlds of groups that are independent of each other."""
    _explore(
        seeds, effort, WorldKind("--groups", "several groups", _survey_groups), as_json=as_json
    )


def _survey_groups(seed: int) -> tuple[str, list[Event]]:
    return examine_groups(seed), []


def explore_blocks(seeds: range, effort: SearchEffort, *, keep: Path, as_json: bool) -> None:
    """Run worlds of a group that orders by causal blocks, on channels that lose datagrams."""
    kind = WorldKind("--blocks", "causal blocks", survey_blocks, folder="explored-blocks")
    _explore(seeds, effort, kind, keep=keep, as_json=as_json)


class DomainWorlds(NamedTuple):
    """Which worlds of one causality domain are explored."""

    seeds: range
    resilience: str
    flush: str
    structure: str


def explore_domains(
    worlds: DomainWorlds, effort: SearchEffort, *, keep: Path, as_json: bool
) -> None:
    """Run worlds of groups that are one causality domain; the trace of a failing one is kept."""
    seeds, resilience, flush, structure = worlds
    if resilience not in RESILIENCES:
        message = f"there is no --resilience {resilience}: choose one of {', '.join(RESILIENCES)}"
        raise UsageError(message)
    if structure not in AUTHORS:
        message = f"there is no --structure {structure}: choose one of {', '.join(AUTHORS)}"
        raise UsageError(message)
    number = RESILIENCES[resilience]
    kind = WorldKind(
        f"--domains --resilience {resilience} --flush {flush} --structure {structure}",
        f"one domain, with a resilience of {resilience}, flush {flush} and "
        f"{SAID_OF_STRUCTURES[structure]}",
        partial(survey_domain, resilience=number, flush=flush, structure=structure),
        folder=f"explored-domain-{resilience}-{flush}-{structure}",
        config={"flush": flush, "resilience": resilience},
    )
    _explore(seeds, effort, kind, keep=keep, as_json=as_json)


def _explore(
    seeds: range, effort: SearchEffort, kind: WorldKind, *, keep: Path | None = None, as_json: bool
) -> None:
    """Run the worlds of these seeds, tell what was found, and end with status 1 if anything was."""
    reports = _search(seeds, effort, kind, keep)
    if as_json:
        document = {"seeds": f"{seeds[0]}..{seeds[-1]}", "findings": reports}
        print_json(json.dumps(document).encode())
    for report in [] if as_json else reports:
        output.print(f"[bold red]seed {report['seed']}[/]: {report['text']}")
        output.print(f"  replay: {report['replay']}", soft_wrap=True)
    if reports:
        raise typer.Exit(1)
    if not as_json:
        output.print(f"{say_worlds(len(seeds))} of {kind.name}, and every promise was kept")


class _Finding(NamedTuple):
    """A world that failed."""

    seed: int
    said: str
    events: list[Event]


def _search(
    seeds: range, effort: SearchEffort, kind: WorldKind, keep: Path | None
) -> list[dict[str, str | int]]:
    """Tell of the first worlds that fail, by their seeds; each is kept when it is found."""
    size = 1 if effort.jobs == 1 else _CHUNK  # one process stops at the last world that counts
    chunks = [seeds[at : at + size] for at in range(0, len(seeds), size)]
    examine = partial(_examine, survey=kind.examine, failures=effort.failures)
    reports: list[dict[str, str | int]] = []
    with (
        progress_bar("exploring", len(seeds)) as (bar, task),
        answered_by_processes(examine, chunks, effort.jobs) as answers,
    ):
        for chunk, found in zip(chunks, answers, strict=True):
            for finding in found[: effort.failures - len(reports)]:
                text, again = _kept(finding, kind, keep), kind.replay(finding.seed)
                reports.append({"seed": finding.seed, "text": text, "replay": again})
            bar.update(bar.task_ids[task], advance=len(chunk))
            if len(reports) >= effort.failures:
                break
    return reports


def _examine(
    seeds: range, survey: Callable[[int], tuple[str, list[Event]]], failures: int
) -> list[_Finding]:
    findings: list[_Finding] = []
    for seed in seeds:
        said, events = survey(seed)
        if said:
            findings.append(_Finding(seed, said, events))
        if len(findings) >= failures:
            break
    return findings


def _kept(finding: _Finding, kind: WorldKind, keep: Path | None) -> str:
    """Keep the trace of a failing world; return what was found, and how to see it."""
    if keep is None or not kind.folder:
        return finding.said
    path = keep / f"{kind.folder}-{finding.seed}"
    folder = RunFolder.create(
        path, what="explore", seed=finding.seed, overwrite=True, replay=kind.replay(finding.seed),
        config={**kind.config, "found": finding.said},
    )  # fmt: skip
    folder.write(finding.events)
    return f"{finding.said}; its trace: {verify_command(path)}"
