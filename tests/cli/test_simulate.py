"""``antiphon simulate`` as a user meets it."""

import json
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.command import antiphon

from antiphon.oracle import judge
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Property, Status

ISSUED = ("simulate", "--processes", "5", "--messages", "2000", "--seed", "7")


def events_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every segment, by its path below the run folder."""
    events = folder / "events"
    return {
        str(path.relative_to(events)): path.read_bytes()
        for path in sorted(events.rglob("*.ndjson"))
    }


def test_same_seed_twice_gives_identical_bytes(tmp_path: Path) -> None:
    """Two runs of one seed, also into the same folder, write byte-identical events."""
    run = tmp_path / "a"
    assert antiphon(*ISSUED, "--out", str(run)).returncode == 0
    first = events_of(run)
    assert antiphon(*ISSUED, "--out", str(run)).returncode == 0
    other_hashes = {"PYTHONHASHSEED": "12345"}
    done = antiphon(*ISSUED, "--out", str(tmp_path / "b"), environment=other_hashes)
    assert done.returncode == 0
    assert len(first) == 5
    assert events_of(run) == first
    assert events_of(tmp_path / "b") == first


def test_other_seed_gives_another_world(tmp_path: Path) -> None:
    """The seed is what makes the world."""
    for seed in ("1", "2"):
        words = ("--messages", "50", "--seed", seed, "--out", str(tmp_path / seed))
        assert antiphon("simulate", *words).returncode == 0
    assert events_of(tmp_path / "1") != events_of(tmp_path / "2")


def test_replay_command_gives_the_run_again(tmp_path: Path) -> None:
    """The command recorded in run.json repeats an unusual run, byte for byte."""
    words = ["--messages", "300", "--order", "total", "--uniform", "--delay-us", "300"]
    done = antiphon("simulate", *words, "--seed", "3", "--json", "--out", str(tmp_path / "a"))
    summary = json.loads(done.stdout)
    assert summary["messages"] == 300
    assert summary["copies"] > 300
    first = events_of(tmp_path / "a")
    replay = shlex.split(json.loads((tmp_path / "a" / "run.json").read_text())["replay"])
    assert replay[0] == "antiphon"
    assert antiphon(*replay[1:]).returncode == 0
    assert events_of(tmp_path / "a") == first


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--order", "fifo"),
        ("--order", "total"),
        ("--uniform",),
        ("--order", "total", "--uniform"),
        ("--delay-us", "0", "--delay-us-min", "0"),
    ],
    ids=" ".join,
)
def test_every_order_keeps_its_promises(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What was asked for is judged, and holds."""
    run = tmp_path / "run"
    done = antiphon("simulate", "--messages", "400", *words, "--out", str(run))
    assert done.returncode == 0, done.stderr
    verdict = judge(read_rows(run))
    found = {item.property: item.status for item in verdict.properties}
    assert Status.VIOLATED not in found.values()
    is_total, is_uniform = "total" in words, "--uniform" in words
    assert (found[Property.TOTAL] is Status.HOLDS) == is_total
    assert (found[Property.UNIFORM] is Status.HOLDS) == is_uniform


