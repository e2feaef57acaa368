"""Ctrl-C in programs built on the library: typed at a real terminal, as a person does.

Law: the program leaves its group, says nothing, and ends with the status that shells know.
"""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.net.harness import DEADLINE_S, free_addresses
from tests.net.processes import ROOT

pytestmark = pytest.mark.net

SECONDS_MAX = 5.0
"""Until a program has ended, on a busy machine; on one that is not, a tenth of this."""

ALONE = """
import antiphon

async def main():
    async with antiphon.join("choir", me="alice", at="127.0.0.1:0") as group:
        async for event in group:
            print("reading", flush=True)
    print("never", flush=True)

"""


class Terminal:
    """A program at a terminal of its own, and what is to be read there."""

    def __init__(self, *command: str, folder: Path) -> None:
        """Start the program."""
        paths = filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        self.screen = ""
        self.status: int | None = None
        self.process_id, self._line = pty.fork()
        if self.process_id == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # it may be ignored where tests run
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, *command], environment)

    def wait_for(self, words: str) -> None:
        """Read until the words are on the screen."""
        until_s = time.monotonic() + DEADLINE_S
        while words not in self.screen:
            assert time.monotonic() < until_s, self.screen
            assert self._read(), self.screen

    @property
    def printed(self) -> list[str]:
        """The words on the screen that nobody typed."""
        return self.screen.replace("^C", "").split()

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._line, keys)

    def ended_within(self, seconds: float) -> bool:
        """Read on; return whether the program has ended in this time."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self._read()
            done, status = os.waitpid(self.process_id, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
                while self._read():
                    pass
                return True
        return False

    def close(self) -> None:
        """End the program, if it has not ended."""
        if self.status is None:
            os.kill(self.process_id, signal.SIGKILL)
            os.waitpid(self.process_id, 0)
        os.close(self._line)

    def _read(self) -> bool:
        if select.select([self._line], [], [], 0.05)[0]:
            try:
                self.screen += os.read(self._line, 65536).decode()
            except OSError:  # how a terminal says that nobody writes any more
                time.sleep(0.01)
                return False
        return True


def with_free_ports(name: str, folder: Path) -> str:
    """Copy an example, with addresses that are free; return its name."""
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    for port, place in free_addresses(["7001", "7002", "7003"]).items():
        text = text.replace(f"127.0.0.1:{port}", place)
    (folder / name).write_text(text, encoding="utf-8")
    return name


def interrupt(terminal: Terminal) -> None:
    """Press Ctrl-C, once and without an Enter after it: the program ends quietly."""
    terminal.type(b"\x03")
    assert terminal.ended_within(SECONDS_MAX), terminal.screen
    assert terminal.status == 130
    assert "Traceback" not in terminal.screen


def test_interrupt_ends_the_chat_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """It does not wait for Enter, and prints nothing."""
    terminal = Terminal(with_free_ports("chat.py", tmp_path), "alice", folder=tmp_path)
    try:
        terminal.wait_for("-- view 1: alice")
        terminal.type(b"hello\nwho is")
        terminal.wait_for("who is")
        interrupt(terminal)
    finally:
        terminal.close()


def test_interrupt_ends_a_ledger_that_waits_for_a_line(tmp_path: Path) -> None:
    """Nor does this one wait, having answered one before."""
    name = with_free_ports("two_ledgers.py", tmp_path)
    terminals = [Terminal(name, me, folder=tmp_path) for me in ("anna", "ben", "clerk")]
    try:
        terminals[0].type(b"\n")
        terminals[0].wait_for("100")
        interrupt(terminals[0])
    finally:
        for terminal in terminals:
            terminal.close()


def run_alone(folder: Path, ending: str, *until: str) -> Terminal:
    """Run a program that is alone in its group; press Ctrl-C when it reads, and after words."""
    (folder / "alone.py").write_text(ALONE + ending)
    terminal = Terminal("alone.py", folder=folder)
    try:
        for words in ("reading", *until):
            terminal.wait_for(words)
            terminal.type(b"\x03")
        assert terminal.ended_within(SECONDS_MAX), terminal.screen
    finally:
        terminal.close()
    return terminal


def test_interrupted_program_ends_quietly_with_the_status_of_an_interrupt(tmp_path: Path) -> None:
    """No traceback, and nothing after the call is done."""
    done = run_alone(tmp_path, "antiphon.run(main())\nprint('after')")
    assert (done.status, done.printed) == (130, ["reading"])


def test_program_that_takes_long_to_end_is_ended_by_another_interrupt(tmp_path: Path) -> None:
    """As quietly."""
    ending = (
        "import asyncio\nasync def slow():\n    try:\n        await main()\n    finally:\n"
        "        print('ending', flush=True)\n        await asyncio.sleep(60)\n"
        "antiphon.run(slow())\n"
    )
    done = run_alone(tmp_path, ending, "ending")
    assert (done.status, done.printed) == (130, ["reading", "ending"])


def test_interrupt_can_be_caught_as_ever(tmp_path: Path) -> None:
    """Who wrote `except KeyboardInterrupt` around it still catches it."""
    ending = "try:\n    antiphon.run(main())\nexcept KeyboardInterrupt:\n    print('caught')\n"
    done = run_alone(tmp_path, ending)
    assert (done.status, done.printed) == (0, ["reading", "caught"])


def test_interrupt_at_an_interactive_prompt_leads_back_to_it(tmp_path: Path) -> None:
    """Where Python itself reads lines from a person, that goes on."""
    done = run_alone(tmp_path, "import sys\nsys.ps1 = '>>> '\nantiphon.run(main())\n")
    assert "KeyboardInterrupt" in done.screen
    assert done.status != 130


def test_error_of_the_program_is_shown_though_it_was_interrupted(tmp_path: Path) -> None:
    """What goes wrong while it ends is no interrupt."""
    ending = (
        "async def fail():\n    try:\n        await main()\n    finally:\n        1 / 0\n"
        "antiphon.run(fail())\n"
    )
    done = run_alone(tmp_path, ending)
    assert done.status == 1
    assert "ZeroDivisionError" in done.screen
