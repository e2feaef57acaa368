"""Traces that no system wrote: whatever rows say, a page comes of them, and of bounded size."""

from pathlib import Path
from typing import get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.report.test_page import EVIL, Reader, write

from antiphon.oracle import judge
from antiphon.report.making import make_page
from antiphon.trace.reader import read_rows
from antiphon.trace.schema import INT64_MAX, RUN_COUNT_MAX, Event, Kind

NAMES = st.sampled_from(["A", "B", "B~2", "B~x", "~", EVIL])
NUMBERS = st.one_of(st.integers(1, 4), st.just(INT64_MAX - RUN_COUNT_MAX))
SIZES = st.one_of(st.integers(0, 3), st.just(INT64_MAX))
TIMES = st.one_of(st.integers(0, 9), st.sampled_from([-INT64_MAX, INT64_MAX, 2**52]))

EVENTS = st.builds(
    Event,
    process=NAMES,
    time_us=TIMES,
    kind=st.sampled_from(get_args(Kind)),
    group=st.sampled_from(["", "g", EVIL]),
    view=NUMBERS,
    sender=NAMES,
    first=NUMBERS,
    count=st.integers(1, 4),
    order=st.sampled_from(["", "fifo", "causal", "total"]),
    uniform=st.booleans(),
    bytes=SIZES,
    overhead_bytes=SIZES,
    queue_depth=SIZES,
    members=st.lists(NAMES, min_size=1, max_size=3, unique=True),
    detail=st.sampled_from(["yes", "commit", "quiescent", "left", EVIL]),
)


def as_allowed(event: Event) -> Event:
    """Return a row with the detail and sender that its kind asks for."""
    if event.kind in {"multicast", "send"}:
        event.sender = event.process
    if event.kind in {"vote", "decide"}:
        event.detail = "no" if event.kind == "vote" else "abort"
    return event


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EVENTS.map(as_allowed), min_size=1, max_size=25), st.sampled_from([4, 100]))
def test_any_rows_make_a_page(tmp_path: Path, events: list[Event], events_max: int) -> None:
    """Rows that contradict each other, and numbers at their bounds, are shown as they are."""
    path = write(tmp_path / "forged.ndjson", events)
    page = make_page(path, judge(read_rows(path), run="forged"), None, events_max=events_max)
    reader = Reader(page)
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert len(page) < 300_000
