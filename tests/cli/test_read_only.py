"""Runs that nobody may write to, as in an archive."""

import errno
import os
from pathlib import Path

import pytest
from tests.cli.command import antiphon
from typer.testing import CliRunner

from antiphon.cli.commands import application
from antiphon.trace import run_folder


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("command", ["verify", "report"])
def test_run_that_is_read_only_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, command: str
) -> None:
    """Its verdict is told and not kept, which is said; the status is the verdict's."""
    run = tmp_path / "run"
    antiphon("simulate", "--messages", "50", "--out", str(run))

    def refuse(path: Path, data: bytes) -> None:
        if path.is_relative_to(run):
            raise OSError(number, os.strerror(number), str(path))
        path.write_bytes(data)

    monkeypatch.setattr(run_folder, "write_whole", refuse)
    words = [command, str(run)]
    if command == "report":
        words += ["--out", str(tmp_path / "page.html")]
    done = CliRunner().invoke(application([command]), words)
    assert done.exit_code == 0, done.output
    assert "is read-only: the verdict is not kept there" in done.stderr
    assert (tmp_path / "page.html").is_file() is (command == "report")
