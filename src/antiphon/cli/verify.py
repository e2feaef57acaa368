"""``antiphon verify``: was every promise kept? From who did what, and nothing else."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.cli.engines import Engine, SparkPlace, judge
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
from antiphon.cli.screen import output, print_json, verdict_screen
from antiphon.cli.terms import BeginsLate, EndsEarly, Only, Subscriptions, read_terms
from antiphon.core.errors import UsageError
from antiphon.logs.clocks.judging import judge_clocks
from antiphon.logs.clocks.parsing import holds_clocks
from antiphon.logs.mapping import column_map
from antiphon.logs.opening import opened_log
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict

LogArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG...",
        help="A run folder, or files or folders of newline-delimited JSON, CSV (also .gz) or "
        "Parquet; - is standard input. Several are judged as one log.",
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
MasterOption = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: spark://host:port, yarn, k8s://...; here if left out."),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document; with --follow, a line per update."),
]
ConfOption = Annotated[
    list[str] | None, typer.Option(help="A setting of Spark's, name=value; may be repeated.")
]


def verify(
    paths: LogArgument,
    engine: EngineOption = Engine.AUTO,
    cores: Annotated[
        int | None, typer.Option(help="Cores to use; all of this machine's if left out.")
    ] = None,
    columns: ColumnsOption = None,
    regex: RegexOption = None,
    only: Only = "",
    begins_late: BeginsLate = "",
    ends_early: EndsEarly = "",
    subscriptions: Subscriptions = None,
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
        only=only,
        begins_late=begins_late,
        ends_early=ends_early,
        subscriptions=subscriptions,
    )
    refused = {"--map": columns, "--regex": regex, "--master": master, "--conf": conf}
    choices = FollowChoices(for_s, every_s, checkpoint, is_fresh=fresh, cores=cores)
    if is_followed:
        run = followed_run(paths, engine, choices, terms, refused)
        from antiphon.cli.follow import follow

        follow(run, choices, terms, as_json=as_json)
    choices.refuse()
    cluster = cluster_of(master, conf or [])
    with opened_log(paths, column_map(columns or [])) as log:
        if regex is not None or holds_clocks(log):
            verdict = judge_clocks(log, regex)
        else:
            verdict = judge(log, engine, cores, terms, cluster)
    if as_json:
        print_json(msgspec.json.format(msgspec.json.encode(verdict)))
    else:
        output.print(verdict_screen(verdict))
    if len(paths) == 1:
        save_verdict(paths[0], verdict)  # last: should there be no room for it, it has been seen
    raise typer.Exit(1 if verdict.is_violated else 0)


def cluster_of(master: str | None, conf: list[str]) -> SparkPlace | None:
    """Return what the options say of Spark; None: nothing."""
    settings = dict(setting.partition("=")[::2] for setting in conf)
    for setting in conf:
        if "=" not in setting:
            message = f"--conf {setting}: expected name=value, as spark.executor.memory=8g"
            raise UsageError(message)
    return SparkPlace(master, settings) if master or settings else None


def save_verdict(path: Path, verdict: Verdict) -> None:
    """Write ``verdict.json`` where the trace is a run folder."""
    if (path / "run.json").is_file():
        RunFolder.open(path).save_verdict(verdict)
