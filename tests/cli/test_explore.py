"""``antiphon explore`` as a user meets it: what it finds, keeps, prints and refuses."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import antiphon

from antiphon.sim.scenario import parse_scenario

BUGGY = """
import sys
from antiphon.cli import main
from antiphon.membership.view_atomic_flush import ViewAtomicFlush

ViewAtomicFlush._relay = lambda self: None
sys.argv[0] = "antiphon"
main()
"""
"""The command line with a bug: nothing of a failed sender is forwarded."""


LOSSY = """
import sys
from antiphon.cli import main
from antiphon.net.session.session import Session

right = Session.resume
Session.resume = lambda self, received: right(self, received)[1:]
sys.argv[0] = "antiphon"
main()
"""
"""The command line with another: a session that is taken up again loses a frame."""


def buggy(folder: Path, *words: str, bug: str = BUGGY) -> "subprocess.CompletedProcess[str]":
    """Run the command line with a planted bug."""
    script = folder / "buggy.py"
    script.write_text(bug)
    done = subprocess.run(
        [sys.executable, str(script), *words],
        cwd=folder,
        env={
            **os.environ,
            "COLUMNS": "200",
            "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def found(folder: Path) -> list[dict[str, str | int]]:
    """Return what exploration finds with the bug, as JSON says it."""
    words = ("--seeds", "0..40", "--failures", "1", "--json")
    done = buggy(folder, "explore", *words)
    assert done.returncode == 1
    findings: list[dict[str, str | int]] = json.loads(done.stdout)["findings"]
    return findings


@pytest.mark.parametrize("kind", ["--flush=view-atomic", "--groups", "--drivers"])
def test_one_world_is_one(tmp_path: Path, kind: str) -> None:
    """The count agrees with its noun."""
    done = antiphon("explore", "--seeds", "3..3", kind, folder=tmp_path)
    assert done.stdout.startswith("1 world "), done


def test_worlds_that_hold_end_with_status_0(tmp_path: Path) -> None:
    """The answer is one line, with how many worlds there were, then the situations they met."""
    done = antiphon("explore", "--seeds", "0..4", folder=tmp_path)
    assert done.returncode == 0
    first, title, letters, crash, *_, last, never = done.stdout.splitlines()
    assert first == "5 worlds with flush view-atomic, and every promise was kept"
    assert title == "pairs of events inside one view change, in how many worlds:"
    assert letters.split() == list("abcdefghijklmnopqr")
    assert (crash[0], crash.split()[-1]) == ("a", "crash")
    assert last.endswith("of 171 pairs were reached")
    assert never.startswith("never: ")
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 81
    assert not (tmp_path / "runs").exists()


def test_single_seed_is_a_range_too(tmp_path: Path) -> None:
    """One number is one world."""
    done = antiphon("explore", "--seeds", "7", "--flush", "all-to-all", folder=tmp_path)
    assert done.returncode == 0
    assert "with flush all-to-all" in done.stdout


def test_several_jobs_find_nothing_else(tmp_path: Path) -> None:
    """More processes make it faster, not different."""
    done = antiphon("explore", "--seeds", "0..119", "--jobs", "2", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("120 worlds")


FORGETFUL = """
import sys
from antiphon.cli import main
from antiphon.ordering.blocks.recovery import BlockRecovery
from antiphon.ordering.vector import VectorDomain

