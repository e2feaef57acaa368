"""``antiphon simulate``: a world from a seed, its trace in a run folder."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table

from antiphon.cli.engines import verify_command
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.core.errors import TraceError, UsageError
from antiphon.sim.faulty_domain import (
    check_resilience,
    domain_scenario,
    parse_declared,
    parse_groups,
    play_domain,
)
from antiphon.sim.faulty_group import play
from antiphon.sim.parameters import (
    ORDERS,
    PARAMETERS,
    check_world,
    faults_of,
    options_of,
    replay_command,
    scenario_for,
)
from antiphon.sim.scenario import PROTOCOLS, Scenario, known_names, read_scenario
from antiphon.sim.steady_group import Options, SteadyGroup, process_names
from antiphon.trace.run_folder import RunFolder

if TYPE_CHECKING:
    from antiphon.pipeline.ingest.parquet import ColumnJournal
    from antiphon.trace.journal import Journal

_WHAT = "simulate"


GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME=p1,p2,...",
        help="A group, and who founds it; say it for each group. All are one causality domain.",
    ),
]
ResilienceOption = Annotated[
    str, typer.Option(help="With --group, crashes that lose nothing across groups: 1, 2 or all.")
]
OverlapsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="With --group, two groups that may overlap; say it for each pair, or for none.",
    ),
]
ExcludedOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A", help="With --overlaps, a group that no circle leads through: epochs do."
    ),
]
ScenarioOption = Annotated[
    Path | None,
    typer.Option(help="Live through this scenario (docs/exploration.md) instead."),
]


def simulate(
    processes: Annotated[int, typer.Option(help="How many processes.")] = 5,
    messages: Annotated[int, typer.Option(help="Messages multicast in all.")] = 2_000,
    seed: Annotated[int, typer.Option(help="The world: same seed, same trace, byte for byte.")] = 1,
    out: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("runs/simulated"),
    group: GroupOption = None,
    resilience: ResilienceOption = "1",
    overlaps: OverlapsOption = None,
    excluded: ExcludedOption = None,
    scenario: ScenarioOption = None,
    order: Annotated[
        str, typer.Option(help="Order of delivery: causal, fifo or total.")
    ] = "causal",
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Deliver only what all will deliver.")
    ] = False,
    delay_us: Annotated[
        int, typer.Option(help="Mean of the exponential delay of a copy, above --delay-us-min.")
    ] = 1_000,
    delay_us_min: Annotated[int, typer.Option(help="Shortest delay of a copy.")] = 50,
    interval_us: Annotated[
        int, typer.Option(help="Mean time between the bursts a process starts by itself.")
    ] = 2_000,
    answers: Annotated[
        float, typer.Option(help="Mean number of answers a burst gets, from 0 to 1.")
    ] = 0.7,
    burst: Annotated[int, typer.Option(help="Longest burst of messages.")] = 4,
    payload_bytes: Annotated[int, typer.Option(help="Size of a message.")] = 32,
    crashes: Annotated[int, typer.Option(min=0, help="Processes that crash; a minority.")] = 0,
    pauses: Annotated[int, typer.Option(min=0, help="Times that a process hangs.")] = 0,
    partitions: Annotated[int, typer.Option(min=0, help="Times that a minority is cut off.")] = 0,
    protocol: Annotated[
        str, typer.Option(help=f"How messages travel: {', '.join(PROTOCOLS)}.")
    ] = "vector",
    loss: Annotated[
        float, typer.Option(help="With blocks, how many datagrams are lost, from 0 to below 1.")
    ] = 0.0,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="Write Parquet instead of JSON lines: smaller, and judged sooner."
        ),
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace a run folder of another kind.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate a group of processes that multicast, react and answer; journal what happens.

    The processes run the same machine as on a real network, whole. None of them fails, unless
    --crashes, --pauses or --partitions say so; `antiphon explore` looks for the worst moments.
    With --group there are several groups, in which processes multicast and answer by turns:
    --group A=p1,p2,p3 --group B=p2,p3,p4; --overlaps A,B declares those that may overlap. Judge the
    trace with `antiphon verify`. What was simulated before is replaced: it can be replayed.
    """
    config: dict[str, Any] = {
        "processes": processes, "messages": messages, "order": order, "uniform": uniform,
        "delay_us": delay_us, "delay_us_min": delay_us_min, "interval_us": interval_us,
        "answers": answers, "burst": burst, "payload_bytes": payload_bytes, "crashes": crashes,
        "pauses": pauses, "partitions": partitions,
    }  # fmt: skip
    if protocol != "vector" or loss:
        config |= {"protocol": protocol, "loss": loss}
    of_groups = _Groups(group or [], resilience, overlaps or [], excluded or [])
    world = _world_of(seed, config, of_groups, scenario)
    if parquet:
        from antiphon.pipeline.tables.packages import require_tables

        require_tables()
        world.config["parquet"] = True
    _tell(_run(world, out, force=force), out, messages, as_json=as_json)


class _World(NamedTuple):
    """What is to be simulated."""

    seed: int
    config: dict[str, Any]
    scenario: Scenario | None
    """What is done to it, if it is no steady group."""
    process_count: int


class _Groups(NamedTuple):
    """Several groups, as they are said."""

    group: list[str]
    resilience: str
    overlaps: list[str]
    excluded: list[str]


