"""The reader against random rows, values and bytes: it reads what was written, or refuses."""

import contextlib
import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.trace.hand_written import deliver, multicast, view

from antiphon.core.errors import TraceError
from antiphon.trace.journal import Journal
from antiphon.trace.reader import read_rows, read_segment
from antiphon.trace.schema import INT64_MAX, RUN_COUNT_MAX, Event, Kind

NAMES = st.text(min_size=1, max_size=8)
SIZES = st.integers(0, INT64_MAX)
EVENTS = st.one_of(
    st.builds(
        Event,
        process=st.just("p"),
        kind=st.sampled_from(["start", "receive", "send_frame", "suspect", "crash", "stop"]),
        group=st.text(max_size=8),
        time_us=st.integers(-INT64_MAX, INT64_MAX),
        count=st.integers(1, RUN_COUNT_MAX),
        order=st.sampled_from(["", "fifo", "causal", "total"]),
        uniform=st.booleans(),
        clock=st.none() | st.dictionaries(NAMES, SIZES, max_size=3),
        bytes=SIZES,
        overhead_bytes=SIZES,
        queue_depth=SIZES,
        detail=st.text(max_size=30),
    ),
    st.builds(lambda first, count: multicast("p", first, count), st.integers(1, 99), SIZES.map(
        lambda size: 1 + size % RUN_COUNT_MAX)),
    st.builds(lambda sender, first: deliver("p", sender, first), NAMES, st.integers(1, 99)),
    st.builds(lambda members: view("p", *members), st.lists(NAMES, min_size=1, unique=True)),
)  # fmt: skip


@given(events=st.lists(EVENTS, min_size=1, max_size=30), segment_bytes=st.integers(1, 2_000))
def test_what_is_journalled_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event], segment_bytes: int
) -> None:
    """Any rows, in segments of any size, come back equal and in order."""
    folder = tmp_path_factory.mktemp("run")
    with Journal(folder / "events", "p", segment_bytes=segment_bytes) as journal:
        for event in events:
            journal.append(event)
    assert [event for event, _, _ in read_rows(folder)] == events


def rows_or_refusal(path: Path) -> list[Event]:
    """Read a file: rows, or a refusal that names it."""
    try:
        return [event for event, _, _ in read_rows(path)]
    except TraceError as error:
        sentence = str(error)
    assert sentence.startswith(f"{path}:")
    return []


@pytest.mark.fuzz
@given(contents=st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_trace_errors(
    tmp_path_factory: pytest.TempPathFactory, contents: bytes
) -> None:
    """Random bytes are refused, as a user's file and as the end of a journal."""
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("log.ndjson", "p/000001.ndjson"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(contents)
        assert rows_or_refusal(path) == []
    with contextlib.suppress(TraceError):
        assert list(read_segment(path, last=True)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KINDS = ["start", "multicast", "deliver", "view", "stop"]
OTHER_FIELDS = [name for name in Event.__struct_fields__ if name not in {"process", "kind"}]


@pytest.mark.fuzz
@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {"process": st.sampled_from(["p", "q"]) | JSON, "kind": st.sampled_from(KINDS) | JSON},
            optional={name: st.integers(-1, 3) | st.just("p") | JSON for name in OTHER_FIELDS},
        ),
        min_size=1,
        max_size=5,
    ),
    flip=st.none() | st.tuples(st.integers(0, 10_000), st.integers(0, 255)),
)
def test_rows_with_any_values_raise_nothing_but_trace_errors(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[dict[str, object]],
    flip: tuple[int, int] | None,
) -> None:
    """Nearly right rows, with wrong values and flipped bytes, are read or refused."""
    contents = bytearray("\n".join(json.dumps(line) for line in lines), "utf-8")
    if flip:
        contents[flip[0] % len(contents)] = flip[1]
    path = tmp_path_factory.mktemp("fuzz") / "log.ndjson"
    path.write_bytes(contents)
    for row in rows_or_refusal(path):
        assert row.process
        assert row.kind in get_args(Kind)
        assert 1 <= row.count <= RUN_COUNT_MAX
        assert row.first >= 1 or row.kind not in {"multicast", "deliver"}
