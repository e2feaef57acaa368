"""Two ledgers in files, three processes, one of them killed at every step: no money is lost."""

import json
import os
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random

import pytest
from tests.net.harness import DEADLINE_S, free_addresses, verdict_on
from tests.net.processes import ROOT

from antiphon.trace.verdict import Property, Status

pytestmark = pytest.mark.net

MEMBER = "tests/net/ledger_member.py"
NAMES = ("anna", "ben", "clerk")

COORDINATOR_STEPS = ["before prepare", "after prepare", "after vote", "before decision"]
COORDINATOR_STEPS += ["after decision", "after delivery", "before commit", "after commit"]
PARTICIPANT_STEPS = ["before prepare", "after prepare", "before vote", "after vote"]
PARTICIPANT_STEPS += ["after delivery", "before commit", "after commit"]
INITIATOR_STEPS = ["after begin", "before vote", "after vote", "after delivery"]

CASES = [("anna ben clerk", "anna", step) for step in COORDINATOR_STEPS]
CASES += [("anna ben clerk", "ben", step) for step in PARTICIPANT_STEPS]
CASES += [("anna ben clerk", "clerk", step) for step in INITIATOR_STEPS]
CASES += [("clerk anna ben", "clerk", step) for step in [*INITIATOR_STEPS, "before decision"]]
CASES += [("clerk anna ben", "clerk", "after decision")]

ENDINGS = dict.fromkeys(["before prepare", "after prepare", "before vote"], ([10],))
ENDINGS |= dict.fromkeys(["after delivery", "before commit", "after commit"], ([10, 30],))
"""What has been booked in the end, where the step at which the process dies leaves no choice."""


