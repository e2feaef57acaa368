"""``antiphon explore``: random worlds with faults, each judged by the oracle."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.driver_search import explore_drivers
from antiphon.cli.engines import verify_command
from antiphon.cli.group_search import (
    DomainWorlds,
    SearchEffort,
    explore_blocks,
    explore_domains,
    explore_groups,
)
from antiphon.cli.pairs_screen import print_pairs
from antiphon.cli.screen import output, print_json, progress_bar, say_worlds
from antiphon.cli.search import SeedSearch
from antiphon.core.errors import UsageError
from antiphon.sim.coverage import Pair, kinds_of, pair_named, pairs_of
from antiphon.sim.exploration import Finding, survey
from antiphon.sim.other_protocols import KINDS
from antiphon.sim.scenario import Scenario, read_scenario
from antiphon.sim.shrinking import shrink
from antiphon.stack.settings import FLUSHES
from antiphon.trace.run_folder import RunFolder

_SEEDS_MAX = 10_000_000
_AIM_SEEDS_MIN = 1_000
_AIMED_MAX = 25
"""Worlds aimed at one pair, at most."""


def explore(
    seeds: Annotated[
        str, typer.Option(help="Which worlds: FIRST..LAST, both included.")
    ] = "0..999",
    flush: Annotated[str, typer.Option(help=f"One of {', '.join(FLUSHES)}.")] = "view-atomic",
    aim: Annotated[
        str, typer.Option(help="Aim all worlds at a pair of events, as in leave+crash.")
    ] = "",
    jobs: Annotated[int, typer.Option(help="Processes to explore with; 0: one per core.")] = 0,
    failures: Annotated[int, typer.Option(help="Stop after so many failing worlds.")] = 3,
    keep: Annotated[Path, typer.Option(help="Where failing worlds are kept.")] = Path("runs"),
    drivers: Annotated[
        bool, typer.Option("--drivers", help="The real network driver; connections break.")
    ] = False,
    groups: Annotated[bool, typer.Option("--groups", help="Several groups each.")] = False,
    domains: Annotated[bool, typer.Option("--domains", help="Causal across groups.")] = False,
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Causal blocks, on channels that lose datagrams.")
    ] = False,
    protocol: Annotated[str, typer.Option(help="vector, overlay or blocks.")] = "vector",
    resilience: Annotated[str, typer.Option(help="--domains: 1, 2 or all crashes.")] = "1",
    structure: Annotated[str, typer.Option(help="--domains: none, declared, excluded.")] = "none",
    replay: Annotated[
        Path | None, typer.Option(help="Run this scenario instead of random ones.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Live through random worlds: crashes, pauses, partitions, joins, leaves, slow messages.

    Half of the worlds are near and quick. The others are wide: distances up to a second, unequal
    by pair and direction, with the timing of real groups or a quick one; links that are down one
    way or both; processes that are busy in slices; clocks that run apart; several excluded who come
    back together; applications that multicast at awkward moments. Messages in all orders, letters
    and, with the view-atomic flush, uniform messages and transactions are mixed in.

    A world fails if a judge finds a broken promise, if it does not come to rest, or go on, in time,
    or if a protocol raises an error. It is shrunk (not so with most options below), kept with its
    trace, and replayed by one command. A table tells which pairs of events met in a view change;
    after 1,000 worlds, some are added that aim at the pairs never reached.

    With --drivers, what runs is the network driver itself, on virtual time and a network in memory:
    connections are cut, stall, are half open or refused, processes are paused, killed and started
    again, applications read slowly. In every third world processes are in several groups.
    With --groups, processes are in several groups at once, which overlap: each group is judged by
    itself, and a process that fails is out of all of them. With --domains, such groups are one
    causality domain (which may declare its --structure), and causal order across them is judged.
    With --protocol overlay, messages flood overlays of all topologies, of up to nine members.
    With --blocks, a group orders by causal blocks on channels that lose, repeat and reorder
    datagrams; processes crash at bad moments, messages expire, buffers are full.
    """
    _check(flush, protocol, jobs, failures)
    is_single = [bool(aim), replay is not None, protocol != "vector"]
    _check_alone([groups, domains, drivers, blocks], is_single)
    workers = jobs or os.cpu_count() or 1
    effort = SearchEffort(workers, failures)
    if blocks:
        explore_blocks(_parse_seeds(seeds), effort, keep=keep, as_json=as_json)
    elif groups:
        explore_groups(_parse_seeds(seeds), effort, as_json=as_json)
    elif domains:
        worlds = DomainWorlds(_parse_seeds(seeds), resilience, flush, structure)
        explore_domains(worlds, effort, keep=keep, as_json=as_json)
    elif drivers:
        explore_drivers(_parse_seeds(seeds), flush, workers, failures, keep=keep, as_json=as_json)
    elif replay is not None:
        _replay(replay, keep, as_json=as_json)
    else:
        search = SeedSearch(flush, workers, failures, protocol)
        _explore(search, seeds, aim, keep=keep, as_json=as_json)


def _check_alone(kinds: list[bool], others: list[bool]) -> None:
    if any(kinds) and sum(kinds + others) > 1:
        message = (
            "--groups, --domains, --blocks and --drivers go with --seeds, not with each other, "
            "nor with --aim, --protocol or --replay"
        )
        raise UsageError(message)


