"""Verdicts on traces written by hand, and what happens to traces that cannot be judged."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.trace.hand_written import crash, deliver, multicast, start, stop, view, write_rows

from antiphon.core.errors import TraceError
from antiphon.pipeline.survey.grain import Grain
from antiphon.pipeline.verify import STEPS, verify, verify_all
from antiphon.trace import words
from antiphon.trace.schema import LEFT, Event
from antiphon.trace.verdict import MessageId, Property, Status, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from antiphon.pipeline.tables.table import Executor

NOT_ASKED = (words.NO_VIEW, words.NO_OWN_DELIVERY, *words.NOT_ASKED)


def statuses(verdict: Verdict) -> dict[str, tuple[str, int]]:
    """Return status and count of all that neither holds nor was asked for."""
    return {
        item.property.value: (item.status.value, item.violation_count)
        for item in verdict.properties
        if item.status is not Status.HOLDS and item.reason not in NOT_ASKED
    }


def answer_before_question() -> list[Event]:
    """C delivers B's answer before A's question."""
    return [
        multicast("A"),
        deliver("B", "A"),
        multicast("B"),
        deliver("C", "B"),
        deliver("C", "A"),
        deliver("A", "B"),
    ]


def test_answer_before_its_question_is_explained(executor: "Executor", tmp_path: Path) -> None:
    """The verdict names the process, both messages, the chain A, B, C, and its lines."""
    path = write_rows(tmp_path / "abc.ndjson", answer_before_question())
    verdict = verify(executor, path)
    assert statuses(verdict) == {"causal": ("violated", 1)}
    [violation] = verdict.of(Property.CAUSAL).violations
    assert violation.process == "C"
    assert violation.message == MessageId("B", 1)
    assert violation.earlier == MessageId("A", 1)
    assert [(link.text, link.file, link.line) for link in violation.chain] == [
        ("A multicast message 1 of A", str(path), 1),
        ("B delivered message 1 of A", str(path), 2),
        ("B multicast message 1 of B", str(path), 3),
        ("C delivered message 1 of B, but message 1 of A only later", str(path), 4),
    ]
    assert "C delivered message 1 of B, but only later message 1 of A" in violation.text


def test_counts_are_of_messages_not_of_rows(executor: "Executor", tmp_path: Path) -> None:
    """A run that comes too early breaks the order of each of its messages, examples are three."""
    rows = [
        multicast("A", 1, 2),
        multicast("A", 3, 500),
        deliver("B", "A", 3, 500),
        deliver("B", "A", 1, 2),
    ]
    verdict = verify(executor, write_rows(tmp_path / "runs.ndjson", rows))
    assert statuses(verdict) == {"fifo": ("violated", 500), "causal": ("violated", 500)}
    assert [item.message for item in verdict.of(Property.FIFO).violations] == [
        MessageId("A", number) for number in (3, 4, 5)
    ]
    assert (verdict.event_count, verdict.message_count, verdict.delivery_count) == (4, 502, 502)


def test_run_folder_with_a_crash_holds_survivors_to_agreement(
    executor: "Executor", tmp_path: Path
) -> None:
    """Who crashed owes nothing; who survived owes what another survivor delivered."""
    events = tmp_path / "run" / "events"
    journals = {
        "A": [start("A"), view("A", "A", "B", "C"), multicast("A"), deliver("A", "A"), stop("A")],
        "B": [start("B"), deliver("B", "A"), crash("B")],
        "C": [start("C"), stop("C")],
    }
    for name, rows in journals.items():
        for index, event in enumerate(rows):
            event.index = index
        write_rows(events / name / "000001.ndjson", rows)
    verdict = verify(executor, tmp_path / "run")
    assert verdict.run == "run"
    assert statuses(verdict) == {"agreement": ("violated", 1), "liveness": ("violated", 1)}
    agreement = verdict.of(Property.AGREEMENT)
    assert "B" in agreement.reason
    assert agreement.violations[0].process == "C"
    assert agreement.violations[0].chain[-1].file.endswith("C/000001.ndjson")


def test_trace_without_deliveries_is_unknown(executor: "Executor", tmp_path: Path) -> None:
    """Nothing is claimed of a trace in which nothing was delivered."""
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", [multicast("A"), multicast("A")]))
    assert {item.status for item in verdict.properties} == {Status.UNKNOWN}


def test_trace_of_start_rows_alone_is_unknown(executor: "Executor", tmp_path: Path) -> None:
    """A trace without any message has no scope to judge, and that is no accident."""
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", [start("A")]))
    assert {item.status for item in verdict.properties} == {Status.UNKNOWN}
    assert (verdict.process_count, verdict.event_count) == (1, 1)


@pytest.mark.parametrize(
    ("damage", "line", "words"),
    [
        (b"not json\n", 3, "not JSON"),
        (b'{"process":"A","kind":"deliver"}\n', 3, "first"),
        (b'{"process":"A","kind":"multicast","first":1,"index":7}\n', 3, "index"),
    ],
)
def test_malformed_trace_raises_one_sentence_with_its_line(
    executor: "Executor", tmp_path: Path, damage: bytes, line: int, words: str
) -> None:
    """What a worker cannot read reaches the caller as the reader's sentence, and nothing more."""
    path = write_rows(tmp_path / "t.ndjson", [multicast("A"), deliver("B", "A")])
    path.write_bytes(path.read_bytes() + damage)
    with pytest.raises(TraceError) as caught:
        verify(executor, path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: ")
    assert words in message
    assert "\n" not in message


def test_first_bad_file_is_the_one_reported(executor: "Executor", tmp_path: Path) -> None:
    """Which task fails first does not decide what is said."""
    for name in ("a", "b", "c", "d"):
        write_rows(tmp_path / "t" / f"{name}.ndjson", [multicast(name)])
    for name in ("d", "b"):
        (tmp_path / "t" / f"{name}.ndjson").write_bytes(b"[]\n")
    with pytest.raises(TraceError, match=r"b\.ndjson:1: "):
        verify(executor, tmp_path / "t")


def test_gap_between_files_is_reported(executor: "Executor", tmp_path: Path) -> None:
    """Rows that are missing between two files are noticed, though each file is sound."""
    write_rows(tmp_path / "t" / "a.ndjson", [multicast("A", 1, index=0)])
    write_rows(tmp_path / "t" / "b.ndjson", [multicast("A", 2, index=2)])
    with pytest.raises(TraceError, match=r"b\.ndjson:1: .*without gaps"):
        verify(executor, tmp_path / "t")


def test_missing_and_empty_traces_are_refused(executor: "Executor", tmp_path: Path) -> None:
    """No trace, no verdict."""
    with pytest.raises(TraceError, match="does not exist"):
        verify(executor, tmp_path / "nothing")
    (tmp_path / "empty.ndjson").write_bytes(b"")
    with pytest.raises(TraceError, match=r"empty\.ndjson:1: "):
        verify(executor, tmp_path / "empty.ndjson")
    journal = tmp_path / "run" / "events" / "A" / "000001.ndjson"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"")
    with pytest.raises(TraceError, match="the trace is empty"):
        verify(executor, tmp_path / "run")


