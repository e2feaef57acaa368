"""``antiphon explore --groups`` and ``--domains``: random worlds of several groups."""

import json
from collections.abc import Callable

import typer

from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.core.errors import UsageError
from antiphon.sim.random_domains import examine_domain
from antiphon.sim.random_groups import examine_groups
from antiphon.stack.domain import ALL

RESILIENCES = {"1": 1, "2": 2, "all": ALL}
"""As they are said on the command line."""


def explore_groups(seeds: range, failures: int, *, as_json: bool) -> None:
    """Run worlds of groups that are independent of each other."""
    _explore(seeds, failures, examine_groups, "--groups", "several groups", as_json=as_json)


def explore_domains(
    seeds: range, failures: int, resilience: str, flush: str, *, as_json: bool
) -> None:
    """Run worlds of groups that are one causality domain."""
    if resilience not in RESILIENCES:
        message = f"there is no --resilience {resilience}: choose one of {', '.join(RESILIENCES)}"
        raise UsageError(message)
    number = RESILIENCES[resilience]
    kind = f"--domains --resilience {resilience} --flush {flush}"
    what = f"one domain, with a resilience of {resilience} and flush {flush}"
    _explore(
        seeds, failures, lambda seed: examine_domain(seed, number, flush), kind, what,
        as_json=as_json,
    )  # fmt: skip


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