def test_fifo_world_is_not_causal(tmp_path: Path) -> None:
    """Messages in FIFO order do overtake their causes: asked for causal order, they would fail."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "400", "--order", "fifo", "--out", str(run))
    rows = [event for event, _, _ in read_rows(run)]
    for row in rows:
        row.order = ""
    assert judge(rows).of(Property.CAUSAL).status is Status.VIOLATED


def test_simulation_needs_the_delay_queue(tmp_path: Path) -> None:
    """The default world really holds messages back, so its verdicts mean something."""
    done = antiphon("simulate", "--messages", "400", "--json", "--out", str(tmp_path / "run"))
    assert json.loads(done.stdout)["held_runs_max"] > 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--order", "any"), "order 'any' cannot be simulated: choose causal, fifo or total"),
        (("--processes", "0"), "from 1 to"),
        (("--messages", "0"), "at least one message"),
        (("--delay-us", "-1"), "delays cannot be negative"),
        (("--answers", "3"), "answers must be from 0 to 1"),
    ],
)
def test_impossible_world_is_refused_in_one_sentence(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    """What cannot be simulated ends with status 2 and says why."""
    done = antiphon("simulate", *words, "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert done.stderr.startswith("antiphon: ")
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    """A folder that is not a simulated run is not replaced."""
    (tmp_path / "thesis.txt").write_text("years of work")
    done = antiphon("simulate", "--messages", "10", "--out", str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_unwritable_folder_says_what_to_do() -> None:
    """A place where nothing can be written ends with status 2 and a sentence."""
    done = antiphon("simulate", "--messages", "10", "--out", "/proc/nothing/here")
    assert done.returncode == 2
    assert "choose another folder" in done.stderr


def test_parquet_is_the_same_run(tmp_path: Path) -> None:
    """Written directly, it is judged as the lines are, and replayed as Parquet."""
    words = ("simulate", "--messages", "300", "--seed", "3")
    antiphon(*words, "--out", "lines", folder=tmp_path)
    assert antiphon(*words, "--parquet", "--out", "columns", folder=tmp_path).returncode == 0
    assert antiphon("compact", "lines", "-o", "packed", folder=tmp_path).returncode == 0
    for name in ("columns", "packed"):
        found = sorted(path.name for path in (tmp_path / name / "events" / "p1").iterdir())
        assert found == ["000001.parquet"]
    tables = [pq.read_table(tmp_path / name / "events" / "p1") for name in ("columns", "packed")]
    assert tables[0].equals(tables[1])
    done = antiphon("verify", "columns", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "300 messages" in done.stdout
    replay = json.loads((tmp_path / "columns" / "run.json").read_text())["replay"]
    assert "--parquet" in replay
    assert antiphon(*shlex.split(replay)[1:], folder=tmp_path).returncode == 0


def test_parquet_that_finds_no_room_is_a_sentence(tmp_path: Path) -> None:
    """And leaves nothing that looks like a trace."""
    words = ("simulate", "--messages", "300", "--parquet", "--out", "run")
    done = antiphon(*words, folder=tmp_path, file_bytes_max=800)
    assert done.returncode == 2
    assert "cannot be written (File too large): make room and rerun" in done.stderr
    assert list((tmp_path / "run").rglob("*.parquet")) == []


GROUPS = ("--group", "A=p1,p2,p3", "--group", "B=p2,p3,p4", "--group", "C=p1,p4,p5")


@pytest.mark.parametrize(
    "words",
    [
        ("--messages", "300"),
        ("--messages", "120", "--crashes", "1", "--partitions", "1", "--resilience", "2"),
        ("--messages", "200", "--order", "total", "--resilience", "all"),
    ],
    ids=" ".join,
)
def test_several_groups_are_replayed_and_judged(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Causality holds across groups, and the same command gives the same bytes."""
    done = antiphon("simulate", *GROUPS, *words, "--seed", "4", "--out", str(tmp_path / "a"))
    assert done.returncode == 0, done.stderr
    first = events_of(tmp_path / "a")
    rows = [event for event, _, _ in read_rows(tmp_path / "a")]
    assert {row.group for row in rows if row.kind == "deliver"} == {"A", "B", "C"}
    verdict = judge(rows)
    assert not verdict.is_violated
    assert verdict.of(Property.CAUSAL).status is Status.HOLDS
    assert max(row.queue_depth for row in rows) > 0, "something was held back"
    replay = json.loads((tmp_path / "a" / "run.json").read_text())["replay"]
    other_hashes = {"PYTHONHASHSEED": "12345"}
    assert antiphon(*shlex.split(replay)[1:], environment=other_hashes).returncode == 0
    assert events_of(tmp_path / "a") == first


