"""What the command line's terms mean, and what it says to those it does not understand."""

import json
from pathlib import Path

import pytest
from tests.trace.hand_written import deliver, multicast, write_rows
from typer.testing import CliRunner

from antiphon.cli.commands import application
from antiphon.cli.terms import read_terms
from antiphon.core.errors import UsageError
from antiphon.trace.verdict import Property, Terms

ENGINES = ["oracle", "local"]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Return a log in which C hears B's answer before A's question."""
    rows = [
        multicast("A"), deliver("B", "A"), multicast("B"), deliver("C", "B"), deliver("C", "A"),
        deliver("A", "B"),
    ]  # fmt: skip
    return write_rows(tmp_path / "chat.ndjson", rows)


def verified(*words: str) -> tuple[int, dict[str, str]]:
    """Run ``antiphon verify --json`` here; return its exit status, and statuses by property."""
    done = CliRunner().invoke(application(["verify"]), ["verify", "--json", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    items = json.loads(done.stdout)["properties"]
    return done.exit_code, {item["property"]: item["status"] for item in items}


@pytest.mark.parametrize("engine", ENGINES)
def test_only_what_is_asked_is_judged_and_decides_the_exit_status(chat: Path, engine: str) -> None:
    """Causal order is violated: whoever asks for fifo alone does not hear of it."""
    arguments = (str(chat), "--engine", engine)
    assert verified(*arguments, "--only", "fifo") == (0, {"fifo": "holds"})
    status, found = verified(*arguments, "--only", "causal,fifo")
    assert (status, found) == (1, {"fifo": "holds", "causal": "violated"})
    assert verified(*arguments)[0] == 1


def test_terms_are_part_of_the_document(chat: Path) -> None:
    """A program can see that not everything was asked."""
    words = ["verify", str(chat), "--json", "--only", "fifo"]
    done = CliRunner().invoke(application(["verify"]), words)
    assert json.loads(done.stdout)["terms"]["only"] == ["fifo"]


@pytest.mark.parametrize("text", ["casual", "causal,,order", ","])
def test_unknown_property_is_refused_with_all_that_there_are(text: str) -> None:
    """One sentence lists the properties."""
    with pytest.raises(UsageError, match=r"--only: .*choose from fifo, causal, .*commit$"):
        read_terms(only=text)


def test_properties_are_listed_in_their_own_order() -> None:
    """Each once, whatever the order and the blanks."""
    expected = Terms(only=(Property.FIFO, Property.CAUSAL))
    assert read_terms(only="causal, fifo,causal") == expected
    assert read_terms(only="") == Terms()
    assert Terms().asked == tuple(Property)
