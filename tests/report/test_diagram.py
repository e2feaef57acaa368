"""The space-time diagram as data: events, arrows, holds, levels, witnesses, what is left out."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.known_domains import chain, in_domain
from tests.report.worlds import CHAT, drawn, record_of, row, rows_of

from antiphon.report.diagram import levels_of
from antiphon.report.record import CODE, KINDS
from antiphon.trace.schema import Event


def test_violated_order_is_drawn_with_its_witness() -> None:
    """Lanes hold their rows in order, arrows lead on, and the chain and the late one are found."""
    diagram = drawn(CHAT)
    assert diagram.lanes == ["A", "B", "C"]
    assert diagram.lane_sizes == [2, 2, 2]
    a_multicast, a_deliver, b_deliver, b_multicast, c_answer, c_question = range(6)
    assert sorted(diagram.arrows) == [
        (a_multicast, b_deliver),
        (a_multicast, c_question),
        (b_multicast, a_deliver),
        (b_multicast, c_answer),
    ]
    assert diagram.chains == [[a_multicast, b_deliver, b_multicast, c_answer]]
    assert diagram.lates == [c_question]
    assert diagram.levels == [0, 3, 1, 2, 3, 4]
    assert diagram.times_us is None
    assert diagram.moments[0][0] == "violation"


def test_held_message_is_linked_to_its_arrival() -> None:
    """An arrow ends where a message arrives; its delivery says how far back that was."""
    diagram = drawn(
        rows_of(
            row("A", "multicast", time_us=5),
            row("B", "receive", "A", time_us=7),
            row("B", "multicast", time_us=8),
            row("B", "deliver", "A", time_us=9),
        )
    )
    assert diagram.arrows == [(0, 1)]
    assert diagram.holds == [0, 0, 0, 2]
    assert diagram.times_us == [0, 2, 3, 4]


def test_own_message_that_waits_is_linked_to_its_multicast() -> None:
    """What a process delivers of its own has no arrow, but waited since it was multicast."""
    diagram = drawn(rows_of(row("A", "multicast"), row("A", "deliver", "A")))
    assert not diagram.arrows
    assert diagram.holds == [0, 1]


def test_delivery_of_several_multicast_rows_has_an_arrow_from_each() -> None:
    """How messages are grouped into rows may differ between processes."""
    diagram = drawn(
        rows_of(
            *(Event(process="A", kind="multicast", first=n, count=2) for n in (1, 3, 5)),
            Event(process="B", kind="deliver", sender="A", first=2, count=3),
        )
    )
    assert diagram.arrows == [(0, 3), (1, 3)]


def test_chain_across_groups_is_marked_from_group_to_group() -> None:
    """Its events are those of the chain, and the delivery that came too late is found."""
    diagram = drawn(rows_of(*in_domain(chain())))
    said = [
        (diagram.lanes[lane], KINDS[diagram.kinds[number]], diagram.streams[stream][2])
        for lane, size in enumerate(diagram.lane_sizes)
        for number in range(sum(diagram.lane_sizes[:lane]), sum(diagram.lane_sizes[: lane + 1]))
        for stream in [diagram.stream_of[number]]
    ]
    [events] = diagram.chains
    assert [said[number] for number in events] == [
        ("a", "multicast", "A"), ("b", "deliver", "A"), ("b", "multicast", "B"),
        ("c", "deliver", "B"), ("c", "multicast", "C"), ("e", "deliver", "C"),
    ]  # fmt: skip
    assert [said[number] for number in diagram.lates] == [("e", "deliver", "A")]


def test_delivery_of_what_nobody_multicast_has_no_arrow() -> None:
    """The nearest multicast is not taken for its origin."""
    assert not drawn(rows_of(row("A", "multicast"), row("B", "deliver", "A", 7))).arrows


def test_frames_are_not_shown_and_not_missed() -> None:
    """Rows about frames are no events of the diagram, and leave no gap."""
    diagram = drawn(rows_of(row("A", "multicast"), row("A", "send_frame"), row("A", "crash")))
    assert [KINDS[kind] for kind in diagram.kinds] == ["multicast", "crash"]
    assert not diagram.gaps
    assert diagram.left_out == 0


def test_beginning_and_end_are_rows_that_are_shown() -> None:
    """A record that begins and ends with frames has a beginning and an end all the same."""
    frame = row("A", "send_frame")
    diagram = drawn(rows_of(frame, row("A", "multicast"), row("A", "multicast", first=2), frame))
    assert diagram.moments == [("begin", "the beginning", 0), ("end", "the end", 1)]
    assert drawn(rows_of(frame)).moments == []


def test_single_row_left_out_is_a_gap() -> None:
    """A line is broken wherever a row is missing, be it one."""
    record = record_of(rows_of(*(row("A", "multicast", first=n) for n in (1, 2, 3))))
    lane = record.lanes[0]
    assert (lane.shown_count(1, 2), lane.shown_count(1, 1)) == (1, 0)


def test_letter_is_an_arrow_to_who_takes_it() -> None:
    """Letters are told apart by addressee."""
    diagram = drawn(
        rows_of(
            *(Event(process="A", kind="send", first=1, detail=to) for to in ("B", "C")),
            row("C", "take", "A"),
            row("B", "deliver", "A", 7),
        )
    )
    assert diagram.lanes == ["A", "C", "B"]
    assert diagram.arrows == [(1, 2)]


def test_lanes_follow_seniority_and_incarnations_their_process() -> None:
    """Who is most senior is on top; who came back is below its former self."""
    diagram = drawn(
        rows_of(
            Event(process="b~2", kind="view", view=2, members=["c", "a", "b~2"]),
            Event(process="b", kind="view", members=["c", "b", "a"]),
            Event(process="a", kind="view", members=["c", "b", "a"]),
            Event(process="c", kind="view", members=["c", "b", "a"]),
        )
    )
    assert diagram.lanes == ["c", "a", "b", "b~2"]


def test_record_that_breaks_off_is_marked_and_a_moment() -> None:
    """A process that says how it began and not how it ended was killed."""
    diagram = drawn(
        rows_of(
            Event(process="A", kind="start"),
            row("A", "multicast"),
            Event(process="B", kind="start"),
            Event(process="B", kind="stop", detail="quiescent"),
        )
    )
    assert diagram.cut_off == [1]
    assert ("cut", "the record of A breaks off", 1) in diagram.moments


def test_rows_of_a_process_from_several_files_are_put_in_order() -> None:
    """Whatever file comes first, rows are ordered by their numbers."""
    rows = rows_of(
        Event(process="A", index=1, kind="multicast", first=2),
        Event(process="A", index=0, kind="multicast", first=1),
    )
    diagram = drawn(rows)
    assert diagram.firsts == [1, 2]
    assert diagram.lines == [2, 1]


def _talk(count: int) -> list[Event]:
    """Return a long talk of two, with a crash in the middle of it."""
    events = []
    for n in range(1, count + 1):
        events.append(row("A", "multicast", first=n, time_us=2 * n))
        events.append(row("B", "deliver", "A", n, time_us=2 * n + 1))
    events.append(Event(process="C", kind="crash", time_us=count))
    return events


def test_long_run_keeps_what_is_around_its_moments() -> None:
    """Of too many rows, those around the crash, the beginning and the end stay."""
    diagram = drawn(rows_of(*_talk(5_000)), events_max=600)
    assert len(diagram.kinds) <= 600
    assert diagram.left_out == 10_001 - len(diagram.kinds)
    assert diagram.times_us is not None
    crash = diagram.kinds.index(CODE["crash"])
    near = [time for time in diagram.times_us if abs(time - diagram.times_us[crash]) < 50]
    assert len(near) > 50
    assert 1 in diagram.firsts
    assert 5_000 in diagram.firsts
    assert sum(diagram.gaps.values()) == diagram.left_out
    assert all(source < target for source, target in diagram.arrows)


def test_too_many_processes_keep_those_of_a_witness() -> None:
    """A violation is shown with all of its processes, whoever is left out."""
    crowd = [row(f"p{n}", "multicast", first=m) for n in range(30) for m in (1, 2, 3)]
    rows = [*(event for event, _, _ in CHAT), *crowd]
    diagram = drawn(rows_of(*rows), lanes_max=5)
    assert len(diagram.lanes) == 5
    assert {"A", "B", "C"} <= set(diagram.lanes)
    assert all(event >= 0 for chain in diagram.chains[:1] for event in chain)


def test_forged_cycle_is_drawn_all_the_same() -> None:
    """Two deliveries that each come before the other's multicast have some level."""
    diagram = drawn(
        rows_of(
            row("A", "deliver", "B"),
            row("A", "multicast"),
            row("B", "deliver", "A"),
            row("B", "multicast"),
        )
    )
    assert len(diagram.arrows) == 2
    assert min(diagram.levels) == 0


