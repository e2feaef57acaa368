"""``antiphon explore --drivers``: the real network driver in random worlds, on several cores."""

import json
import logging
import shlex
from functools import partial
from pathlib import Path

import msgspec
import typer

from antiphon.cli.engines import verify_command
from antiphon.cli.pool import answered_by_processes
from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.testing.driver_exploration import (
    DriverFinding,
    by_group,
    examine_driver,
    scenario_of,
)
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.schema import Event

_CHUNK = 10


def explore_drivers(
    seeds: range, flush: str, jobs: int, failures: int, *, keep: Path, as_json: bool
) -> None:
    """Run the worlds of these seeds, tell what was found, and end with status 1 if anything was."""
    findings = _search(seeds, flush, jobs, failures)
    reports = [_report(finding, keep, is_quiet=as_json) for finding in findings]
    if as_json:
        document = {"seeds": f"{seeds[0]}..{seeds[-1]}", "flush": flush, "findings": reports}
        print_json(json.dumps(document).encode())
    elif not reports:
        output.print(
            f"{say_worlds(len(seeds))} of the network driver with flush {flush}, "
            "and every promise was kept"
        )
    if reports:
        raise typer.Exit(1)


def _search(seeds: range, flush: str, jobs: int, failures: int) -> list[DriverFinding]:
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    findings: list[DriverFinding] = []
    with (
        progress_bar("exploring", len(seeds)) as (bar, task),
        answered_by_processes(partial(_examine, flush=flush), chunks, jobs) as answers,
    ):
        for chunk, found in zip(chunks, answers, strict=True):
            findings += found
            bar.update(bar.task_ids[task], advance=len(chunk))
            if len(findings) >= failures:
                break
    return findings[:failures]


def _examine(seeds: range, flush: str) -> list[DriverFinding]:
    # The driver logs what befalls it, which is what these worlds are for.
    logging.getLogger("antiphon").setLevel(logging.CRITICAL)
    found = [examine_driver(scenario_of(seed, flush))[0] for seed in seeds]
    return [finding for finding in found if finding is not None]


def _report(finding: DriverFinding, keep: Path, *, is_quiet: bool) -> dict[str, object]:
    """Keep a failing world with its trace; tell how to see it again."""
    again = f"antiphon explore --drivers --seeds {finding.seed} --flush {finding.flush}"
    path = keep / f"driver-{finding.flush}-{finding.seed}"
    for group, events in by_group(finding.events).items():
        _keep(path / group, group, finding, events, again)
    scenario = scenario_of(finding.seed, finding.flush)
    (path / "scenario.txt").write_text(f"{scenario}\n", encoding="utf-8")
    if not is_quiet:
        output.print(f"[bold red]seed {finding.seed}: {finding.what}[/]: {finding.text}")
        output.print(f"  replay: {again}", soft_wrap=True)
        output.print(f"  its scenario: {shlex.quote(str(path / 'scenario.txt'))}", soft_wrap=True)
        for group in by_group(finding.events):
            said = f"  its trace: {verify_command(path / group)}"
            output.print(said, soft_wrap=True, markup=False)
    return {
        "seed": finding.seed, "what": finding.what, "text": finding.text,
        "replay": again, "kept": str(path),
    }  # fmt: skip


def _keep(path: Path, group: str, finding: DriverFinding, events: list[Event], again: str) -> None:
    """Keep the trace of a group, or of the only one, as a run folder."""
    folder = RunFolder.create(
        path, what="explore", seed=finding.seed, replay=again, overwrite=True,
        config={"flush": finding.flush, "found": finding.what, "group": group},
    )  # fmt: skip
    for name in dict.fromkeys(event.record for event in events):
        with folder.journal(name) as journal:
            for event in events:
                if event.record == name:
                    journal.append(msgspec.structs.replace(event, run=""))