def test_steps_are_announced_in_order(executor: "Executor", tmp_path: Path) -> None:
    """Whoever shows progress hears of each step as it begins, and of the end."""
    heard: list[tuple[str, int, int]] = []
    path = write_rows(tmp_path / "t.ndjson", answer_before_question())
    verify(executor, path, on_step=lambda *step: heard.append(step))
    total = len(STEPS)
    assert heard == [(name, done, total) for done, name in enumerate((*STEPS, ""))]


def test_several_traces_are_judged_apart(executor: "Executor", tmp_path: Path) -> None:
    """Runs share the jobs, not the verdict; equal names of processes do not mix."""
    wrong = write_rows(tmp_path / "wrong.ndjson", answer_before_question())
    rows = answer_before_question()
    rows[3], rows[4] = rows[4], rows[3]
    right = write_rows(tmp_path / "right.ndjson", rows)
    found = verify_all(executor, [wrong, right])
    assert {name: statuses(verdict) for name, verdict in found.items()} == {
        "right": {},
        "wrong": {"causal": ("violated", 1)},
    }


def test_runs_in_one_trace_share_its_verdict(executor: "Executor", tmp_path: Path) -> None:
    """A file with rows of two runs gets one verdict; what is wrong in either counts."""
    rows = [*answer_before_question(), *answer_before_question()]
    for event in rows[6:]:
        event.run = "other"
    verdict = verify(executor, write_rows(tmp_path / "two.ndjson", rows))
    assert statuses(verdict) == {"causal": ("violated", 2)}
    assert [item.run for item in verdict.of(Property.CAUSAL).violations] == ["two", "other"]


