"""The examples, run as a reader would run them: in processes of their own, on real sockets.

Only the ports are changed, in a copy, because somebody may be using those that are printed.
"""

import ast
import asyncio
import os
import re
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest
from tests.net.harness import DEADLINE_S, free_addresses

from antiphon.oracle import judge
from antiphon.trace import words
from antiphon.trace.reader import read_rows
from antiphon.trace.verdict import Status

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def _with_free_ports(name: str, folder: Path) -> Path:
    """Return a copy of an example whose addresses are free."""
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    printed = sorted(set(re.findall(r"127\.0\.0\.1:[1-9]\d*", text)))
    for old, new in free_addresses(printed).items():
        text = text.replace(old, new)
    copy = folder / name
    copy.write_text(text, encoding="utf-8")
    return copy


async def _start(example: Path, *arguments: str) -> Process:
    paths = filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")])
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(example),
        *arguments,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"},
    )


async def _finish(process: Process) -> list[str]:
    """Wait for a process that is to end well; return the lines it has printed."""
    output, errors = await process.communicate(b"")  # which ends its input
    assert process.returncode == 0, errors.decode()
    known = re.compile(rb" suspects | is blocked in group | waits to found group ")
    assert all(known.search(line) for line in errors.splitlines()), errors.decode()
    return output.decode().splitlines()


async def _run_all(example: Path, *commands: tuple[str, ...]) -> list[list[str]]:
    async with asyncio.timeout(DEADLINE_S):
        processes = [await _start(example, *command) for command in commands]
        try:
            return await asyncio.gather(*map(_finish, processes))
        finally:
            await _kill_rest(processes)


async def _kill_rest(processes: list[Process]) -> None:
    for process in processes:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@pytest.mark.net
def test_hello_reaches_the_other(tmp_path: Path) -> None:
    """Both print the other's greeting last."""
    example = _with_free_ports("hello.py", tmp_path)
    alice, bob = asyncio.run(_run_all(example, ("alice",), ("bob",)))
    assert alice[-1] == "bob says hello, world"
    assert bob[-1] == "alice says hello, world"


@pytest.mark.net
def test_chat_shows_question_before_answer(tmp_path: Path) -> None:
    """People join one by one; bob answers what he has seen, and carol sees both, in that order."""
    example = _with_free_ports("chat.py", tmp_path)
    address = re.findall(r"127\.0\.0\.1:[1-9]\d*", example.read_text(encoding="utf-8"))[0]

    async def scene() -> None:
        async with asyncio.timeout(DEADLINE_S):
            alice = await _start(example, "alice")
            members = [alice]
            try:
                assert await _see(alice) == f"-- alice listens at {address}"
                assert await _see(alice) == "-- view 1: alice"
                members.append(bob := await _start(example, "bob", address))
                bobs = (await _see(bob)).removeprefix("-- bob listens at ")
                assert await _see(alice) == "-- view 2: alice bob bob joined"
                members.append(carol := await _start(example, "carol", bobs))
                assert (await _see(carol)).startswith("-- carol listens at 127.0.0.1:")
                assert await _see(alice) == "-- view 3: alice bob carol carol joined"
                assert await _see(bob) == "-- view 2: alice bob bob joined"
                assert await _see(bob) == "-- view 3: alice bob carol carol joined"
                await _type(alice, "who sings?")
                assert await _see(bob) == "alice: who sings?"
                await _type(bob, "I do")
                assert (await _see(carol)).startswith("-- view 3")
                assert [await _see(carol), await _see(carol)] == ["alice: who sings?", "bob: I do"]
                carol.kill()
                assert await _see(bob) == "-- view 4: alice bob carol failed"
                lines = await asyncio.gather(*map(_finish, [alice, bob]))
                assert lines[0][:2] == ["bob: I do", "-- view 4: alice bob carol failed"]
            finally:
                await _kill_rest(members)

    asyncio.run(scene())


