"""``antiphon verify``: was every promise kept? From who did what, and nothing else."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from antiphon.cli.interrupt import ended_by_interrupt
from antiphon.cli.screen import output, print_json, progress_bar, verdict_screen
from antiphon.oracle.event_graph import MULTICASTS_MAX
from antiphon.trace.run_folder import RunFolder
from antiphon.trace.verdict import Verdict


class Engine(StrEnum):
    """Who judges."""

    SPARK = "spark"
    ORACLE = "oracle"


def verify(
    path: Annotated[
        Path, typer.Argument(help="A run folder, or newline-delimited JSON: a file or a folder.")
    ],
    engine: Annotated[
        Engine,
        typer.Option(
            help="spark: any size, but slow to start. oracle: plain Python, small traces at once."
        ),
    ] = Engine.SPARK,
    cores: Annotated[
        int | None, typer.Option(help="Cores for Spark; all of this machine's if left out.")
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
    verdict = judge(path, engine, cores)
    save_verdict(path, verdict)
    if as_json:
        print_json(msgspec.json.format(msgspec.json.encode(verdict)))
    else:
        output.print(verdict_screen(verdict))
    raise typer.Exit(1 if verdict.is_violated else 0)


def ready_engine() -> Engine:
    """Return who can judge here: Spark, or the oracle if Spark or a Java for it is missing."""
    from antiphon.pipeline.session.spark import is_spark_ready

    return Engine.SPARK if is_spark_ready() else Engine.ORACLE


def verify_command(path: Path, message_count: int = 0) -> str:
    """Return a command that judges a trace on this machine."""
    command = f"antiphon verify {shlex.quote(str(path))}"
    if ready_engine() is Engine.SPARK:
        return command
    if message_count > MULTICASTS_MAX:
        return f"pip install {shlex.quote('antiphon[spark,java]')} && {command}"
    return f"{command} --engine oracle"


def judge(path: Path, engine: Engine = Engine.SPARK, cores: int | None = None) -> Verdict:
    """Return the verdict on the trace at ``path``."""
    if engine is Engine.ORACLE:
        # The imports are here because each engine needs what the other does not.
        from antiphon.oracle import judge
        from antiphon.trace.reader import read_rows

        name = path.stem if path.is_file() else path.resolve().name
        return judge(read_rows(path), run=name)
    from antiphon.pipeline.ingest.sources import find_sources
    from antiphon.pipeline.session.spark import abandon, require_spark, spark_session

    find_sources([path])  # says at once what is missing, before Java starts
    require_spark()
    from antiphon.pipeline.tables.spark import SparkExecutor
    from antiphon.pipeline.verify import verify as verify_on

    with (
        ended_by_interrupt(abandon),
        progress_bar("starting Spark") as (bar, task),
    ):
        task_id = bar.task_ids[task]

        def on_step(name: str, done: int, total: int) -> None:
            bar.update(task_id, description=name, completed=done, total=total)

        spark = spark_session("antiphon verify", cores=cores)
        try:
            return verify_on(SparkExecutor(spark), path, on_step=on_step)
        finally:
            spark.stop()


def save_verdict(path: Path, verdict: Verdict) -> None:
    """Write ``verdict.json`` where the trace is a run folder."""
    if (path / "run.json").is_file():
        RunFolder.open(path).save_verdict(verdict)
