"""Traces of several groups on Spark: what the oracle says of them, word for word."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.oracle.known_groups import ASKED, CASES, Case
from tests.trace.hand_written import write_rows

from antiphon.oracle import judge
from antiphon.pipeline.verify import verify
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Status

if TYPE_CHECKING:
    from antiphon.pipeline.tables.table import Executor


@pytest.mark.parametrize("case", CASES, ids=[case.__name__ for case in CASES])
def test_what_was_not_judged_across_groups_is_not_said_to_hold(
    executor: "Executor", tmp_path: Path, case: Callable[[], Case]
) -> None:
    """Unknown where a process is in more than one group; violated, or held, as ever elsewhere."""
    rows, expected = case()
    path = write_rows(tmp_path / "t.ndjson", rows)
    verdict = verify(executor, path)
    found = {
        item.property: -1 if item.status is Status.UNKNOWN else item.violation_count
        for item in map(verdict.of, ASKED)
    }
    assert {which: count for which, count in found.items() if count} == expected
    told = msgspec.structs.replace(judge(read_rows(path), path.stem), engine=executor.name)
    assert verdict == told
