"""Members as real processes: started with one line of JSON, and ended whatever happens."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def start(program: str, arguments: Mapping[str, Any]) -> subprocess.Popen[str]:
    """Run a program of the project's tests; its errors come back through ``communicate``."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, str(ROOT / program), json.dumps(arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def running(program: str, arguments: Mapping[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Run a program for as long as the block lasts, and kill what is left of it."""
    process = start(program, arguments)
    try:
        yield process
    finally:
        process.kill()  # also what is stopped by a signal
        process.communicate()
