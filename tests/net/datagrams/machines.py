"""Machines of their own for tests, as far as the network goes: namespaces on one switch.

Law: they are made by the test that asks for them, and taken away at its end; where the system does
not permit that, the test is skipped, and says why.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def ip(*words: str) -> None:
    """Change the network of this test."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def machines() -> Iterator[list[str]]:
    """Make three machines on one switch: a network namespace each; take them away at the end."""
    names = [f"antiphon{os.getpid()}n{index}" for index in range(3)]
    switch = f"antiphon{os.getpid()}s"
    if shutil.which("ip") is None:
        pytest.skip("needs the command ip")
    made: list[str] = []
    try:
        for name in (switch, *names):
            try:
                ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
            made.append(name)
        try:
            _wire(switch, names)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no switch of network namespaces here: {error.stderr.strip()}")
        yield names
    finally:
        for name in made:
            ip("netns", "del", name)


def _wire(switch: str, names: list[str]) -> None:
    inside = ("netns", "exec", switch, "ip")
    ip(*inside, "link", "add", "sw", "type", "bridge", "mcast_snooping", "0")
    ip(*inside, "link", "set", "sw", "up")
    for index, name in enumerate(names):
        here = ("netns", "exec", name, "ip")
        ip(
            *inside,
            "link",
            "add",
            f"v{index}",
            "type",
            "veth",
            "peer",
            "name",
            "eth",
            "netns",
            name,
        )
        ip(*inside, "link", "set", f"v{index}", "master", "sw", "up")
        ip(*here, "addr", "add", f"10.77.0.{index + 1}/24", "dev", "eth")
        ip(*here, "addr", "add", f"fd77::{index + 1}/64", "dev", "eth", "nodad")
        ip(*here, "link", "set", "eth", "up")


def conversation(program: Path, names: list[str], words: list[list[str]]) -> list[dict[str, Any]]:
    """Run a program on each machine, tell each where all are; return what each says then."""
    programs = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, str(program), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name, arguments in zip(names, words, strict=True)
    ]  # fmt: skip
    try:
        places = [json.loads(_read_line(running)) for running in programs]
        for running in programs:
            _tell(running, json.dumps(places))
        said = [json.loads(_read_line(running)) for running in programs]
        for running in programs:
            _tell(running, "end")
    finally:
        for running in programs:
            running.kill()
            running.communicate()
    return said


def _read_line(program: "subprocess.Popen[str]") -> str:
    """Return what a program says next."""
    assert program.stdout is not None
    return program.stdout.readline()


def _tell(program: "subprocess.Popen[str]", line: str) -> None:
    """Give a program a line."""
    assert program.stdin is not None
    program.stdin.write(line + "\n")
    program.stdin.flush()
