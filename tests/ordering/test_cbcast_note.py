"""The design note of CBCAST says what the code does: its bytes, its numbers, its references."""

import re
from pathlib import Path

import pytest
from tests.properties.processes import Done, WholeProcess

from antiphon.core import frames, records
from antiphon.core.frames import Runs, decode_frame, encode_runs
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain
from antiphon.stack.effects import DeliverRuns, SendRun

NOTE = Path(__file__).parents[2] / "docs" / "protocols" / "cbcast.md"
GROUP = GroupNumber(1)


def _part(name: str) -> str:
    """Return what stands between the marks of a part of the note."""
    found = re.search(
        rf"<!-- {name}: begin -->\n(.*?)<!-- {name}: end -->", NOTE.read_text(), re.DOTALL
    )
    assert found, f"the note has no part '{name}'"
    return found[1]


def _machines(size: int) -> list[VectorDomain]:
    members = tuple(ProcessId(f"p{rank}") for rank in range(size))
    view = View(GroupName("note"), ViewNumber(1), members)
    machines = [VectorDomain() for _ in members]
    for rank, machine in enumerate(machines):
        machine.install(GROUP, view, Rank(rank))
    return machines


def test_worked_example_has_the_bytes_of_the_story() -> None:
    """The hexadecimal column is the frame that the machine and the codec make of the example."""
    first, second = _machines(2)
    second.receive(first.multicast(GROUP, [b"something"], Order.CAUSAL))
    runs = [
        second.multicast(GROUP, [b"hello", b"world"], Order.CAUSAL),
        second.multicast(GROUP, [b"bye"], Order.CAUSAL),
    ]
    column = re.findall(r"^((?:[0-9a-f]{2} )+) ", _part("worked example"), re.MULTILINE)
    data = bytes.fromhex("".join(column))
    assert encode_runs(0x0BADCAFE, 1, runs) == data
    assert decode_frame(data) == Runs(0x0BADCAFE, 1, runs)


def _header_row(messages: int, entries: int, lengths: str) -> str:
    machines = _machines(entries + 1)
    for sender in machines[1:]:
        machines[0].receive(sender.multicast(GROUP, [b""], Order.CAUSAL))
    payloads = [bytes(64)] * messages
    if lengths == "unequal":
        payloads[0] = bytes(63)
    run = machines[0].multicast(GROUP, payloads, Order.CAUSAL)
    header = len(encode_runs(0, 0, [run])) - sum(map(len, payloads))
    cells = (messages, entries, lengths, header, f"{header / messages:.2f}")
    return "| " + " | ".join(map(str, cells)) + " |"


def test_header_table_has_the_numbers_of_real_frames() -> None:
    """Each row is measured again."""
    rows = _part("header bytes").splitlines()[2:]
    assert len(rows) >= 5
    for row in rows:
        messages, entries, lengths, *_ = row.strip("| ").split(" | ")
        assert row == _header_row(int(messages), int(entries), lengths)


def test_limits_are_those_of_the_codec() -> None:
    """The table has the constants of the code, in its order."""
    values = re.findall(r"\| (\d+) \|", _part("limits"))
    assert list(map(int, values)) == [
        records.PAYLOAD_BYTES_MAX,
        frames.FRAME_BYTES_MAX,
        records.MESSAGES_MAX,
        records.MEMBERS_MAX,
    ]


@pytest.mark.parametrize(
    ("bits", "run"),
    [
        (0b0001_0000, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.FIFO, (), [b""])),
        (0b0001_0001, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.CAUSAL, (), [b""])),
        (0b0001_0010, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.TOTAL, (), [b""])),
        (0b0001_1000, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.FIFO, ((1, 1),), [b""])),
        (0b0000_0000, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.FIFO, (), [b"", b"x"])),
        (0b0010_0000, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.FIFO, (), [b"", b"x" * 256])),
        (0b0100_0000, Run(GROUP, ViewNumber(1), Rank(0), 1, Order.FIFO, (), [b"", b"x" * 65536])),
    ],
)
def test_flags_are_as_the_table_of_bits_says(bits: int, run: Run) -> None:
    """The byte behind the header and the number of records has the bits that the run needs."""
    assert encode_runs(0, 0, [run])[8] == bits


def test_every_reference_of_the_note_leads_somewhere() -> None:
    """Files that the note points to are there."""
    targets = re.findall(r"\]\(([^)]+)\)", NOTE.read_text("utf-8"))
    assert len(targets) > 10
    assert [target for target in targets if not (NOTE.parent / target).exists()] == []


def test_smallest_parts_are_as_short_as_the_note_says() -> None:
    """8 bytes for a frame of runs, 7 for a record, 3 for one that continues."""
    sentence = re.search(
        r"frame of runs has (\d+) bytes and up, a record (\d+) and up \((\d+) when",
        NOTE.read_text("utf-8"),
    )
    assert sentence
    frame, record, continuing = map(int, sentence.groups())
    first, second = (
        Run(GROUP, ViewNumber(1), Rank(0), number, Order.CAUSAL, (), [b""]) for number in (1, 2)
    )
    assert len(encode_runs(0, 0, [first])) == frame + record
    assert len(encode_runs(0, 0, [first, second])) == frame + record + continuing


def test_multicast_is_sent_once_and_nothing_is_ever_answered() -> None:
    """No further message: what arrives makes no process send, whether held or delivered."""
    members = (ProcessId("p"), ProcessId("q"), ProcessId("r"))
    view = View(GroupName("note"), ViewNumber(1), members)
    p, q, r = (WholeProcess(member, view) for member in members)
    question = _only_send(p.multicast([b"question"], Order.CAUSAL))
    assert q.receive(members[0], question) == [DeliverRuns([question])]
    answer = _only_send(q.multicast([b"answer"], Order.CAUSAL))
    assert r.receive(members[1], answer) == []
    assert r.receive(members[0], question) == [DeliverRuns([question, answer])]


def _only_send(done: Done) -> Run:
    (send,) = (effect for effect in done if isinstance(effect, SendRun))
    return send.run