def test_forged_repetitions_do_not_make_a_page_of_any_size() -> None:
    """Arrows are bounded, however many rows claim to be of the same messages."""
    many = [Event(process="A", kind="multicast", first=1, count=50) for _ in range(300)]
    many += [Event(process="B", kind="deliver", sender="A", first=1, count=50)] * 300
    diagram = drawn(rows_of(*many))
    assert len(diagram.arrows) <= 3 * 600


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_levels_grow_along_every_lane_and_arrow(sizes: list[int], data: st.DataObject) -> None:
    """Without cycles, an event is later than what comes before it, at its process or elsewhere."""
    total = sum(sizes)
    lanes = [lane for lane, size in enumerate(sizes) for _ in range(size)]
    place = [event - lanes.index(lanes[event]) for event in range(total)]
    # Arrows that lead to a later place in another lane cannot make a cycle.
    possible = [
        (source, target)
        for source in range(total)
        for target in range(total)
        if lanes[source] != lanes[target] and place[source] < place[target]
    ]
    arrows = data.draw(st.lists(st.sampled_from(possible), max_size=8)) if possible else []
    levels = levels_of(sizes, arrows)
    assert all(levels[source] < levels[target] for source, target in arrows)
    for before, after in pairwise(range(total)):
        assert lanes[before] != lanes[after] or levels[before] < levels[after]
