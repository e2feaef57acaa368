"""``antiphon reproduce``: what the papers report, run again, with a verdict per claim."""

import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from antiphon import __version__
from antiphon.cli.places import ConfOption, MasterOption, SparkPlace, cluster_of
from antiphon.cli.screen import output, print_json, progress_bar
from antiphon.cli.tasks import TaskEngine, executor_for, on_cluster
from antiphon.core.errors import UsageError
from antiphon.trace.claims import ClaimVerdict, Reproduction

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor
    from antiphon.reproduction.claim import Claim
    from antiphon.reproduction.running import UnkeptError

_STYLES = {
    ClaimVerdict.HOLDS: "green",
    ClaimVerdict.FAILS: "bold red",
    ClaimVerdict.INCOMPARABLE: "yellow",
}

_SAID = {
    ClaimVerdict.HOLDS: "hold",
    ClaimVerdict.FAILS: "do not hold",
    ClaimVerdict.INCOMPARABLE: "cannot be compared",
}
"""Of many."""


def reproduce(
    paper: Annotated[str, typer.Argument(help="isis, uniform, blocks, overlay or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions and smaller groups: minutes.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Run only the claim of this name; can be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write; if left out, reproductions/PAPER.")
    ] = None,
    engine: Annotated[
        TaskEngine,
        typer.Option(
            help="Who computes what is simulated. auto: this process. local: a process per core. "
            "spark: Spark tasks."
        ),
    ] = TaskEngine.AUTO,
    cores: Annotated[
        int | None, typer.Option(help="Cores to use; all of this machine's if left out.")
    ] = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run what the papers report, and judge every claim beside the paper's numbers.

    ISIS (Birman, Schiper, Stephenson 1991): Tables I to V, figures 6 and 7, the 1 + 1/k claim, the
    messages of a flush and of a join, the size of timestamps. Uniform (Schiper, Sandoz 1993):
    rounds and messages of D3 and D4, the counterexample to the ISIS flush, commit under the
    coordinator's crash. Blocks (Lima, Macedo): figure 7, recovery time and copies against timers
    and loss, in simulation. Overlay (Friedman, Manor 2004): flooding a hypercube beside timestamps,
    Table 1, figures 2 to 17, the crossover; needs antiphon[models]. Each claim holds, does not
    hold, or cannot be compared, and why; assumptions are listed. Writes JSON, tables (CSV) and
    figures (SVG); as one page: antiphon report reproductions/PAPER. Timings are taken on real
    sockets on loopback: leave the machine alone meanwhile.

    Exit status: 0 no claim fails, 1 some claim does not hold, 2 bad usage, or not all could be
    written (what was found is printed all the same).
    """
    papers, chosen = _chosen(paper, only or ())
    words = ["antiphon", "reproduce", paper, *(["--quick"] if quick else [])]
    words += [word for name in only or () for word in ("--only", name)]
    folder = out or Path("reproductions") / paper
    cluster = cluster_of(master, conf or [])
    computing = _executor(on_cluster(engine, cluster), cores, cluster)
    found, refused = _run(papers, chosen, quick, computing, folder, shlex.join(words))
    if as_json:
        print_json(msgspec.json.format(msgspec.json.encode(found)))
    else:
        _show(found)
    if refused is not None:
        raise refused
    if not as_json:
        output.print(f"next: antiphon report {folder}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if found.count(ClaimVerdict.FAILS) else 0)


def _run(
    papers: list[str], chosen: "list[Claim]", quick: bool,
    computing: "AbstractContextManager[Executor | None]", folder: Path, replay: str,
) -> "tuple[Reproduction, UnkeptError | None]":  # fmt: skip
    """Return what became of the claims, and what could not be written."""
    from antiphon.reproduction.claim import Effort
    from antiphon.reproduction.running import UnkeptError
    from antiphon.reproduction.running import reproduce as run_claims
    from antiphon.reproduction.sweeping import Sweeping

    with (
        progress_bar("starting", len(chosen), time_left=True) as (bar, task),
        computing as executor,
    ):
        effort = Effort(is_quick=quick, sweeping=Sweeping(executor))
        task_id = bar.task_ids[task]

        def on_claim(name: str, done: int, _total: int) -> None:
            bar.update(task_id, description=name, completed=done)

        try:
            found = run_claims(papers, effort, folder, replay, __version__, on_claim, chosen)
        except UnkeptError as error:
            return error.found, error
    return found, None


def _chosen(paper: str, only: Sequence[str]) -> "tuple[list[str], list[Claim]]":
    """Return which papers and claims are meant."""
    from antiphon.reproduction.running import PAPERS, claims_of

    papers = list(PAPERS) if paper == "all" else [paper]
    if paper != "all" and paper not in PAPERS:
        message = f"{paper!r} cannot be reproduced: choose {', '.join(PAPERS)} or all"
        raise UsageError(message)
    claims = claims_of(papers)
    names = [claim.name for claim in claims]
    for name in only:
        if name not in names:
            message = f"there is no claim {name!r} in {paper}: choose from {', '.join(names)}"
            raise UsageError(message)
    return papers, [claim for claim in claims if not only or claim.name in only]


def _executor(
    engine: TaskEngine, cores: int | None, cluster: SparkPlace | None
) -> "AbstractContextManager[Executor | None]":
    """Return who computes what is a sweep; None is this process."""
    if engine is TaskEngine.AUTO:
        return nullcontext()
    return executor_for(engine, "antiphon reproduce", cores, cluster=cluster)


def _show(found: Reproduction) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    longest = max((len(claim.name) for claim in found.claims), default=0)
    for name in ("claim", "verdict", "paper", "here"):  # names are typed again: they stay whole
        table.add_column(name, overflow="fold", min_width=longest if name == "claim" else None)
    for claim in found.claims:
        table.add_row(
            f"{claim.paper} {claim.section}: {claim.name}",
            Text(claim.verdict.value, style=_STYLES[claim.verdict]),
            Text(claim.paper_value),
            Text(claim.our_value),
        )
    output.print(table)
    for claim in found.claims:
        if claim.verdict is not ClaimVerdict.HOLDS:
            said = f"{claim.name} {claim.verdict.value}: {claim.why}"
            output.print(said, soft_wrap=True, markup=False)
    tallies = [(found.count(verdict), verdict) for verdict in ClaimVerdict]
    counts = ", ".join(
        f"{count} {verdict.value if count == 1 else _SAID[verdict]}"
        for count, verdict in tallies
        if count
    )
    noun = "claim" if len(found.claims) == 1 else "claims"
    output.print(f"{len(found.claims)} {noun}: {counts}", soft_wrap=True, markup=False)