def test_one_sender_alone_fills_many_buckets(executor: "Executor", tmp_path: Path) -> None:
    """A single sender's messages are judged in parts, and a break across parts is found."""
    count = 3_000
    rows = [multicast("A", number) for number in range(1, count + 1)]
    order = [*range(2, count + 1), 1]
    rows += [deliver("B", "A", number) for number in order]
    grain = Grain(
        cells_per_bucket=1, rows_per_bucket_min=100, numbers_per_bucket_min=2, rows_per_block=100
    )
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", rows), grain=grain)
    broken = ("violated", count - 1)
    assert statuses(verdict) == {"fifo": broken, "causal": broken}


def test_messages_of_other_groups_and_views_do_not_matter(
    executor: "Executor", tmp_path: Path
) -> None:
    """Orders are judged within a group and view: what happens elsewhere breaks none of them."""
    rows = [
        multicast("A", group="g"),
        multicast("A", group="h"),
        multicast("A", group="g", view=2),
        deliver("B", "A", group="h"),
        deliver("B", "A", group="g", view=2),
        deliver("B", "A", group="g"),
    ]
    not_judged = {"causal": ("unknown", 0), "no-orphan": ("unknown", 0)}
    assert statuses(verify(executor, write_rows(tmp_path / "t.ndjson", rows))) == not_judged


def two_views() -> list[Event]:
    """A, B and C go on from view 1 to view 2, C without the message; D joins, then B leaves."""
    one, two, three = ["A", "B", "C"], ["A", "B", "C", "D"], ["A", "C", "D"]
    return [
        view("A", *one), view("B", *one), view("C", *one),
        multicast("A"), deliver("A", "A"), deliver("B", "A"),
        view("A", *two, view=2), view("B", *two, view=2), view("C", *two, view=2),
        view("D", *two, view=2),
        view("A", *three, view=3), view("B", *three, view=3), view("C", *three, view=3),
        view("D", *three, view=3), stop("B", LEFT),
    ]  # fmt: skip


def test_message_with_which_only_some_left_a_view_is_not_atomic(
    executor: "Executor", tmp_path: Path
) -> None:
    """C went on to view 2 without what A and B delivered in view 1; D was not there."""
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", two_views()))
    assert statuses(verdict) == {
        "agreement": ("violated", 1),
        "view-atomic": ("violated", 1),
        "liveness": ("violated", 1),
    }
    [violation] = verdict.of(Property.VIEW_ATOMIC).violations
    assert (violation.process, violation.message) == ("C", MessageId("A", 1))
    assert [(link.text, link.line) for link in violation.chain] == [
        ("A multicast message 1 of A", 4),
        ("A delivered message 1 of A", 5),
        ("A installed view 2", 7),
        ("C installed view 2 without having delivered message 1 of A", 9),
    ]