def _world_of(seed: int, config: dict[str, Any], said: _Groups, file: Path | None) -> _World:
    """Return the world that is asked for; complain of one that cannot be."""
    if config["order"] not in ORDERS:
        message = f"order {config['order']!r} cannot be simulated: choose causal, fifo or total"
        raise UsageError(message)
    if file is not None:
        if said.group or said.overlaps or said.excluded:
            message = (
                "--scenario says which groups there are: leave --group and what goes with it out"
            )
            raise UsageError(message)
        told = read_scenario(file)
        return _World(told.seed, {"scenario": str(file)}, told, len(known_names(told)))
    if said.group:
        return _of_groups(seed, config, said)
    for name, value in said._asdict().items():
        if value and value != "1":
            message = f"--{name} is of several groups: say them, each with --group"
            raise UsageError(message)
    check_world(seed, config)
    return _World(seed, config, scenario_for(seed, config), config["processes"])


def _of_groups(seed: int, config: dict[str, Any], said: _Groups) -> _World:
    """Return a world of several groups; it is said again by them, not by a number of processes."""
    for name in ("processes", "payload_bytes", "protocol", "loss"):
        if config.get(name, PARAMETERS[name].default) != PARAMETERS[name].default:
            message = f"--{name.replace('_', '-')} does not go with --group: leave one of them out"
            raise UsageError(message)
    options, faults = options_of(seed, config), faults_of(config)
    check_resilience(said.resilience)
    declared = parse_declared(said.overlaps, said.excluded)
    groups = parse_groups(said.group)
    told = domain_scenario(options, faults, groups, said.resilience, declared)
    kept = {name: config[name] for name in config if name not in {"processes", "payload_bytes"}}
    again = {**{name: value for name, value in said._asdict().items() if value}, **kept}
    return _World(seed, again, told, len(known_names(told)))


def _tell(summary: dict[str, int | str], out: Path, messages: int, *, as_json: bool) -> None:
    """Print what became of it."""
    if as_json:
        print_json(json.dumps(summary).encode())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in summary.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        table.add_row(name.replace("_", " "), shown)
    output.print(table)
    output.print(f"next: {verify_command(out, messages)}", soft_wrap=True, markup=False)


def _run(world: _World, out: Path, *, force: bool) -> dict[str, int | str]:
    config, replay = world.config, replay_command(world.seed, world.config, out)
    folder = RunFolder.create(
        out,
        what=_WHAT,
        seed=world.seed,
        config=config,
        replay=replay,
        overwrite=force or _was_simulated(out),
    )
    begin_s = time.perf_counter()
    if world.scenario is None:
        done = _steady(options_of(world.seed, config), config, folder)
    else:
        done = _played(world.scenario, config, folder)
    took_s = time.perf_counter() - begin_s
    return {
        "run": str(out),
        "seed": world.seed,
        "processes": world.process_count,
        "messages": done.message_count,
        "copies": done.copy_count,
        "simulated_us": done.time_us,
        "events": done.event_count,
        "held_runs_max": done.held_runs_max,
        "events_per_second": int(done.event_count / took_s),
        "replay": replay,
    }


class _Summary(NamedTuple):
    """What became of a world."""

    message_count: int
    copy_count: int
    time_us: int
    event_count: int
    held_runs_max: int


def _steady(options: Options, config: dict[str, Any], folder: RunFolder) -> _Summary:
    """Simulate a group in which nobody fails; rows are journalled as they come."""
    names = process_names(options.process_count)
    with ExitStack() as stack:
        journals = _journals(stack, folder, names, config)
        group = SteadyGroup(options, {name: journals[name].append for name in names})
        total = options.workload.message_count
        with progress_bar("simulating", total) as (bar, task):
            for message_count in group.run():
                bar.update(bar.task_ids[task], completed=message_count)
    return _Summary(
        group.message_count, group.copy_count, group.scheduler.now_us,
        sum(journal.row_count for journal in journals.values()), group.held_runs_max,
    )  # fmt: skip


def _played(scenario: Scenario, config: dict[str, Any], folder: RunFolder) -> _Summary:
    """Simulate a world in which something is done to processes; rows are journalled in the end."""
    with progress_bar("simulating"):
        world = play_domain(scenario) if scenario.groups else play(scenario)
    names = list(dict.fromkeys(event.record for event in world.events))
    with ExitStack() as stack:
        journals = _journals(stack, folder, names, config)
        for event in world.events:
            journals[event.record].append(event)
    if world.stuck:
        message = f"the world did not come to rest ({world.stuck}): this is a bug, report the seed"
        raise TraceError(message)
    return _Summary(
        world.message_count, world.copy_count, world.time_us, len(world.events),
        world.held_runs_max,
    )  # fmt: skip


def _journals(
    stack: ExitStack, folder: RunFolder, names: list[str], config: dict[str, Any]
) -> "dict[str, Journal | ColumnJournal]":
    journals = {name: _journal(folder, name, is_parquet="parquet" in config) for name in names}
    for journal in journals.values():
        stack.enter_context(journal)
    return journals


def _journal(folder: RunFolder, name: str, *, is_parquet: bool) -> "Journal | ColumnJournal":
    if not is_parquet:
        return folder.journal(name)
    from antiphon.pipeline.ingest.parquet import ColumnJournal

    return ColumnJournal(folder.events_path, name)


def _was_simulated(out: Path) -> bool:
    try:
        return RunFolder.open(out).record.what == _WHAT
    except TraceError:  # whatever is there, it is not a simulated run
        return False
