"""``antiphon verify``: was every promise kept? From who did what, and nothing else."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.cli.engines import Cluster, Engine, judge
from antiphon.cli.screen import output, print_json, verdict_screen
from antiphon.core.errors import UsageError
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict


def verify(
    path: Annotated[
        Path, typer.Argument(help="A run folder, or newline-delimited JSON: a file or a folder.")
    ],
    engine: Annotated[
        Engine,
        typer.Option(
            help="oracle: plain Python, small traces at once. local: vectorised, in this process; "
            "about 10 million rows in 2 GB of memory. spark: any size, but slow to start. "
            "auto: by the size of the trace, and by what is installed. All say the same."
        ),
    ] = Engine.AUTO,
    cores: Annotated[
        int | None, typer.Option(help="Cores to use; all of this machine's if left out.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs: spark://host:port, yarn, k8s://...; here if left out."
        ),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(help="A setting of Spark's, name=value; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a trace: fifo, causal and total order, uniform delivery, agreement, views, commit.

    Also that nothing is made up, repeated or missing. What nobody asked for is unknown.

    The trace may come from Antiphon or from any system that logs its sends and deliveries
    in a simple format, one JSON object per line: {"process": "bob", "kind": "deliver", "sender":
    "alice", "first": 1} says that bob delivered message 1 of alice. Clocks in the trace are not
    trusted: the verdict rests on who sent, delivered and decided what, in which local order. The
    log must be complete, and of messages that go to all members of a group.

    The format, and what each property means exactly: docs/trace-format.md and docs/properties.md
    where Antiphon's source is.

    Exit status: 0 nothing is violated (what is unknown is not), 1 something is, 2 the trace cannot
    be read.
    """
    verdict = judge(path, engine, cores, cluster_of(master, conf or []))
    save_verdict(path, verdict)
    if as_json:
        print_json(msgspec.json.format(msgspec.json.encode(verdict)))
    else:
        output.print(verdict_screen(verdict))
    raise typer.Exit(1 if verdict.is_violated else 0)


def cluster_of(master: str | None, conf: list[str]) -> Cluster | None:
    """Return what the options say of Spark; None: nothing."""
    settings = dict(setting.partition("=")[::2] for setting in conf)
    for setting in conf:
        if "=" not in setting:
            message = f"--conf {setting}: expected name=value, as spark.executor.memory=8g"
            raise UsageError(message)
    return Cluster(master, settings) if master or settings else None


def save_verdict(path: Path, verdict: Verdict) -> None:
    """Write ``verdict.json`` where the trace is a run folder."""
    if (path / "run.json").is_file():
        RunFolder.open(path).save_verdict(verdict)
