"""`antiphon verify --follow`: what it refuses at once, before Java is started."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.command import antiphon
from tests.live.playing import Play
from tests.trace.hand_written import deliver, multicast, view

from antiphon.cli.follow_screen import LiveStanding
from antiphon.live.updates import update_of
from antiphon.trace.verdict import Property


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "other", "--follow"], "--follow takes one run folder"),
        (["run", "--for", "3"], "--for is for --follow"),
        (["run", "--checkpoint", "there"], "--checkpoint is for --follow"),
        (["run", "--follow", "--every", "0"], "--every 0: give a number of seconds above 0"),
        (["run", "--follow", "--ends-early", "all"], "--follow judges whole records"),
        (
            ["run", "--follow", "--domains", "one"],
            "leave --domains out, and judge causality across",
        ),
        (["run.ndjson", "--follow"], "run.ndjson: is a file: --follow takes a run folder"),
        (["run", "--follow", "--fresh", "--checkpoint", "mine"], "mine: has files that are no"),
        (["table", "--follow"], "table: is Parquet, which does not grow: leave --follow out"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    """One sentence, status 2, and nothing is touched."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run.ndjson").write_text('{"process": "A", "kind": "start"}\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "rows.parquet").touch()
    (tmp_path / "mine" / "letter.txt").write_text("keep")
    done = antiphon("verify", *words, folder=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert (tmp_path / "mine" / "letter.txt").exists()


def test_screen_shows_what_is_asked_for_alone() -> None:
    """--only fifo: no other property, and no alarm of another, however much is wrong."""
    play = Play()
    rows = [view("A", "A", "B"), view("B", "A", "B"), multicast("A", 1, 2)]
    rows += [deliver("B", "A", 2), deliver("B", "A", 1), deliver("B", "A", 1)]
    raised = play.batch(rows)
    update = update_of(play.judge, raised)

    def screen(*asked: Property) -> str:
        standing = LiveStanding("run", 0.0, asked or tuple(Property))
        standing.take(update, 1.0, None)
        said = StringIO()
        Console(width=120, file=said).print(standing.screen())
        return said.getvalue()

    assert {"fifo", "causal", "no-duplicate"} <= {each.property for each in raised}
    assert "no-duplicate: B delivered" in screen()
    alone = screen(Property.FIFO)
    assert "fifo: B delivered" in alone
    assert not any(other in alone for other in ("causal", "no-duplicate", "agreement"))
