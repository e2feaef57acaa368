"""``antiphon verify``: was every promise kept? From who did what, and nothing else."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.cli.engines import Engine, judge, judge_addresses
from antiphon.cli.follow_options import (
    CheckpointOption,
    EveryOption,
    FollowChoices,
    FollowOption,
    ForOption,
    FreshOption,
    followed_run,
)
from antiphon.cli.log_options import ColumnsOption, RegexOption
from antiphon.cli.places import ConfOption, CoresOption, MasterOption, cluster_of
from antiphon.cli.screen import at_least_told, output, print_json, verdict_screen
from antiphon.cli.terms import (
    BeginsLate,
    Domains,
    EndsEarly,
    Only,
    Subscriptions,
    names_clocks,
    only_clocks,
    read_terms,
    require_messages_for,
)
from antiphon.core.errors import UsageError
from antiphon.logs.clocks.judging import judge_clocks
from antiphon.logs.clocks.parsing import holds_clocks
from antiphon.logs.ids import asks_for_numbers
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.trace.log import Log, is_address, local_path
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Property, Status, Verdict

LogArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...",
        help="A run folder, or files or folders of newline-delimited JSON, CSV (also .gz) or "
        "Parquet; - is standard input. Several are judged as one log. Addresses, such as "
        "s3a://bucket/run, are read by Spark.",
    ),
]
EngineOption = Annotated[
    Engine,
    typer.Option(
        help="oracle: plain Python, small traces at once. local: vectorised, in this process; "
        "about 10 million rows in 2 GB of memory. spark: any size, but slow to start. "
        "auto: by the size of the trace, and by what is installed. All say the same."
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document; with --follow, a line per update."),
]


def verify(
    logs: LogArgument,
    engine: EngineOption = Engine.AUTO,
    cores: CoresOption = None,
    columns: ColumnsOption = None,
    regex: RegexOption = None,
    only: Only = "",
    begins_late: BeginsLate = "",
    ends_early: EndsEarly = "",
    subscriptions: Subscriptions = None,
    domains: Domains = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
    is_followed: FollowOption = False,
    for_s: ForOption = None,
    every_s: EveryOption = None,
    checkpoint: CheckpointOption = None,
    fresh: FreshOption = False,
) -> None:
    """Check a trace: fifo, causal and total order, uniform delivery, agreement, views, commit.

    Also that nothing is made up, repeated or missing. What nobody asked for is unknown.

    The trace may come from Antiphon or from any system that logs its sends and deliveries
    in a simple format, one JSON object per line: {"process": "bob", "kind": "deliver", "sender":
    "alice", "first": 1} says that bob delivered message 1 of alice. Clocks in the trace are not
    trusted: the verdict rests on who sent, delivered and decided what, in which local order. Of a
    log that is a slice, say so: --begins-late all --ends-early all.

    Logs of vector clocks without messages (ShiViz, GoVector) are judged by their clocks: can they
    be those of happened-before?

    A run that is being written: --follow. What is wrong is told within seconds (docs/live.md).

    The format, and what each property means exactly: docs/trace-format.md and docs/properties.md
    where Antiphon's source is; other formats: docs/any-log.md.

    Exit status: 0 nothing is violated (what is unknown is not), 1 something is, 2 the trace cannot
    be read.
    """
    terms = read_terms(
        only="" if names_clocks(only) else only,
        begins_late=begins_late,
        ends_early=ends_early,
        subscriptions=subscriptions,
        domains=domains,
    )
    refused = {"--map": columns, "--regex": regex, "--master": master, "--conf": conf}
    choices = FollowChoices(for_s, every_s, checkpoint, is_fresh=fresh, cores=cores)
    if is_followed:
        run = followed_run(logs, engine, choices, terms, refused)
        from antiphon.cli.follow import follow

        follow(run, choices, terms, as_json=as_json)
    choices.refuse()
    addresses, paths = _sorted_out(logs)
    cluster, mapped = cluster_of(master, conf or []), column_map(columns or [])
    if addresses:
        if names_clocks(only) or regex is not None or asks_for_numbers(Log((), columns=mapped)):
            raise UsageError(_say_unread(addresses[0]))
        verdict = judge_addresses(addresses, engine, cores, terms, cluster, mapped)
    else:
        with opened_log(paths, mapped) as log:
            clocks = _judge_clocks(log, regex, only)
            verdict = clocks or judge(log, engine, cores, terms, cluster)
    _tell(verdict, paths, as_json=as_json)
    raise typer.Exit(1 if verdict.is_violated else 0)


def _say_unread(address: str) -> str:
    return f"{address}: clocks, and ids without numbers, are read here: copy it here"


def _judge_clocks(log: Log, regex: str | None, only: str) -> Verdict | None:
    """Judge a log that holds clocks and no messages; None: it holds messages."""
    if regex is not None or holds_clocks(log):
        return only_clocks(judge_clocks(log, regex), only)
    require_messages_for(log, only)
    return None


def _tell(verdict: Verdict, paths: list[Path], *, as_json: bool) -> None:
    """Print a verdict, and keep it where there is a place for it, whatever becomes of printing."""
    try:
        with at_least_told(verdict):
            if as_json:
                print_json(msgspec.json.format(msgspec.json.encode(verdict)))
            else:
                output.print(verdict_screen(verdict))
                if hint := _hint(verdict, paths):
                    output.print(f"\n{hint}", style="dim", markup=False)
    finally:
        if len(paths) == 1:
            save_verdict(paths[0], verdict)  # last: should there be no room, it has been seen


def _hint(verdict: Verdict, paths: list[Path]) -> str:
    """Say how a slice is judged, where a user's log delivers what it never shows multicast."""
    broken = {item.property for item in verdict.properties if item.status is Status.VIOLATED}
    is_said = verdict.terms.begins_late or verdict.terms.ends_early
    is_run = any((path / "run.json").is_file() for path in paths)
    if Property.NO_CREATION not in broken or is_said or is_run:
        return ""
    return "Is this cut out of a longer log? Then say so: --begins-late all --ends-early all"


def _sorted_out(logs: list[str]) -> tuple[list[str], list[Path]]:
    """Return addresses, or else paths."""
    addresses = [each for each in logs if is_address(each)]
    if addresses and len(addresses) < len(logs):
        message = f"{addresses[0]}: addresses and paths cannot be judged together: copy it here"
        raise UsageError(message)
    return addresses, [] if addresses else [local_path(each) for each in logs]


def save_verdict(path: Path, verdict: Verdict) -> None:
    """Write ``verdict.json`` where the trace is a run folder; say where that is read-only."""
    if (path / "run.json").is_file() and not RunFolder.open(path).save_verdict(verdict):
        typer.echo(f"antiphon: {path}: is read-only: the verdict is not kept there", err=True)