@pytest.mark.net
def test_chat_without_its_senior_says_that_it_is_cut_off_and_can_be_ended(tmp_path: Path) -> None:
    """Of two, the junior is blocked when the senior is killed: it is told, and input ends it."""
    example = _with_free_ports("chat.py", tmp_path)
    address = re.findall(r"127\.0\.0\.1:[1-9]\d*", example.read_text(encoding="utf-8"))[0]

    async def scene() -> None:
        async with asyncio.timeout(DEADLINE_S):
            members = [alice := await _start(example, "alice")]
            try:
                assert [await _see(alice), await _see(alice)][1] == "-- view 1: alice"
                members.append(bob := await _start(example, "bob", address))
                assert [await _see(bob), await _see(bob)][1] == "-- view 2: alice bob bob joined"
                alice.kill()
                said = "-- cut off: bob must wait for alice, and cannot speak"
                assert await _see(bob) == said
                await _type(bob, "hello?")
                assert await _finish(bob) == []
            finally:
                await _kill_rest(members)

    asyncio.run(scene())


async def _type(process: Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")
    await process.stdin.drain()


async def _see(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().rstrip("\n")


@pytest.mark.net
def test_ledgers_agree_and_leave_a_trace_that_holds(tmp_path: Path) -> None:
    """All tellers print the same balance, and every property holds of the run they left."""
    example = _with_free_ports("ledger.py", tmp_path)
    folder = tmp_path / "run"
    printed = asyncio.run(
        _run_all(example, *((name, str(folder)) for name in ("anna", "ben", "cleo")))
    )
    assert printed == [["3000 entries, balance 1501500"]] * 3
    verdict = judge(read_rows(folder))
    assert verdict.delivery_count == 9000
    asked = [item for item in verdict.properties if item.reason not in words.NOT_ASKED]
    assert {item.status for item in asked} == {Status.HOLDS}


@pytest.mark.net
def test_rooms_are_apart_and_who_comes_again_has_the_next_number(tmp_path: Path) -> None:
    """Each hears what is said in the rooms that it is in, an answer after what it answers."""
    example = _with_free_ports("rooms.py", tmp_path)
    [printed] = asyncio.run(_run_all(example, ()))
    assert printed == [
        "kitchen: bob hears alice say 'dinner is ready'",
        "kitchen: carol hears alice say 'dinner is ready'",
        "kitchen: carol hears bob say 'coming'",
        "garden: alice hears carol say 'a minute'",
        "garden: alice hears carol~2 say 'here I am'",
        "kitchen: alice, bob, carol, since view 3",
    ]


def test_every_example_is_run_here() -> None:
    """No example is added without a test of it."""
    elsewhere = {
        "spark_notebook.py",  # tests/spark/test_spark_interface.py
        "two_ledgers.py",  # tests/net/test_two_ledgers.py
    }
    names = {"hello.py", "chat.py", "ledger.py", "rooms.py"} | elsewhere
    assert {file.name for file in EXAMPLES} == names


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_example_is_short_and_uses_the_public_interface(file: Path) -> None:
    """Under 65 lines, with a database 90; of Antiphon nothing but the package itself."""
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") < (90 if "sqlite3" in text else 65)
    modules = [
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    public = {"antiphon", "antiphon.spark"}
    assert public & set(modules)
    assert not [name for name in modules if name.startswith("antiphon.") and name not in public]


@pytest.mark.parametrize("name", ["hello.py", "chat.py", "ledger.py", "two_ledgers.py"])
def test_example_without_arguments_says_how_to_run_it(name: str) -> None:
    """In its own words, and with no traceback."""
    example = ROOT / "examples" / name
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(example)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    said = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")), clean=False)
    assert (done.returncode, done.stderr) == (1, f"{said}\n")


def test_hello_world_takes_five_lines() -> None:
    """Joining, multicasting and reading is what an application has to write, and no more."""
    tree = ast.parse((ROOT / "examples" / "hello.py").read_text(encoding="utf-8"))
    main = next(node for node in tree.body if isinstance(node, ast.AsyncFunctionDef))
    assert ast.get_docstring(main)
    lines = (main.end_lineno or 0) - main.body[0].lineno
    assert lines <= 6
