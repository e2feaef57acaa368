"""``antiphon explore --groups``, ``--domains`` and ``--blocks``: worlds that are not shrunk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import typer

from antiphon.cli.engines import verify_command
from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.core.errors import UsageError
from antiphon.sim.lossy.author import survey_blocks
from antiphon.sim.random_domains import AUTHORS, survey_domain
from antiphon.sim.random_groups import examine_groups
from antiphon.stack.domain import ALL
from antiphon.trace.run_folder import RunFolder

RESILIENCES = {"1": 1, "2": 2, "all": ALL}
"""As they are said on the command line."""

SAID_OF_STRUCTURES = {
    "none": "nothing declared of overlaps",
    "declared": "declared overlaps",
    "excluded": "declared overlaps, some groups excluded",
}


def explore_groups(seeds: range, failures: int, *, as_json: bool) -> None:
    """Run worlds of groups that are independent of each other."""
    _explore(seeds, failures, examine_groups, "--groups", "several groups", as_json=as_json)


def explore_blocks(seeds: range, failures: int, *, keep: Path, as_json: bool) -> None:
    """Run worlds of a group that orders by causal blocks, on channels that lose datagrams."""

    def examine(seed: int) -> str:
        said, events = survey_blocks(seed)
        if said:
            path = keep / f"explored-blocks-{seed}"
            folder = RunFolder.create(
                path, what="explore", seed=seed, overwrite=True, config={"found": said},
                replay=f"antiphon explore --blocks --seeds {seed}..{seed}",
            )  # fmt: skip
            folder.write(events)
            said = f"{said}; its trace: {verify_command(path)}"
        return said

    _explore(seeds, failures, examine, "--blocks", "causal blocks", as_json=as_json)


class DomainWorlds(NamedTuple):
    """Which worlds of one causality domain are explored."""

    seeds: range
    resilience: str
    flush: str
    structure: str


def explore_domains(worlds: DomainWorlds, failures: int, *, keep: Path, as_json: bool) -> None:
    """Run worlds of groups that are one causality domain; the trace of a failing one is kept."""
    seeds, resilience, flush, structure = worlds
    if resilience not in RESILIENCES:
        message = f"there is no --resilience {resilience}: choose one of {', '.join(RESILIENCES)}"
        raise UsageError(message)
    if structure not in AUTHORS:
        message = f"there is no --structure {structure}: choose one of {', '.join(AUTHORS)}"
        raise UsageError(message)
    number = RESILIENCES[resilience]
    kind = f"--domains --resilience {resilience} --flush {flush} --structure {structure}"
    what = (
        f"one domain, with a resilience of {resilience}, flush {flush} and "
        f"{SAID_OF_STRUCTURES[structure]}"
    )

    def examine(seed: int) -> str:
        said, events = survey_domain(seed, number, flush, structure)
        if said:
            again = f"antiphon explore {kind} --seeds {seed}..{seed}"
            path = keep / f"explored-domain-{resilience}-{flush}-{structure}-{seed}"
            folder = RunFolder.create(
                path, what="explore", seed=seed, overwrite=True, replay=again,
                config={"flush": flush, "resilience": resilience, "found": said},
            )  # fmt: skip
            folder.write(events)
            said = f"{said}; its trace: {verify_command(path)}"
        return said

    _explore(seeds, failures, examine, kind, what, as_json=as_json)


def _explore(
    seeds: range,
    failures: int,
    examine: Callable[[int], str],
    kind: str,
    what: str,
    *,
    as_json: bool,
) -> None:
    """Run the worlds of these seeds, tell what was found, and end with status 1 if anything was."""
    reports: list[dict[str, object]] = []
    with progress_bar("exploring", len(seeds)) as (bar, task):
        for seed in seeds:
            text = examine(seed)
            bar.update(bar.task_ids[task], advance=1)
            if text:
                again = f"antiphon explore {kind} --seeds {seed}..{seed}"
                reports.append({"seed": seed, "text": text, "replay": again})
            if len(reports) >= failures:
                break
    if as_json:
        document = {"seeds": f"{seeds[0]}..{seeds[-1]}", "findings": reports}
        print_json(json.dumps(document).encode())
    for report in [] if as_json else reports:
        output.print(f"[bold red]seed {report['seed']}[/]: {report['text']}")
        output.print(f"  replay: {report['replay']}", soft_wrap=True)
    if reports:
        raise typer.Exit(1)
    if not as_json:
        output.print(f"{say_worlds(len(seeds))} of {what}, and every promise was kept")
