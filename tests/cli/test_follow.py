"""`antiphon verify --follow`: what it refuses at once, before Java is started."""

from pathlib import Path

import pytest
from tests.cli.command import antiphon


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "other", "--follow"], "--follow takes one run folder"),
        (["run", "--for", "3"], "--for is for --follow"),
        (["run", "--checkpoint", "there"], "--checkpoint is for --follow"),
        (["run", "--follow", "--every", "0"], "--every 0: give a number of seconds above 0"),
        (["run", "--follow", "--ends-early", "all"], "--follow judges whole records"),
        (["run.ndjson", "--follow"], "run.ndjson: is a file: --follow takes a run folder"),
        (["run", "--follow", "--fresh", "--checkpoint", "mine"], "mine: has files that are no"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    """One sentence, status 2, and nothing is touched."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run.ndjson").write_text('{"process": "A", "kind": "start"}\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep")
    done = antiphon("verify", *words, folder=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert (tmp_path / "mine" / "letter.txt").exists()
