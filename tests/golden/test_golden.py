"""Golden conversations: the files in tests/golden still go as they are written down.

To write down what the processes do now:

    python -m pytest tests/golden --rewrite-golden

and then read the diff: commit it only if you understand every line of it. Rewriting cannot hide a
broken promise, for the oracle judges each conversation too.
"""

from pathlib import Path

import pytest
from tests.golden.language import Conversation, parse, retold
from tests.mutants.planted import planted
from tests.papers.wrong_rules import bug

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*/*.txt"))
TOPICS = (
    "causal", "views", "flush_view_atomic", "flush_all_to_all", "flush_coordinator", "total",
    "uniform", "letters", "calls", "commit",
)  # fmt: skip

every_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


@every_file
def test_conversation_goes_as_written(path: Path, rewrite_golden: bool) -> None:
    """Every command has the outcome that stands below it."""
    told = retold(path.read_text("utf-8"))
    if rewrite_golden:
        path.write_text(told, "utf-8")
    assert told == path.read_text("utf-8")


@every_file
def test_conversation_breaks_only_what_it_says(path: Path) -> None:
    """The oracle finds no broken promise, but in files whose first comment says ``Breaks``."""
    text = path.read_text("utf-8")
    conversation = Conversation()
    for block in parse(text):
        if block.command:
            conversation.tell(block.command)
    said = [line.split()[2].rstrip(":.") for line in text.splitlines() if "# Breaks " in line]
    assert list(conversation.broken) == said


@every_file
def test_conversation_says_what_it_is_about_and_ends(path: Path) -> None:
    """A conversation opens with a comment and closes with the judgement."""
    blocks = parse(path.read_text("utf-8"))
    assert blocks[0].comments
    assert blocks[-1].command == "the end"


def test_every_topic_has_conversations() -> None:
    """No folder is empty, and none is unknown."""
    assert sorted({path.parent.name for path in FILES}) == sorted(TOPICS)


# The language.


def test_command_that_is_not_in_the_language_is_an_error() -> None:
    """A typing error does not pass for a conversation in which nothing happens."""
    with pytest.raises(ValueError, match="has no command 'p multicast m1'"):
        retold("# A slip.\n\ngroup of p q\n\np multicast m1\n")


def test_what_is_received_is_what_comes_next_on_the_channel() -> None:
    """Channels are FIFO: a conversation cannot pick."""
    text = "group of p q\n\np multicasts m1\n\np multicasts m2\n\nq receives m2 from p\n"
    with pytest.raises(ValueError, match="m1 is next on the channel from p to q"):
        retold(text)
    with pytest.raises(ValueError, match="nothing is next on the channel from q to p"):
        retold("group of p q\n\np receives m1 from q\n")


def test_wrong_line_in_a_conversation_is_noticed() -> None:
    """A conversation that claims another outcome is not the one that is held."""
    text = "group of p\n----\neverybody is in view 1: p\n\np multicasts m1\n----\np holds m1\n"
    assert retold(text) == text.replace("p holds m1", "p multicasts 1: m1\np delivers m1")


# What the conversations are good for.

CATCHES = {
    "commit/commit": "first vote decides",
    "commit/coordinator_dies_with_its_decision": "new coordinator decides again",
    "commit/participant_dies_before_it_votes": "who is gone counts as yes",
    "calls/all_and_a_member_dies": "dead members are waited for",
    "calls/first": "every answer is to call 2",
    "calls/majority": "refusal is an answer",
    "calls/time_is_up": "time is never up",
    "causal/chain_of_four_processes": "stamps are ignored",
    "causal/compression_omits_what_was_said_before": "stamps are never short",
    "causal/concurrent_messages_in_any_order": "concurrent messages wait for each other",
    "causal/erratum_000_1_clock_of_the_sender": "clock takes over the clock of the sender",
    "causal/erratum_000_1_copy_of_the_message_clock": "clock becomes that of the message",
    "causal/erratum_000_3_received_is_not_delivered": "receipt is a cause",
    "causal/erratum_000_4_queue_in_order_of_receipt": "queue is sorted",
    "causal/fifo_beside_causal": "fifo crosses off the stamp",
    "causal/figure_2_delayed_until_its_cause_arrives": "stamps are ignored",
    "causal/run_is_cut_where_its_sender_delivers": "stamps are ignored",
    "causal/self_delivery_is_immediate": "receipt is a cause",
    "flush_all_to_all/erratum_000_17_f_leaver_takes_part": "leaver is counted out too soon",
    "flush_all_to_all/erratum_000_19_later_round_installs": "only its own round installs a view",
    "flush_all_to_all/flush_is_behind_the_messages": "one flush is not waited for",
    "flush_all_to_all/message_of_a_dead_sender": "flush comes before the forwarded",
    "flush_coordinator/erratum_000_18_copy_dies_with_the_coordinator": "forwarded once then stable",
    "flush_coordinator/message_of_a_dead_sender": "coordinator keeps copies to itself",
    "flush_coordinator/linear": "own messages are not copied",
    "flush_view_atomic/erratum_003_2_two_views_at_once": "no next round with views pending",
    "flush_view_atomic/erratum_003_3_late_words_of_the_excluded": (
        "late words of the excluded count"
    ),
    "flush_view_atomic/erratum_003_5_permission_that_reached_only_some": (
        "permission is not passed on"
    ),
    "flush_view_atomic/message_of_the_next_view": "messages of the next view are dropped",
    "flush_view_atomic/orphan_is_discarded": "orphans are delivered",
    "flush_view_atomic/message_of_a_dead_sender": "relayed messages are not relayed on",
    "letters/addressee_dies": "letter to the dead is waited for",
    "letters/erratum_000_24_letters_wait_too": "letter to another does not wait",
    "letters/letter_of_the_next_view": "early letter is not acknowledged",
    "letters/letters_of_the_application_go_one_by_one": "acknowledgement is never asked for",
    "letters/letter_waits_for_its_past": "letter overtakes the multicasts of its sender",
    "total/erratum_000_10_last_list_before_the_flush": "last list is not said",
    "total/erratum_000_10_no_turn_during_the_flush": "holder gives turns during the flush",
    "total/erratum_000_11_holder_crashes": "left overs in order of receipt",
    "total/erratum_000_5_list_counts_on_receipt": "list counts when delivered",
    "total/erratum_000_7_own_messages_wait_for_own_turns": (
        "own causal message overtakes own total one"
    ),
    "total/erratum_000_9_token_moves": "new holder looks at new messages only",
    "uniform/confirmed_with_its_past": "confirmed on receipt",
    "uniform/crash_between_the_phases": "unmarked messages are dropped",
    "uniform/erratum_003_7_causal_order": "uniform messages have no past",
    "uniform/two_phases": "one confirmation is not waited for",
    "uniform/uniform_and_total": "order of uniform messages is not uniform",
    "views/competing_proposers": "accepted views are overruled",
    "views/crash": "no exclusion of who never sent",
    "views/join": "multicasts go on during the flush",
    "views/stability": "most is taken for all",
    "views/leave": "late receipts are not reported",
}
"""For most conversations, a planted bug with which they go otherwise."""


@pytest.mark.parametrize("name", CATCHES)
def test_conversation_goes_otherwise_with_a_planted_bug(name: str) -> None:
    """A conversation that no bug can change would say nothing."""
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    with planted(bug(CATCHES[name])):
        try:
            told = retold(text)
        except (AssertionError, ValueError):
            return  # it does not even send what the conversation goes on with
    assert told != text
