"""Users' own names for messages, in explanations, whoever gives them."""

from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.pipeline.test_agrees_with_oracle import TINY, differences
from tests.pipeline.trace_generator import random_trace
from tests.trace.hand_written import deliver, multicast, write_rows

from antiphon.oracle import judge
from antiphon.pipeline.tables.local import LocalExecutor
from antiphon.pipeline.verify import verify, verify_all
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import Event
from antiphon.trace.verdict import MessageId, Property, Verdict

ENGINES = ["oracle", "local"]


def judged(engine: str, path: Path, rows: list[Event]) -> Verdict:
    """Return the verdict on these rows."""
    write_rows(path, rows)
    return judge(read_rows(path)) if engine == "oracle" else verify(LocalExecutor(), path)


@pytest.mark.parametrize("engine", ENGINES)
def test_explanation_calls_messages_by_their_users_names(tmp_path: Path, engine: str) -> None:
    """Both messages, in the sentence, in the chain, and in the document."""
    rows = [
        multicast("A", 1, id="question"), deliver("B", "A"), multicast("B", 1, id="answer"),
        deliver("C", "B"), deliver("C", "A"),
    ]  # fmt: skip
    (found,) = judged(engine, tmp_path / "log.ndjson", rows).of(Property.CAUSAL).violations
    assert found.text == (
        'C delivered message 1 of B ("answer"), but only later message 1 of A ("question"), which '
        "B had delivered before multicasting it"
    )
    assert found.chain[1].text == 'B delivered message 1 of A ("question")'
    assert (found.message, found.earlier) == (
        MessageId("B", 1, id="answer"),
        MessageId("A", 1, id="question"),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_delivery_names_what_was_never_multicast(tmp_path: Path, engine: str) -> None:
    """There is no other row that could."""
    rows = [multicast("A"), deliver("B", "A", 7, id="ghost"), deliver("C", "A", 7, id="other")]
    one, two = judged(engine, tmp_path / "log.ndjson", rows).of(Property.NO_CREATION).violations
    assert one.text == 'B delivered message 7 of A ("ghost"), which A never multicast'
    assert two.message == one.message, "it has one name, that of the first process"


def test_random_names_are_the_oracles_too(tmp_path: Path) -> None:
    """In some rows, of multicasts and of deliveries, over whole corpora of spoilt traces."""
    path, lines = tmp_path / "names.ndjson", list[bytes]()
    traces: dict[str, list[tuple[Event, str, int]]] = {}
    for seed in range(200):
        dice = Random(seed)
        for row in random_trace(seed):
            name = f"{row.kind} {len(lines)}" if dice.random() < 0.5 else ""
            named = msgspec.structs.replace(row, run=f"seed-{seed}", id=name)
            lines.append(msgspec.json.encode(named))
            traces.setdefault(named.run, []).append((named, str(path), len(lines)))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = verify_all(LocalExecutor(), [path], grain=TINY)
    names = 0
    for run, placed in traces.items():
        expected = judge(placed, run)
        assert differences(expected, found[run]) == [], run
        violations = [each for item in expected.properties for each in item.violations]
        names += sum(each.message is not None and bool(each.message.id) for each in violations)
    assert names > 100