VectorDomain.lack = lambda *_: None
BlockRecovery._lacking = lambda *_: []
sys.argv[0] = "antiphon"
main()
"""
"""The command line with bugs that most worlds meet: no past is waited for, no loss is repaired."""


@pytest.mark.parametrize("kind", ["--domains", "--groups", "--blocks"])
@pytest.mark.parametrize("failures", ["2", "100"])
def test_several_jobs_find_the_same_in_the_same_order(
    tmp_path: Path, kind: str, failures: str
) -> None:
    """What is found, printed and kept is the same, with as many failing worlds as are asked for."""
    told = []
    for jobs in ("1", "2"):
        words = ("explore", kind, "--seeds", "0..24", "--jobs", jobs, "--failures", failures)
        folder = tmp_path / jobs
        folder.mkdir()
        done = buggy(folder, *words, "--json", bug=FORGETFUL)
        kept = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.ndjson")}
        told.append((done.returncode, done.stdout, kept))
    assert told[0] == told[1]
    findings = json.loads(told[0][1])["findings"]
    assert 2 <= len(findings) <= int(failures)
    assert [finding["seed"] for finding in findings] == sorted(each["seed"] for each in findings)


def test_json_is_one_document(tmp_path: Path) -> None:
    """Machines get what people get, and nothing beside it."""
    done = antiphon("explore", "--seeds", "0..2", "--json", folder=tmp_path)
    document = json.loads(done.stdout)
    pairs = document.pop("pairs")
    assert document == {"seeds": "0..2", "flush": "view-atomic", "findings": []}
    assert len(pairs) == 171
    assert pairs["crash+leave"] >= 0
    (finding,) = found(tmp_path)
    assert set(finding) == {"seed", "what", "text", "replay", "shrunk", "steps"}


def test_failing_world_is_told_shrunk_and_kept(tmp_path: Path) -> None:
    """Status 1, the seed, the promise, and a folder with the small scenario and its trace."""
    done = buggy(tmp_path, "explore", "--seeds", "0..40", "--failures", "1")
    assert done.returncode == 1
    first, replay, shrunk = done.stdout.splitlines()[:3]
    assert first.startswith("seed ")
    assert "replay: antiphon explore --seeds" in replay
    assert "shrunk from" in shrunk
    (folder,) = (tmp_path / "runs").iterdir()
    scenario = parse_scenario((folder / "scenario.txt").read_text())
    assert 0 < len(scenario.steps) < 15
    assert list((folder / "events").rglob("*.ndjson"))


@pytest.mark.parametrize("which", ["replay", "shrunk"])
def test_printed_command_replays(tmp_path: Path, which: str) -> None:
    """With the bug the printed commands fail as before; without it they hold."""
    (finding,) = found(tmp_path)
    words = shlex.split(str(finding[which]))
    assert words[0] == "antiphon"
    again = buggy(tmp_path, *words[1:])
    assert again.returncode == 1
    assert str(finding["what"]) in again.stdout
    assert antiphon(*words[1:], folder=tmp_path).returncode == 0


def test_replay_speaks_json_too(tmp_path: Path) -> None:
    """One document, with what was found or nothing."""
    (finding,) = found(tmp_path)
    words = [*shlex.split(str(finding["shrunk"]))[1:], "--json"]
    with_bug = json.loads(buggy(tmp_path, *words).stdout)["finding"]
    assert with_bug["what"] == finding["what"]
    assert json.loads(antiphon(*words, folder=tmp_path).stdout)["finding"] is None


def test_worlds_can_be_aimed_at_a_pair_of_events(tmp_path: Path) -> None:
    """The pair that is named comes about in some of them, in either order of its names."""
    for pair in ("leave+crash", "crash+leave"):
        words = ("--seeds", "0..9", "--aim", pair, "--json", "--failures", "20")
        pairs = json.loads(antiphon("explore", *words, folder=tmp_path).stdout)["pairs"]
        assert pairs["crash+leave"] > 0


def test_finding_of_an_aimed_world_is_replayed_aimed(tmp_path: Path) -> None:
    """The printed command says what the world was aimed at."""
    words = ("--seeds", "0..60", "--failures", "1", "--aim", "crash+multicast", "--json")
    (finding,) = json.loads(buggy(tmp_path, "explore", *words).stdout)["findings"]
    assert "--aim crash+multicast" in finding["replay"]
    again = buggy(tmp_path, *shlex.split(finding["replay"])[1:])
    assert again.returncode == 1
    assert finding["what"] in again.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--aim", "crash"), "--aim 'crash' is no pair of events: write A+B, each one of crash"),
        (("--aim", "crash+rain"), "is no pair of events"),
        (("--aim", "crash+uniform", "--flush", "coordinator"), "is no pair of events"),
        (("--seeds", "many"), "seeds 'many' cannot be read: write FIRST..LAST, as in 0..999"),
        (("--seeds", "0.."), "seeds '0..' cannot be read"),
        (("--seeds", "-3..4"), "cannot be read"),
        (("--seeds", "²..3"), "cannot be read"),
        (("--seeds", "5..2"), "5..2"),
        (("--jobs", "-1", "--seeds", "0..60"), "jobs"),
        (("--failures", "0", "--seeds", "0..1"), "failures"),
        (("--flush", "none"), "there is no flush 'none': choose one of view-atomic"),
        (("--replay", "nowhere.txt"), "cannot be read (No such file or directory)"),
        (("--replay", "."), "cannot be read (Is a directory)"),
        (("--replay", "bytes.txt"), "cannot be read"),
        (("--replay", "wrong.txt"), "there is no verb 'explode'"),
        (("--replay", "empty_step.txt"), "line 1 of the scenario"),
        (("--replay", "no_flush.txt"), "there is no flush 'none'"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    """What cannot be done ends with status 2 and says what to do."""
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "wrong.txt").write_text("at 5 explode p1\n")
    (tmp_path / "empty_step.txt").write_text("at 5 crash\n")
    (tmp_path / "no_flush.txt").write_text("flush none\n")
    done = antiphon("explore", *words, folder=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""


def test_driver_worlds_are_explored_too(tmp_path: Path) -> None:
    """The network driver lives through random worlds; a single seed can be replayed."""
    done = antiphon("explore", "--drivers", "--seeds", "0..11", "--jobs", "2", folder=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "12 worlds of the network driver with flush view-atomic, and every promise was kept\n",
    )
    wrong = antiphon("explore", "--drivers", "--aim", "leave+crash", folder=tmp_path)
    assert (wrong.returncode, "--drivers go with --seeds" in wrong.stderr) == (2, True)


def test_driver_world_that_fails_is_told_and_kept(tmp_path: Path) -> None:
    """Status 1, the seed, the one command that replays it, and its scenario and trace."""
    words = ("explore", "--drivers", "--seeds", "0..40", "--failures", "1")
    done = buggy(tmp_path, *words, bug=LOSSY)
    assert done.returncode == 1
    first, replay, scenario, trace = done.stdout.splitlines()
    assert first.startswith("seed ")
    assert "replay: antiphon explore --drivers --seeds" in replay
    assert "scenario.txt" in scenario
    assert "antiphon verify" in trace
    (folder,) = (tmp_path / "runs").iterdir()
    assert list((folder / "events").rglob("*.ndjson"))


CROSSED = """
import sys
from antiphon.cli import main
from antiphon.net.driver.reception import Reception