class Bank:
    """The three processes, and a look into their files."""

    def __init__(self, order: str, folder: Path) -> None:
        """Prepare; the first in ``order`` is coordinator."""
        self.folder = folder
        self.addresses = free_addresses(order.split())
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.said = b""

    def start(self, name: str, step: str = "") -> None:
        """Start one, perhaps to die at a step."""
        arguments = {
            "me": name, "members": self.addresses, "folder": str(self.folder), "step": step
        }  # fmt: skip
        if name in self.processes:
            self.bury(name)
        paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.processes[name] = subprocess.Popen(
            [sys.executable, str(ROOT / MEMBER), json.dumps(arguments)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def bury(self, name: str) -> None:
        """Kill one if need be, and close what is left of it."""
        process = self.processes[name]
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        if name == "clerk":
            self.said = b""

    def tell_clerk(self, line: str) -> None:
        """Have the clerk move an amount."""
        clerk = self.processes["clerk"].stdin
        assert clerk is not None
        clerk.write(line + "\n")
        clerk.flush()

    def hear_clerk(self) -> str:
        """Return what the clerk says of a transfer."""
        clerk = self.processes["clerk"].stdout
        assert clerk is not None
        end = self.said.find(b"\n")
        while end < 0:
            assert select.select([clerk], [], [], DEADLINE_S)[0], "the clerk is silent"
            news = os.read(clerk.fileno(), 4096)
            assert news, f"the clerk is gone: {self.last_words('clerk')}"
            self.said += news
            end = self.said.find(b"\n")
        line, self.said = self.said[:end], self.said[end + 1 :]
        return line.decode()

    def last_words(self, name: str) -> str:
        """Return what one that has ended wrote to its standard error."""
        process = self.processes[name]
        return process.communicate(timeout=DEADLINE_S)[1]

    def rows(self, owner: str) -> dict[str, tuple[int, str]]:
        """Return a ledger's transactions, by name."""
        with closing(sqlite3.connect(self.folder / f"{owner}.db", timeout=5)) as file:
            rows = file.execute("SELECT name, amount, state FROM log").fetchall()
        return {name: (amount, state) for name, amount, state in rows}

    def close(self) -> None:
        """End the input of all, and wait until they have left."""
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.close()
        for process in self.processes.values():
            assert process.wait(DEADLINE_S) == 0, process.stderr and process.stderr.read()

    def wait_for_agreement(self) -> None:
        """Wait until nothing is prepared, and both have committed the same."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            anna, ben = self.rows("anna"), self.rows("ben")
            states = {state for _, state in [*anna.values(), *ben.values()]}
            if states <= {"committed"} and anna.keys() == ben.keys():
                return
            assert time.monotonic() < deadline, f"no agreement: {anna}, {ben}"
            time.sleep(0.02)


@contextmanager
def bank(order: str, folder: Path, victim: str = "", step: str = "") -> Iterator[Bank]:
    """Run a bank for as long as the block lasts; kill what is left of it."""
    found = Bank(order, folder)
    try:
        for name in NAMES:
            found.start(name, step if name == victim else "")
        yield found
    finally:
        for name in found.processes:
            found.bury(name)


def transfer(found: Bank, amount: int) -> None:
    """Have an amount moved; try again while somebody is still on the way back."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found.tell_clerk(str(amount))
        said = found.hear_clerk()
        if "is_committed=True" in said:
            return
        assert "is not in the group" in said or "was gone before it voted" in said, said
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def kill(found: Bank, victim: str) -> None:
    """Wait until the victim has killed itself, and start it again."""
    dead = found.processes[victim]
    assert dead.wait(DEADLINE_S) == -signal.SIGKILL, dead.stderr and dead.stderr.read()
    found.start(victim)


@pytest.mark.parametrize(("order", "victim", "step"), CASES)
def test_process_killed_at_a_step_loses_no_money(
    tmp_path: Path, order: str, victim: str, step: str
) -> None:
    """Killed at any step and started again, both ledgers agree, and the next transfer goes on."""
    with bank(order, tmp_path, victim, step) as found:
        found.tell_clerk("30")
        kill(found, victim)
        said = found.hear_clerk() if victim != "clerk" else None
        transfer(found, 10)
        found.wait_for_agreement()
        found.close()
        anna, ben = found.rows("anna"), found.rows("ben")
    assert {name: -amount for name, (amount, _) in anna.items()} == {
        name: amount for name, (amount, _) in ben.items()
    }
    amounts = sorted(amount for amount, _ in ben.values())
    assert amounts in ENDINGS.get(step, ([10], [10, 30]))
    if said is not None:
        assert ("is_committed=True" in said) == (amounts == [10, 30]), said
    judged = {item.property: item.status for item in verdict_on(tmp_path / "run").properties}
    assert judged[Property.COMMIT] is Status.HOLDS


def test_transfer_of_too_much_is_refused_by_all(tmp_path: Path) -> None:
    """Anna's ledger refuses what she does not have, and Ben's books nothing."""
    with bank("anna ben clerk", tmp_path) as found:
        found.tell_clerk("101")
        assert "anna refused" in found.hear_clerk()
        transfer(found, 100)
        found.wait_for_agreement()
        assert [amount for amount, _ in found.rows("ben").values()] == [100]


@pytest.mark.slow
def test_kills_at_any_moment_lose_no_money(tmp_path: Path) -> None:
    """Somebody is killed again and again while transfers are under way, and always comes back."""
    random = Random(4)
    with bank("anna ben clerk", tmp_path) as found:
        transfer(found, 1)
        for _ in range(30):
            victim = random.choice(NAMES)
            count = random.randint(1, 5)
            for _ in range(count):
                found.tell_clerk("1")
            time.sleep(random.random() * 0.02)
            found.start(victim)  # which kills who is there
            if victim != "clerk":
                for _ in range(count):
                    found.hear_clerk()
            transfer(found, 1)
        found.wait_for_agreement()
        found.close()
        anna, ben = found.rows("anna"), found.rows("ben")
    assert sum(amount for amount, _ in anna.values()) == -len(ben)
    judged = {item.property: item.status for item in verdict_on(tmp_path / "run").properties}
    assert judged[Property.COMMIT] is Status.HOLDS