def test_views_and_strays_are_explained_by_their_rows(executor: "Executor", tmp_path: Path) -> None:
    """Each wrong view row, and each message outside its view, is told with its lines."""
    rows = two_views()
    rows[9] = view("D", "D", "A", "B", "C", view=2)
    rows[12] = view("C", "A", "C", "D", view=4)
    rows.append(deliver("C", "A"))
    verdict = verify(executor, write_rows(tmp_path / "t.ndjson", rows))
    assert statuses(verdict) == {"views": ("violated", 2), "sending-view": ("violated", 1)}
    assert [violation.text for violation in verdict.of(Property.VIEWS).violations] == [
        "C installed view 4 after view 2, not view 3",
        "D installed view 2 with D, A, B, C, but A with A, B, C, D",
    ]
    assert [violation.message for violation in verdict.of(Property.VIEWS).violations] == [None] * 2
    [stray] = verdict.of(Property.SENDING_VIEW).violations
    assert [(link.text, link.line) for link in stray.chain] == [
        ("A multicast message 1 of A", 4),
        ("C installed view 4", 13),
        ("C delivered message 1 of A, of view 1, while in view 4", 16),
    ]


def test_leaver_may_install_the_view_without_itself_and_nobody_else_may(
    executor: "Executor", tmp_path: Path
) -> None:
    """B ends with a leave, so its last view may leave it out; without that end it may not."""
    rows = [*two_views(), deliver("C", "A")]
    rows.insert(8, rows.pop())
    assert statuses(verify(executor, write_rows(tmp_path / "left.ndjson", rows))) == {}
    verdict = verify(executor, write_rows(tmp_path / "not.ndjson", rows[:-1]))
    assert statuses(verdict) == {"views": ("violated", 1)}
    [violation] = verdict.of(Property.VIEWS).violations
    assert violation.text == "B installed view 3, of which it is not a member"
    assert [link.text for link in violation.chain] == ["B installed view 3 with A, C, D"]


def test_rows_can_be_had_with_their_names(executor: "Executor", tmp_path: Path) -> None:
    """The table for people has a line per row of the trace, with its file and line."""
    from antiphon.pipeline.ingest.loading import find_sources, ingest, named

    path = write_rows(tmp_path / "t.ndjson", [start("A"), multicast("A", 4, 2, group="g")])
    with ingest(executor, find_sources([path])) as trace:
        [row] = [row for batch in named(trace).batches() for row in batch.to_pylist()]
    assert row == {
        "run": "t", "process": "A", "kind": "multicast", "group": "g", "view": 1, "sender": "A",
        "first": 4, "count": 2, "file": str(path), "line": 2, "position": 2_000_000,
    }  # fmt: skip


@pytest.mark.spark
def test_nothing_is_kept_after_a_verdict(spark: "SparkSession", tmp_path: Path) -> None:
    """Rows and tables are let go of, also when a trace is refused."""
    from antiphon.pipeline.tables.spark import SparkExecutor

    path = write_rows(tmp_path / "t.ndjson", answer_before_question())
    verify(SparkExecutor(spark), path)
    path.write_bytes(b"[]\n")
    with pytest.raises(TraceError):
        verify(SparkExecutor(spark), path)
    kept = spark.sparkContext._jsc.getPersistentRDDs()
    assert kept.size() == 0


@pytest.mark.spark
def test_few_lines_take_few_jobs(spark: "SparkSession", tmp_path: Path) -> None:
    """A job takes a fraction of a second however little it does: reports, orders, promises.

    What is wrong takes three more, to explain it.
    """
    from antiphon.pipeline.tables.spark import SparkExecutor

    def job_count(name: str, rows: list[Event]) -> int:
        spark.sparkContext.setJobGroup(name, name)
        verify(SparkExecutor(spark), write_rows(tmp_path / f"{name}.ndjson", rows))
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(name))

    assert job_count("right", [multicast("A"), deliver("B", "A")]) == 3
    assert job_count("wrong", answer_before_question()) == 6
