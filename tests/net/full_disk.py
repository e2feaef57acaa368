"""Two members whose journals run into a limit on the size of files, as into a full disk.

    python full_disk.py '{"folder": ..., "loop": "asyncio" or "uvloop"}'

It prints, as JSON, what was said after the journals had failed, what was logged, and what the
stops raised. In a process of its own, because the limit is the whole process's.
"""

import asyncio
import json
import logging
import resource
import sys
from importlib import import_module
from pathlib import Path

from tests.net.harness import choir, exchange, until

from antiphon import AntiphonError
from antiphon.net.journal import writer

LIMIT_BYTES = 16_384


class Log(logging.Handler):
    """Keeps what was logged."""

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record as it would be shown."""
        self.lines.append(f"{record.levelname} {record.getMessage()}")


async def live(folder: Path) -> dict[str, object]:
    """Talk until both journals have failed, talk on, and stop."""
    writer.FLUSH_S = 0.01
    log = Log()
    logging.getLogger("antiphon").addHandler(log)
    raised: list[str] = []
    async with choir(["alice", "bob"], folder=folder) as nodes:
        alice, bob = nodes.values()
        sys.dont_write_bytecode = True  # half a compiled module would outlast the test
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))

        async def talk() -> None:
            while len(log.lines) < 2:
                await exchange([alice, bob])

        await talk()
        for _ in range(10):
            await exchange([alice, bob])
        number = alice.group.view.number
        leaving = [asyncio.ensure_future(node.stop()) for node in (alice, bob)]
        await until(lambda: all(task.done() for task in leaving), "both have stopped")
        for task in leaving:
            error = task.exception()
            assert isinstance(error, AntiphonError)
            raised.append(f"{type(error).__name__}: {error}")
    return {"log": log.lines, "raised": raised, "view": number}


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    factory = import_module(arguments["loop"]).new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        sys.stdout.write(json.dumps(runner.run(live(Path(arguments["folder"])))))
