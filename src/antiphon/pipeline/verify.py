"""A trace's verdict: the door to the pipeline.

Law: all properties (docs/properties.md) come from one position matrix per scope, and from the view
rows; what the trace's clocks say is never looked at. A trace larger than memory is judged like a
small one: rows and matrix spill to disk, and no step holds more than a bucket or a batch in
Python. How it works, and what it costs: docs/pipeline.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.pipeline.survey.grain import Grain
from antiphon.trace.log import Log
from antiphon.trace.verdict import ALL, Terms, Verdict

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from antiphon.pipeline.ingest.loading import Trace
    from antiphon.pipeline.tables.table import Executor

OnStep = Callable[[str, int, int], None]
"""Told which step begins, how many are done, and of how many; in the end the name is empty."""

STEPS = ("ingest", "matrix", "orders", "agreement", "explain")

_GRAIN = Grain()


def verify(
    executor: "Executor",
    where: Path | Log,
    *,
    on_step: OnStep | None = None,
    grain: Grain = _GRAIN,
    terms: Terms = ALL,
) -> Verdict:
    """Return the verdict on one log: a run folder, a folder of files, a file, or several of them.

    Should it hold rows of several runs, these are told apart, but share the verdict.
    """
    from antiphon.pipeline.ingest.loading import ingest, sources_of

    sources = sources_of(where)
    ingested = ingest(executor, sources, terms)
    return verify_trace(
        executor, sources[0].run, ingested, on_step=on_step, grain=grain, terms=terms
    )


def verify_trace(
    executor: "Executor",
    name: str,
    ingested: "AbstractContextManager[Trace]",
    *,
    on_step: OnStep | None = None,
    grain: Grain = _GRAIN,
    terms: Terms = ALL,
) -> Verdict:
    """Return the verdict on one trace, wherever its rows come from."""
    from antiphon.pipeline.case import case_of_all
    from antiphon.pipeline.judging import judge

    steps = _Steps(on_step)
    steps.begin("ingest")
    with ingested as trace:
        [verdict] = judge(
            executor,
            trace,
            lambda survey, domains, findings: [case_of_all(name, survey, domains, findings)],
            steps.begin,
            grain,
            terms,
        )
    steps.end()
    return verdict


def verify_all(
    executor: "Executor",
    paths: Sequence[Path],
    *,
    on_step: OnStep | None = None,
    grain: Grain = _GRAIN,
    terms: Terms = ALL,
) -> dict[str, Verdict]:
    """Return the verdict on every run found at these paths, judged all together."""
    from antiphon.pipeline.ingest.loading import find_sources, ingest

    sources = find_sources(paths)
    steps = _Steps(on_step)
    steps.begin("ingest")
    with ingest(executor, sources, terms) as trace:
        verdicts = verify_runs(executor, trace, begin=steps.begin, grain=grain, terms=terms)
    steps.end()
    return verdicts


def verify_runs(
    executor: "Executor",
    trace: "Trace",
    *,
    begin: Callable[[str], None] = lambda _: None,
    grain: Grain = _GRAIN,
    terms: Terms = ALL,
) -> dict[str, Verdict]:
    """Return the verdict on every run of a trace: by the same few passes, be it one or many."""
    from antiphon.pipeline.case import cases_by_run
    from antiphon.pipeline.judging import judge

    verdicts = judge(executor, trace, cases_by_run, begin, grain, terms)
    return {verdict.run: verdict for verdict in verdicts}


class _Steps:
    """Tells whoever wants to know how far we are."""

    def __init__(self, on_step: OnStep | None) -> None:
        self._on_step, self._done = on_step, -1

    def begin(self, name: str) -> None:
        self._done += 1
        if self._on_step is not None:
            self._on_step(name, self._done, len(STEPS))

    def end(self) -> None:
        self.begin("")
