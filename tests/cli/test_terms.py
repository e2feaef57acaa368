"""What the command line's terms mean, and what it says to those it does not understand."""

import json
from pathlib import Path

import pytest
from tests.oracle.known_domains import chain, in_domain, question
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


def test_only_is_about_what_the_log_holds(chat: Path, tmp_path: Path) -> None:
    """Clocks or messages: the other's properties are refused, not left unsaid."""
    clocks = tmp_path / "clocks.log"
    clocks.write_text('a {"a":1}\nbegins\na {"a":3}\ngoes on\n')
    assert verified(str(clocks), "--only", "clock-memory")[0] == 0
    assert verified(str(clocks), "--only", "clock-own") == (1, {"clock-own": "violated"})
    for path, only, words in (
        (clocks, "causal", "clocks and no messages: choose from clock-own"),
        (chat, "clock-own", "is about clocks: leave it out"),
    ):
        done = CliRunner().invoke(application(["verify"]), ["verify", str(path), "--only", only])
        assert isinstance(done.exception, UsageError)
        assert words in str(done.exception)


def test_properties_are_listed_in_their_own_order() -> None:
    """Each once, whatever the order and the blanks."""
    expected = Terms(only=(Property.FIFO, Property.CAUSAL))
    assert read_terms(only="causal, fifo,causal") == expected
    assert read_terms(only="") == Terms()
    assert Terms().asked == tuple(Property)


SLICE = [multicast("A", 4, 3), deliver("B", "A", 3), deliver("B", "A", 4), deliver("C", "A", 5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_slice_is_violated_unless_it_is_said_to_be_one(tmp_path: Path, engine: str) -> None:
    """Message 3 was multicast before the log begins, message 4 delivered before C's part does."""
    path = write_rows(tmp_path / "log.ndjson", SLICE)
    status, found = verified(str(path), "--engine", engine)
    assert status == 1
    assert {name for name, each in found.items() if each == "violated"} == {
        "fifo", "causal", "no-creation", "agreement", "no-orphan", "liveness",
    }  # fmt: skip
    options = ("--begins-late", "all", "--ends-early", "all")
    status, found = verified(str(path), "--engine", engine, *options)
    assert (status, found["fifo"], found["causal"]) == (0, "holds", "holds")
    assert {found[name] for name in ("no-creation", "agreement", "liveness")} == {"unknown"}
    status, found = verified(str(path), "--engine", engine, "--begins-late", "A,C")
    assert (status, found["agreement"]) == (1, "violated")


TOPICS = [
    multicast("A", group="orders"), multicast("A", group="bills"),
    deliver("B", "A", group="orders"), deliver("C", "A", group="orders"),
    deliver("C", "A", group="bills"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_who_does_not_subscribe_need_not_receive(tmp_path: Path, engine: str) -> None:
    """A publisher receives nothing; D subscribes, and lacks what it was to receive."""
    path, file = write_rows(tmp_path / "log.ndjson", TOPICS), tmp_path / "topics.json"
    arguments = (str(path), "--engine", engine, "--subscriptions", str(file))
    file.write_text('{"orders": ["B", "C"], "bills": ["C"]}')
    status, found = verified(*arguments)
    assert (status, found["agreement"], found["liveness"]) == (0, "holds", "holds")
    assert found["causal"] == "unknown", "A and C are in both groups"
    file.write_text('{"orders": ["B", "C"], "bills": ["B", "C"]}')
    status, found = verified(*arguments)
    assert (status, found["agreement"], found["liveness"]) == (1, "violated", "violated")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read"),
        ('["orders"]', "not subscriptions"),
        ('{"orders": "B"}', "not subscriptions"),
        ('{"orders": [""]}', "not subscriptions"),
        ("\xff", "not subscriptions"),
    ],
)
def test_bad_subscriptions_are_refused_in_a_sentence(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    """It names the file and shows what is expected."""
    file = tmp_path / "topics.json"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=f"topics.json: {sentence}"):
        read_terms(subscriptions=file)


def test_group_that_is_not_in_the_trace_is_refused(chat: Path, tmp_path: Path) -> None:
    """A slip of the pen must not let everything pass."""
    file = tmp_path / "topics.json"
    file.write_text('{"orders": ["B"]}')
    words = ["verify", str(chat), "--subscriptions", str(file)]
    done = CliRunner().invoke(application(["verify"]), words)
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == (
        "--subscriptions: no group 'orders' is in the trace: it has '' (rows that name no group)"
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the folder of a small run."""
    words = ["simulate", "--messages", "20", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(application(["simulate"]), words).exit_code == 0
    return tmp_path / "run"


def test_verdict_is_printed_though_it_cannot_be_kept(run: Path) -> None:
    """What was found is not lost with the file; then it is said what to do."""
    (run / "verdict.json").mkdir()
    done = CliRunner().invoke(application(["verify"]), ["verify", str(run)])
    assert "judged by oracle" in done.stdout
    assert isinstance(done.exception, UsageError)
    assert "verdict.json: cannot be written" in str(done.exception)


def test_report_does_not_take_a_part_for_the_whole(run: Path) -> None:
    """A verdict on one property was kept last: the page has them all."""
    assert verified(str(run), "--only", "fifo") == (0, {"fifo": "holds"})
    done = CliRunner().invoke(application(["report"]), ["report", str(run)])
    assert done.exit_code == 0, done.output
    assert len(json.loads((run / "verdict.json").read_text())["properties"]) == len(Property)


@pytest.mark.parametrize("engine", ENGINES)
def test_domains_say_whether_groups_belong_together(tmp_path: Path, engine: str) -> None:
    """As one domain causality is broken, each by itself it holds, and without a word: unknown."""
    log = write_rows(tmp_path / "groups.ndjson", question())
    words = (str(log), "--engine", engine, "--only", "causal")
    assert verified(*words) == (0, {"causal": "unknown"})
    assert verified(*words, "--domains", "one") == (1, {"causal": "violated"})
    assert verified(*words, "--domains", "each") == (0, {"causal": "holds"})


def test_chain_across_groups_is_in_the_document_and_on_the_screen(tmp_path: Path) -> None:
    """Both name the groups, and each event of the chain with its line."""
    log = write_rows(tmp_path / "chain.ndjson", in_domain(chain()))
    done = CliRunner().invoke(application(["verify"]), ["verify", str(log), "--json"])
    [found] = [
        item for item in json.loads(done.stdout)["properties"] if item["property"] == "causal"
    ]
    [violation] = found["violations"]
    assert (violation["message"]["group"], violation["earlier"]["group"]) == ("C", "A")
    assert [link["line"] for link in violation["chain"]] == [1, 2, 3, 4, 5, 6]
    shown = CliRunner().invoke(application(["verify"]), ["verify", str(log)]).stdout
    assert "b multicast message 1 of b (group B, view 1)" in " ".join(shown.split())


def test_unknown_kind_of_domains_is_refused(tmp_path: Path) -> None:
    """Status 2, with what may be said."""
    log = write_rows(tmp_path / "chain.ndjson", chain())
    done = CliRunner().invoke(application(["verify"]), ["verify", str(log), "--domains", "two"])
    assert done.exit_code == 2
    assert "one" in done.stderr
    assert "each" in done.stderr
