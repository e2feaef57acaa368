"""Runs the command line as a user does: another process, its output and its exit status."""

import os
import resource
import subprocess
import sys
from pathlib import Path


def antiphon(
    *words: str,
    folder: Path | None = None,
    environment: dict[str, str] | None = None,
    text: str | None = None,
    file_bytes_max: int | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run ``antiphon`` with these words; colours off, a wide terminal, no traceback allowed.

    ``text`` is what standard input holds; ``file_bytes_max`` how large files may get, as on a disk
    that is nearly full.
    """

    def limit() -> None:
        if file_bytes_max is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))

    told = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **(environment or {})}
    if file_bytes_max is not None:
        told["PYTHONDONTWRITEBYTECODE"] = "1"  # half a compiled module would outlast the test
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", *words],
        cwd=folder,
        env=told,
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=limit,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