def test_scenario_is_lived_through(tmp_path: Path) -> None:
    """A file says who is there and what is done; its trace is one of all groups."""
    scenario = Path("tests/scenarios_domains/figure_4_causal_cycle_over_two_groups.txt").resolve()
    words = ("simulate", "--scenario", str(scenario), "--json", "--out", str(tmp_path / "a"))
    summary = json.loads(antiphon(*words).stdout)
    assert (summary["processes"], summary["messages"]) == (4, 4)
    assert sorted(path.name for path in (tmp_path / "a" / "events").iterdir()) == [
        "p1", "p2", "p3", "p4",
    ]  # fmt: skip
    assert judge(read_rows(tmp_path / "a")).of(Property.CAUSAL).status is Status.HOLDS


def test_declared_structure_is_simulated_and_said_again(tmp_path: Path) -> None:
    """--overlaps and --excluded: the trace is right, and the printed command has them."""
    overlaps = ("--overlaps", "A,B", "--overlaps", "B,C", "--overlaps", "A,C")
    words = ("simulate", *GROUPS, *overlaps, "--excluded", "C", "--messages", "60")
    done = antiphon(*words, "--out", str(tmp_path / "a"))
    assert done.returncode == 0, done.stderr
    first = events_of(tmp_path / "a")
    assert judge(read_rows(tmp_path / "a")).of(Property.CAUSAL).status is Status.HOLDS
    replay = json.loads((tmp_path / "a" / "run.json").read_text())["replay"]
    assert " ".join([*overlaps, "--excluded", "C"]) in replay
    assert antiphon(*shlex.split(replay)[1:]).returncode == 0
    assert events_of(tmp_path / "a") == first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--group", "A"), "group 'A' cannot be read: write NAME=p1,p2,p3"),
        (("--group", "A=p1,p1"), "each of its members once"),
        (("--group", "A=p1", "--group", "A=p2"), "each group"),
        (("--group", "A=p/1"), "is not usable"),
        (("--group", "A=p1,p2", "--processes", "7"), "--processes does not go with --group"),
        (("--group", "A=p1,p2", "--crashes", "1"), "0 may fail"),
        (("--group", "A=p1,p2", "--resilience", "0"), "resilience '0' cannot be read"),
        (("--group", "A=p1,p2", "--messages", "20000"), "up to 10,000 messages"),
        (("--resilience", "2"), "--resilience is of several groups"),
        (("--overlaps", "A,B"), "--overlaps is of several groups"),
        (("--excluded", "A"), "--excluded is of several groups"),
        (("--group", "A=p1,p2", "--overlaps", "A"), "overlap 'A' cannot be read: write A,B"),
        (("--group", "A=p1,p2", "--excluded", "A"), "group A is excluded and not declared"),
        (
            ("--group", "A=p1,p2", "--group", "B=p1,p3", "--overlaps", "A,C"),
            "p1 is in groups A and B, which are not declared to overlap",
        ),
        (("--scenario", "nowhere.txt"), "scenario nowhere.txt cannot be read"),
        (("--scenario", "nowhere.txt", "--group", "A=p1"), "leave --group and what goes"),
    ],
)
def test_impossible_groups_are_refused_in_one_sentence(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    """What cannot be simulated ends with status 2 and says why."""
    done = antiphon("simulate", *words, "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_group_with_faults_is_replayed_and_judged(tmp_path: Path) -> None:
    """Views change, promises are kept, and the same command gives the same bytes."""
    words = ("simulate", "--messages", "120", "--crashes", "1", "--partitions", "1", "--seed", "4")
    assert antiphon(*words, "--out", str(tmp_path / "a")).returncode == 0
    first = events_of(tmp_path / "a")
    verdict = judge(read_rows(tmp_path / "a"))
    assert not verdict.is_violated
    assert verdict.of(Property.VIEW_ATOMIC).status is Status.HOLDS
    replay = json.loads((tmp_path / "a" / "run.json").read_text())["replay"]
    assert antiphon(*shlex.split(replay)[1:]).returncode == 0
    assert events_of(tmp_path / "a") == first
