"""The page: self-contained, safe whatever the trace says, and of bounded size."""

import hashlib
import re
from base64 import b64encode
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.known_domains import chain, in_domain
from tests.report.worlds import CHAT, unpacked, verdict_on

from antiphon.report.making import make_page
from antiphon.report.packing import embedded, packed
from antiphon.sim.steady_group import Options, SteadyGroup, process_names
from antiphon.sim.workload import WorkloadOptions
from antiphon.trace.reader import read_rows
from antiphon.trace.run_folder import RunRecord
from antiphon.trace.schema import Event
from antiphon.trace.verdict import Status, Verdict

EVIL = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&{{title}}\u2028"
"""A name that wants to be code."""


class Reader(HTMLParser):
    """Collects the elements of a page, and what is in its scripts."""

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open = ""
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        self.attributes += attrs
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note that an element ends."""
        self._open = ""

    def handle_data(self, data: str) -> None:
        """Note text."""
        if self._open == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)


def write(path: Path, events: list[Event]) -> Path:
    """Write a user's log."""
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return path


def chat_page(folder: Path, name: str = "A", record: RunRecord | None = None) -> str:
    """Return the page of the small log, with another name for A."""
    events = [
        msgspec.structs.replace(
            event,
            process=name if event.process == "A" else event.process,
            sender=name if event.sender == "A" else event.sender,
        )
        for event, _, _ in CHAT
    ]
    path = write(folder / "chat.ndjson", events)
    return make_page(path, verdict_on(read_rows(path)), record)


def test_page_has_verdict_explanation_and_evidence(tmp_path: Path) -> None:
    """What the terminal shows is in the page, as text that needs no script."""
    text = " ".join(Reader(chat_page(tmp_path)).texts)
    assert "Violated: causal" in text
    assert "C delivered message 1 of B, but only later message 1 of A" in text
    for line in (1, 2, 3, 4):
        assert f"chat.ndjson:{line}" in text
    assert "nothing was multicast in total order" in text
    assert "The trace has no times" in text


def test_page_tells_a_chain_over_groups_in_one_line(tmp_path: Path) -> None:
    """Who told whom, in which group; names and groups stay data."""
    for name in ("a", EVIL):
        rows = [
            msgspec.structs.replace(
                row, process=row.process.replace("a", name), sender=row.sender.replace("a", name),
                group=row.group.replace("A", name),
            )
            for row in in_domain(chain())
        ]  # fmt: skip
        path = write(tmp_path / "groups.ndjson", rows)
        page = make_page(path, verdict_on(read_rows(path)), None)
        assert '<p class="route">' in page
        assert "<script>alert" not in page
    text = re.sub("<[^>]+>", "", page.partition('<p class="route">')[2].partition("</p>")[0])
    assert text.endswith("e only later")
    assert "B→ c C→ e" in text


def test_page_loads_nothing_and_runs_only_its_own_script(tmp_path: Path) -> None:
    """No element refers to anything outside, and the policy names the script by its digest."""
    page = chat_page(tmp_path)
    reader = Reader(page)
    assert not {"link", "img", "iframe", "object", "a", "base", "form"} & set(reader.tags)
    assert not {"src", "href", "action"} & {name for name, _ in reader.attributes}
    assert not re.search(r"url\((?!#)|@import", page.partition("</style>")[0])
    data, script = reader.scripts
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert "fetch(" not in script
    assert msgspec.json.decode(data)["lanes"] == ["A", "B", "C"]


def test_names_stay_data(tmp_path: Path) -> None:
    """A name with markup, quotes and placeholders is shown as it is, and does nothing."""
    record = RunRecord(
        name=EVIL, what=EVIL, antiphon=EVIL, python=EVIL, config={}, replay=f"antiphon {EVIL}"
    )
    plain, evil = Reader(chat_page(tmp_path)), Reader(chat_page(tmp_path, EVIL, record))
    assert set(evil.tags) == {*plain.tags, "pre", "code"}  # of the replay command
    assert evil.tags.count("script") == 2
    assert not [name for name, _ in evil.attributes if name.startswith("on")]
    assert any(EVIL in text for text in evil.texts)
    data = msgspec.json.decode(evil.scripts[0])
    assert any(lane.startswith("</script>") for lane in data["lanes"])


def test_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    """Nothing in a page says when or where it was made."""
    assert chat_page(tmp_path) == chat_page(tmp_path)


def test_long_names_are_cut(tmp_path: Path) -> None:
    """Names of any length do not make a page of any size."""
    assert len(chat_page(tmp_path, "x" * 500_000)) < 120_000


@given(st.lists(st.integers(-(2**52), 2**52)))
def test_packed_columns_come_back(column: list[int]) -> None:
    """What a script unpacks is what was packed."""
    assert unpacked(packed(column)) == column


def test_numbers_that_a_script_cannot_count_are_cut_off() -> None:
    """A number of a forged trace does not run over."""
    assert unpacked(packed([2**62, -(2**62), 5])) == [2**52, -(2**52), 5]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_embedded_text_cannot_end_its_element(text: str) -> None:
    """JSON in a script element has no character that could end it, and reads back the same.

    Halves of surrogate pairs are left out: they are in no text that is UTF-8.
    """
    document = embedded({"name": text})
    assert not set("<>&\u2028\u2029") & set(document)
    assert msgspec.json.decode(document) == {"name": text}


def unjudged(rows: int) -> Verdict:
    """Return a verdict that says nothing, for a trace that takes long to judge."""
    return Verdict("big", "nobody", 8, rows, 0, 0, ())


@cache
def simulated(message_count: int) -> tuple[Event, ...]:
    """Return the rows of a simulated group of eight."""
    events: list[Event] = []
    options = Options(
        seed=3, process_count=8, workload=WorkloadOptions(message_count=message_count)
    )
    group = SteadyGroup(options, dict.fromkeys(process_names(8), events.append))
    for _ in group.run():
        pass
    return tuple(events)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of a good 10^5 events."""
    events = [msgspec.structs.replace(event, index=-1) for event in simulated(16_500)]
    assert len(events) >= 100_000
    return write(tmp_path_factory.mktemp("large") / "big.ndjson", events)


def test_page_of_100_000_events_is_small(large: Path) -> None:
    """It has nearly all of them, in less than 3 MB."""
    page = make_page(large, unjudged(100_000), None)
    assert len(page.encode()) < 3_000_000
    data = msgspec.json.decode(Reader(page).scripts[0])
    assert sum(data["sizes"]) > 50_000


def test_page_of_more_events_than_it_may_hold_says_so(large: Path) -> None:
    """What is left out is told, and the page smaller."""
    page = make_page(large, unjudged(100_000), None, events_max=5_000)
    assert "are not: a dotted line stands for them" in page
    assert len(page.encode()) < 400_000


def test_nothing_judged_is_not_called_right(tmp_path: Path) -> None:
    """A verdict of nothing but unknowns has a headline that says so."""
    path = write(tmp_path / "one.ndjson", [CHAT[0][0]])
    verdict = verdict_on(read_rows(path))
    assert not [item for item in verdict.properties if item.status is Status.HOLDS]
    page = make_page(path, verdict, None)
    assert "Nothing could be judged" in page
    assert "1 process · 1 event · 1 message · 0 deliveries" in page
