"""``antiphon explore --groups``: processes in several groups each, in random worlds."""

import json

import typer

from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.sim.random_groups import examine_groups


def explore_groups(seeds: range, failures: int, *, as_json: bool) -> None:
    """Run the worlds of these seeds, tell what was found, and end with status 1 if anything was."""
    reports: list[dict[str, object]] = []
    with progress_bar("exploring", len(seeds)) as (bar, task):
        for seed in seeds:
            text = examine_groups(seed)
            bar.update(bar.task_ids[task], advance=1)
            if text:
                again = f"antiphon explore --groups --seeds {seed}..{seed}"
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
        output.print(f"{say_worlds(len(seeds))} of several groups, and every promise was kept")
