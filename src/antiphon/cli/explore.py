"""``antiphon explore``: random worlds with faults, each judged by the oracle."""

import json
import os
import shlex
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.screen import output, progress_bar
from antiphon.core.errors import UsageError
from antiphon.sim.exploration import Finding, examine, live
from antiphon.sim.random_scenario import random_scenario
from antiphon.sim.scenario import parse_scenario
from antiphon.sim.shrinking import shrink
from antiphon.stack.settings import FLUSHES
from antiphon.trace.run_folder import RunFolder

_CHUNK = 50
_SEEDS_MAX = 10_000_000


def explore(
    seeds: Annotated[
        str, typer.Option(help="Which worlds: FIRST..LAST, both included.")
    ] = "0..999",
    flush: Annotated[str, typer.Option(help=f"One of {', '.join(FLUSHES)}.")] = "view-atomic",
    jobs: Annotated[int, typer.Option(help="Processes to explore with; 0: one per core.")] = 0,
    failures: Annotated[int, typer.Option(help="Stop after so many failing worlds.")] = 3,
    keep: Annotated[Path, typer.Option(help="Where failing worlds are kept.")] = Path("runs"),
    replay: Annotated[
        Path | None, typer.Option(help="Run this scenario instead of random ones.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Live through random worlds: crashes, pauses, partitions, joins, leaves, slow messages.

    Messages in all orders, letters and, with the view-atomic flush, uniform messages and
    transactions are mixed in.

    A world fails if the oracle, or the check of letters or answers, finds a broken promise, if it
    does not come to rest, or if a protocol raises an error. It is shrunk to a small scenario, kept
    with its trace, and the command that replays it is printed.
    """
    if flush not in FLUSHES:
        message = f"there is no flush {flush!r}: choose one of {', '.join(FLUSHES)}"
        raise UsageError(message)
    if jobs < 0 or failures < 1:
        message = "--jobs cannot be negative, and --failures is at least 1"
        raise UsageError(message)
    if replay is not None:
        _replay(replay, keep, as_json=as_json)
        return
    chosen = _parse_seeds(seeds)
    findings = _explore(chosen, flush, jobs or os.cpu_count() or 1, failures)
    reports = [_report(finding, keep, is_quiet=as_json) for finding in findings]
    if as_json:
        typer.echo(json.dumps({"seeds": seeds, "flush": flush, "findings": reports}))
    elif not reports:
        output.print(f"{len(chosen):,} worlds with flush {flush}, and every promise was kept")
    if reports:
        raise typer.Exit(1)


def _parse_seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    if not first.isdecimal() or (dots and not last.isdecimal()):
        message = f"seeds {text!r} cannot be read: write FIRST..LAST, as in 0..999"
        raise UsageError(message)
    seeds = range(int(first), int(last or first) + 1)
    if not 0 < len(seeds) <= _SEEDS_MAX:
        message = f"seeds {text!r} are none, or more than {_SEEDS_MAX:,}: write FIRST..LAST"
        raise UsageError(message)
    return seeds


def _explore(seeds: range, flush: str, jobs: int, failures: int) -> list[Finding]:
    findings: list[Finding] = []
    with progress_bar("exploring", len(seeds)) as (bar, task):
        for done, found in _examined(seeds, flush, jobs):
            findings += found
            bar.update(bar.task_ids[task], advance=done)
            if len(findings) >= failures:
                break
    return findings[:failures]


def _examined(seeds: range, flush: str, jobs: int) -> Iterator[tuple[int, list[Finding]]]:
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    if jobs == 1 or len(chunks) == 1:
        for chunk in chunks:
            yield len(chunk), _examine_chunk(chunk, flush)
        return
    with ProcessPoolExecutor(jobs) as pool:
        try:
            for chunk, found in zip(
                chunks, pool.map(_examine_chunk, chunks, [flush] * len(chunks)), strict=True
            ):
                yield len(chunk), found
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _examine_chunk(seeds: range, flush: str) -> list[Finding]:
    found = [examine(random_scenario(seed, flush)) for seed in seeds]
    return [finding for finding in found if finding is not None]


def _report(finding: Finding, keep: Path, *, is_quiet: bool) -> dict[str, str | int]:
    """Shrink and keep a failing world; say how to see it again."""
    scenario = finding.scenario
    name = f"explored-{scenario.flush}-{scenario.seed}"
    with progress_bar(f"shrinking seed {scenario.seed}") as (bar, task):
        small = shrink(
            finding,
            lambda size: bar.update(
                bar.task_ids[task], description=f"shrinking seed {scenario.seed}: {size} steps"
            ),
        )
    folder = _keep(small, keep / name)
    again = f"antiphon explore --seeds {scenario.seed}..{scenario.seed} --flush {scenario.flush}"
    shrunk = f"antiphon explore --replay {shlex.quote(str(folder / 'scenario.txt'))}"
    if not is_quiet:
        output.print(f"[bold red]seed {scenario.seed}: {finding.what}[/]: {finding.text}")
        output.print(f"  replay: {again}")
        output.print(
            f"  shrunk from {len(scenario.steps)} to {len(small.scenario.steps)} steps: {shrunk}"
        )
    return {
        "seed": scenario.seed, "what": finding.what, "text": finding.text,
        "replay": again, "shrunk": shrunk, "steps": len(small.scenario.steps),
    }  # fmt: skip


def _keep(finding: Finding, path: Path) -> Path:
    """Write a run folder with the scenario and the trace."""
    folder = RunFolder.create(
        path, what="explore", seed=finding.scenario.seed,
        config={"flush": finding.scenario.flush, "found": finding.what},
        replay=f"antiphon explore --replay {shlex.quote(str(path / 'scenario.txt'))}",
        overwrite=True,
    )  # fmt: skip
    (path / "scenario.txt").write_text(str(finding.scenario))
    names = list(dict.fromkeys(event.process for event in finding.events))
    for name in names:
        with folder.journal(name) as journal:
            for event in finding.events:
                if event.process == name:
                    journal.append(event)
    return path


def _replay(path: Path, keep: Path, *, as_json: bool) -> None:
    try:
        scenario = parse_scenario(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        message = f"scenario {path} cannot be read ({why}): give a text file that exists"
        raise UsageError(message) from None
    finding, events = live(scenario)
    folder = keep / f"explored-{scenario.flush}-{scenario.seed}"
    _keep(finding or Finding(scenario, "nothing", "", events), folder)
    if as_json:
        found = {"what": finding.what, "text": finding.text} if finding else None
        typer.echo(json.dumps({"scenario": str(path), "finding": found}))
    elif finding is None:
        output.print(f"{path}: every promise was kept")
    else:
        output.print(f"[bold red]{path}: {finding.what}[/]: {finding.text}")
    if not as_json:
        output.print(f"  its trace: antiphon verify {shlex.quote(str(folder))}")
    if finding is not None:
        raise typer.Exit(1)
