"""Rows all there, each once: seen from one span per file and process."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import TraceError
from antiphon.trace.continuity import Span, check_spans


def span(first: int, last: int, file: str = "f", process: str = "p", run: str = "") -> Span:
    """Return a span that begins at line 9 of its file."""
    return Span(file, 9, run, process, first, last)


@given(cuts=st.sets(st.integers(1, 99)), drop=st.integers(0, 99))
def test_spans_that_cover_all_rows_pass_and_a_missing_one_does_not(
    cuts: set[int], drop: int
) -> None:
    """However rows are cut into files, and in whatever order these come, all must be there."""
    borders = [0, *sorted(cuts), 100]
    spans = [span(first, after - 1, file=str(first)) for first, after in pairwise(borders)]
    check_spans(reversed(spans))
    dropped = drop % len(spans)
    if dropped < len(spans) - 1:
        with pytest.raises(TraceError, match=":9: the rows of 'p' go on with"):
            check_spans(spans[:dropped] + spans[dropped + 1 :])


def test_a_span_twice_is_refused() -> None:
    """The same rows in two files are one too many."""
    with pytest.raises(TraceError, match="b:9: rows 0 to 4 of 'p' are in a, too: leave one"):
        check_spans([span(0, 4, "a"), span(0, 4, "b")])


@pytest.mark.parametrize("other", [span(-1, -1, "b"), span(0, 3, "b")])
def test_unnumbered_rows_beside_another_file_are_refused(other: Span) -> None:
    """Without numbers, the order between files is nobody's."""
    with pytest.raises(TraceError, match="another file already"):
        check_spans([span(-1, -1, "a"), other])


def test_processes_and_runs_are_counted_apart() -> None:
    """The same name in another run is another process."""
    check_spans([span(0, 4), span(0, 4, process="q"), span(0, 9, run="r"), span(-1, -1, run="s")])