def _explore(search: SeedSearch, seeds: str, aim: str, *, keep: Path, as_json: bool) -> None:
    """Live through the worlds of one group each."""
    flush = search.flush
    chosen = _parse_seeds(seeds)
    search.run(chosen, _parse_aim(aim, flush))
    if not aim and len(chosen) >= _AIM_SEEDS_MIN:
        _aim_at_the_rest(search, chosen)
    reports = [
        _report(finding, search.protocol, keep, is_quiet=as_json) for finding in search.findings
    ]
    what = f"flush {flush}" if search.protocol == "vector" else f"protocol {search.protocol}"
    if as_json:
        pairs = {"+".join(pair): search.reached[pair] for pair in pairs_of(flush)}
        print_json(
            json.dumps(
                {"seeds": seeds, "flush": flush, "findings": reports, "pairs": pairs}
            ).encode()
        )
    else:
        if not reports:
            output.print(
                f"{say_worlds(search.world_count)} with {what}, and every promise was kept"
            )
        print_pairs(flush, search.reached)
    if reports:
        raise typer.Exit(1)


def _check(flush: str, protocol: str, jobs: int, failures: int) -> None:
    if protocol not in KINDS:
        message = f"there is no protocol {protocol!r}: choose one of {', '.join(KINDS)}"
        raise UsageError(message)
    if protocol != "vector" and flush != "view-atomic":
        message = f"--protocol {protocol} goes with the view-atomic flush, not {flush}"
        raise UsageError(message)
    if flush not in FLUSHES:
        message = f"there is no flush {flush!r}: choose one of {', '.join(FLUSHES)}"
        raise UsageError(message)
    if jobs < 0 or failures < 1:
        message = "--jobs cannot be negative, and --failures is at least 1"
        raise UsageError(message)


def _aim_at_the_rest(search: SeedSearch, seeds: range) -> None:
    """Add worlds aimed at the pairs that were never reached, up to a tenth of what was run."""
    never = [pair for pair in pairs_of(search.flush) if not search.reached[pair]]
    count = min(_AIMED_MAX, len(seeds) // 10 // len(never)) if never else 0
    for pair in never:
        if count and not search.is_over:
            search.run(seeds[:count], pair)


def _parse_aim(text: str, flush: str) -> Pair | None:
    pair = pair_named(text) if text else None
    if text and pair not in pairs_of(flush):
        kinds = ", ".join(kinds_of(flush))
        message = f"--aim {text!r} is no pair of events: write A+B, each one of {kinds}"
        raise UsageError(message)
    return pair


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


def _report(finding: Finding, protocol: str, keep: Path, *, is_quiet: bool) -> dict[str, str | int]:
    """Shrink and keep a failing world; say how to see it again."""
    scenario = finding.scenario
    name = f"explored-{_kind_of(scenario)}-{scenario.seed}"
    aimed = ""
    if finding.aim:
        name, aimed = f"{name}-{finding.aim}", f" --aim {finding.aim}"
    with progress_bar(f"shrinking seed {scenario.seed}") as (bar, task):
        small = shrink(
            finding,
            lambda size: bar.update(
                bar.task_ids[task], description=f"shrinking seed {scenario.seed}: {size} steps"
            ),
        )
    folder = _keep(small, keep / name)
    again = (
        f"antiphon explore --seeds {scenario.seed}..{scenario.seed} --flush {scenario.flush}{aimed}"
        + (f" --protocol {protocol}" if protocol != "vector" else "")
    )
    shrunk = f"antiphon explore --replay {shlex.quote(str(folder / 'scenario.txt'))}"
    if not is_quiet:
        output.print(f"[bold red]seed {scenario.seed}: {finding.what}[/]: {finding.text}")
        output.print(f"  replay: {again}", soft_wrap=True)
        output.print(
            f"  shrunk from {len(scenario.steps)} to {len(small.scenario.steps)} steps: {shrunk}",
            soft_wrap=True,
        )
    return {
        "seed": scenario.seed, "what": finding.what, "text": finding.text,
        "replay": again, "shrunk": shrunk, "steps": len(small.scenario.steps),
    }  # fmt: skip


def _kind_of(scenario: Scenario) -> str:
    return scenario.flush if scenario.protocol == "vector" else scenario.protocol


def _keep(finding: Finding, path: Path) -> Path:
    """Write a run folder with the scenario and the trace."""
    folder = RunFolder.create(
        path, what="explore", seed=finding.scenario.seed,
        config={"flush": finding.scenario.flush, "found": finding.what},
        replay=f"antiphon explore --replay {shlex.quote(str(path / 'scenario.txt'))}",
        overwrite=True,
    )  # fmt: skip
    (path / "scenario.txt").write_text(str(finding.scenario), encoding="utf-8")
    folder.write(finding.events)
    return path


def _replay(path: Path, keep: Path, *, as_json: bool) -> None:
    scenario = read_scenario(path)
    finding, events, _ = survey(scenario)
    folder = keep / f"explored-{_kind_of(scenario)}-{scenario.seed}"
    _keep(finding or Finding(scenario, "nothing", "", events), folder)
    if as_json:
        found = {"what": finding.what, "text": finding.text} if finding else None
        print_json(json.dumps({"scenario": str(path), "finding": found}).encode())
    elif finding is None:
        output.print(f"{path}: every promise was kept")
    else:
        output.print(f"[bold red]{path}: {finding.what}[/]: {finding.text}")
    if not as_json:
        output.print(f"  its trace: {verify_command(folder)}", soft_wrap=True, markup=False)
    if finding is not None:
        raise typer.Exit(1)