Reception._keep = lambda *_: None
sys.argv[0] = "antiphon"
main()
"""
"""The command line with a third: what founders say early is lost."""


def test_driver_world_of_several_groups_is_kept_by_group(tmp_path: Path) -> None:
    """The one command that is printed replays it; each group has a run folder of its own."""
    done = buggy(tmp_path, "explore", "--drivers", "--seeds", "176", "--json", bug=CROSSED)
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["replay"] == "antiphon explore --drivers --seeds 176 --flush view-atomic"
    again = buggy(tmp_path, *shlex.split(finding["replay"])[1:], bug=CROSSED)
    assert finding["text"][:20] in again.stdout
    kept = Path(tmp_path / finding["kept"])
    assert "groups hall" in (kept / "scenario.txt").read_text()
    (verified,) = [line for line in again.stdout.splitlines() if line.endswith("/hall")]
    assert "antiphon verify" in verified
    assert list((kept / "hall" / "events").rglob("*.ndjson"))
    assert antiphon(*shlex.split(finding["replay"])[1:], folder=tmp_path).returncode == 0


UNANSWERED = """
import sys
from antiphon.cli import main
from antiphon.ordering.blocks.recovery import BlockRecovery

BlockRecovery._lacking = lambda _self, _members: []
sys.argv[0] = "antiphon"
main()
"""
"""The command line with a fourth: nothing that is lost is sent again."""


def test_worlds_of_datagrams_are_explored_and_replayed(tmp_path: Path) -> None:
    """Status 0 as it is; with a bug status 1, the seed and the one command that replays it."""
    done = antiphon("explore", "--blocks", "--seeds", "0..19", folder=tmp_path)
    assert done.returncode == 0
    assert "20 worlds of causal blocks" in done.stdout
    words = ("explore", "--blocks", "--seeds", "0..19", "--failures", "1", "--json")
    found = buggy(tmp_path, *words, bug=UNANSWERED)
    assert found.returncode == 1
    (finding,) = json.loads(found.stdout)["findings"]
    again = buggy(tmp_path, *shlex.split(finding["replay"])[1:], bug=UNANSWERED)
    assert finding["text"][:20] in again.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert list((folder / "events").rglob("*.ndjson"))
    both = antiphon("explore", "--blocks", "--groups", folder=tmp_path)
    assert both.returncode == 2
    assert "not with each other" in both.stderr
