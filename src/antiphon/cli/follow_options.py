"""What the command line says about following a run.

Law: what cannot be had together is refused in one sentence, before anything is started.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.engines import Engine
from antiphon.core.errors import UsageError
from antiphon.trace.log import is_address, local_path
from antiphon.trace.verdict import Terms

EVERY_S = 1.0
"""From one update to the next."""

FollowOption = Annotated[
    bool,
    typer.Option(
        "--follow",
        help="Judge a run while its processes write it, on Spark, until all have ended or Ctrl-C "
        "is pressed.",
    ),
]
ForOption = Annotated[
    float | None, typer.Option("--for", help="With --follow: end after so many seconds.")
]
EveryOption = Annotated[
    float | None,
    typer.Option("--every", help="With --follow: seconds from one update to the next; 1."),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="With --follow: folder to go on from, should following be interrupted; RUN.live if "
        "left out."
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="With --follow: begin anew, forget the checkpoint.")
]


@dataclass(frozen=True, slots=True)
class FollowChoices:
    """How a run is followed."""

    seconds: float | None
    every_s: float | None
    checkpoint: Path | None
    is_fresh: bool
    cores: int | None

    def refuse(self) -> None:
        """Complain about choices where nothing is followed."""
        given = {
            "--for": self.seconds,
            "--every": self.every_s,
            "--checkpoint": self.checkpoint,
            "--fresh": self.is_fresh,
        }
        for name, value in given.items():
            if value:
                message = f"{name} is for --follow"
                raise UsageError(message)

    def folder(self, run: Path) -> Path:
        """Return where the state of following is kept."""
        if self.checkpoint is not None:
            return self.checkpoint
        resolved = run.resolve()
        return resolved.with_name(f"{resolved.name}.live")


def followed_run(
    logs: Sequence[str],
    engine: Engine,
    choices: FollowChoices,
    terms: Terms,
    refused: Mapping[str, object],
) -> Path:
    """Return the run that is to be followed; complain about what does not go with it."""
    for name, value in refused.items():
        if value:
            message = f"--follow takes run folders as Antiphon writes them, here: leave {name} out"
            raise UsageError(message)
    if engine not in {Engine.AUTO, Engine.SPARK}:
        message = f"--follow is Spark's: leave --engine {engine} out"
        raise UsageError(message)
    if len(logs) != 1 or is_address(logs[0]):
        message = "--follow takes one run folder, on this machine"
        raise UsageError(message)
    if terms.domains:
        message = (
            "--follow judges each group by itself: leave --domains out, and judge causality across "
            "groups when the run has ended: antiphon verify --domains ... RUN"
        )
        raise UsageError(message)
    if terms != Terms(only=terms.only):
        message = (
            "--follow judges whole records: leave --begins-late, --ends-early and --subscriptions "
            "out, or judge the log when it is complete"
        )
        raise UsageError(message)
    if choices.every_s is not None and choices.every_s <= 0:
        message = f"--every {choices.every_s:g}: give a number of seconds above 0"
        raise UsageError(message)
    run = local_path(logs[0])
    _require_journals(run)
    return run


def _require_journals(run: Path) -> None:
    """Complain of what does not grow."""
    if run.is_file():
        message = f"{run}: is a file: --follow takes a run folder, whose journals grow"
        raise UsageError(message)
    if any(run.glob("**/*.parquet")) and not any(run.glob("**/*.ndjson")):
        message = f"{run}: is Parquet, which does not grow: leave --follow out"
        raise UsageError(message)
