"""Golden conversations: a tiny language for what happens in a group, and what comes of it.

A conversation is a text file of blocks, separated by blank lines: comments, one command, ``----``,
and what the processes do about it, line by line. Commands:

    group of p q r                            everybody is in view 1
    group of p q by the all-to-all flush      or: by the coordinator flush; with a fixed token;
                                              with transactions
    p multicasts m1 m2 m3                     one run, causal; at the end: fifo, total, uniform,
                                              or uniform total
    p sends x to q                            a letter
    p calls read wanting majority             or: first, all; at the end: within 500 ms
    q answers 42                              the request that it handled last; or: q refuses why
    p begins pay                              a transaction; or: p begins pay needing x
    q votes yes                               on what it was asked last; or: q votes no why
    x joins through p                         p leaves           p crashes
    q suspects p                              q and r suspect p
    q receives m1 and list from p             what comes next on the channel from p, by name
    q and r receive Propose from p            p receives Accept from q and r
    q receives all from p                     all is received
    p acknowledges                            its timer for lists, confirmations and letters fires
    the rest happens                          all is received and acknowledged until all is quiet
    p beats                                   a heartbeat of p, which is put on its channels
    200 ms pass                               everywhere; heartbeats arrive unmentioned
    who keeps copies                          how many bytes of them
    the end                                   the oracle's judgement of all that happened

Names of what is received: a run or letter is named by its first message, a relayed one ``copy of``
that; a sets-order list without messages is ``list``, the answer to a call ``reply``; messages
about transactions and control messages go by their kind.
"""

import re
from dataclasses import dataclass

from tests.golden.acts import Act, AskedVote, Handled, Noted
from tests.golden.table import Table
from tests.golden.wording import name_of, tell, words

from antiphon.core.errors import AntiphonError
from antiphon.core.runs import Order

SEPARATOR = "----"
_ACTS_MAX = 500
_BORING = ("no-duplicate", "no-creation")
_ORDERS = {"fifo": Order.FIFO, "causal": Order.CAUSAL, "total": Order.TOTAL}


@dataclass
class Block:
    """A command with the comments above it; comments alone have no command."""

    comments: list[str]
    command: str
    output: list[str]

    def text(self) -> str:
        """Write the block as it stands in the file."""
        told = [self.command, SEPARATOR, *self.output] if self.command else []
        return "\n".join([*self.comments, *told])


def parse(text: str) -> list[Block]:
    """Split a conversation into its blocks."""
    return [_parse_block(part) for part in re.split(r"\n\s*\n", text.strip())]


def _parse_block(part: str) -> Block:
    lines = part.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    rest = lines[len(comments) :]
    if not rest:
        return Block(comments, "", [])
    output = rest[2:] if rest[1:2] == [SEPARATOR] else rest[1:]
    return Block(comments, rest[0], output)


def retold(text: str) -> str:
    """Return the conversation with the output that the processes really give."""
    conversation = Conversation()
    blocks = parse(text)
    for block in blocks:
        if block.command:
            block.output = conversation.tell(block.command)
    return "\n\n".join(block.text() for block in blocks) + "\n"


class Conversation:
    """A group, and all that has happened in it so far."""

    def __init__(self) -> None:
        """Begin without a group."""
        self.table = Table()
        self.asked: dict[str, Handled] = {}
        self.ballots: dict[str, AskedVote] = {}
        self.broken: dict[str, str] = {}
        self.acts: list[Act] = []
        self._held: dict[tuple[str, int], str] = {}

    def tell(self, command: str) -> list[str]:
        """Do what a command says; return the lines that say what came of it."""
        if command == "the end":
            return self._judge()
        if command == "who keeps copies":
            return [
                f"{who} keeps {self.table.kept(who)} bytes"
                for who, seat in self.table.seats.items()
                if seat.is_up
            ]
        if found := re.fullmatch(r"(\S+) crashes", command):
            return self._crash(found[1])
        unsent = {who: self.table.unsent(who) for who in self.table.seats}
        try:
            told = self._told(self._do(command), command)
        except AntiphonError as error:
            told = [f"{type(error).__name__}: {error}"]
        waits = [
            f"{who} has to wait with it"
            for who in self.table.seats
            if self.table.unsent(who) > unsent.get(who, 0)
        ]
        if command.startswith("group"):
            return ["everybody is in " + told[0].partition(" installs ")[2]]
        return [*told, *waits, *self._news_of_held()] or ["nothing to do"]

    def _told(self, acts: list[Act], command: str) -> list[str]:
        lines: list[str] = []
        self.acts += acts
        for act in acts:
            if isinstance(act, Handled) and act.number:
                self.asked[act.who] = act
            elif isinstance(act, AskedVote):
                self.ballots[act.who] = act
            is_said = isinstance(act, Noted) and " suspect" in command
            line = "" if is_said and "suspects" in tell(act, {}) else tell(act, self.table.views)
            if line:
                lines.append(line)
        return lines

    def _news_of_held(self) -> list[str]:
        """Say what is held now that was not, or for another reason."""
        held: dict[tuple[str, int], str] = {}
        for who, seat in self.table.seats.items():
            for one in self.table.held(who) if seat.is_up else ():
                what = words(one.run, self.table.views)
                lack = one.lack if isinstance(one.lack, str) else self._named(who, *one.lack)
                held[who, id(one.run)] = f"{who} holds {what}, waiting for {lack}"
        news = [line for key, line in held.items() if self._held.get(key) != line]
        self._held = held
        return news

    def _named(self, who: str, sender: str, number: int) -> str:
        """Return the text of a message, if anybody has sent it."""
        view = self.table.seats[who].view
        assert view is not None, "only members hold anything"
        for run in self.table.runs:
            is_its = str(self.table.views[run.view].members[run.sender]) == sender
            if is_its and run.view == view.number and run.first <= number <= run.last:
                said = words(run, self.table.views)
                return said.split()[number - run.first] if run.count > 1 else said
        return f"message {number} of {sender}"

    def _crash(self, who: str) -> list[str]:
        lost = [
            f"{name_of(item)} to {target} is lost"
            for (source, target), items in sorted(self.table.channels.items())
            for item in items
            if source == who
        ]
        self.table.crash(who)
        return lost or ["nothing is lost"]

    def _judge(self) -> list[str]:
        kept, self.broken = self.table.judged()
        lines = [f"{name} is broken: {why}" for name, why in self.broken.items()]
        return [*lines, "kept: " + ", ".join(name for name in kept if name not in _BORING)]

    # Commands.

    def _do(self, command: str) -> list[Act]:
        for pattern, method in _COMMANDS:
            if found := re.fullmatch(pattern, command):
                acts: list[Act] = method(self, *found.groups(default=""))
                return acts
        message = f"the language has no command {command!r}"
        raise ValueError(message)

    def _found(self, names: str, flush: str, token: str, commit: str) -> list[Act]:
        policy = "fixed" if token else "follow"
        self.table = Table(flush or "view-atomic", policy, has_commit=bool(commit))
        return self.table.found(names.split())

    def _multicast(self, who: str, texts: str, uniform: str, order: str) -> list[Act]:
        chosen = _ORDERS[order or "causal"]
        return self.table.multicast(who, texts.split(), chosen, uniform=bool(uniform))

    def _send(self, who: str, text: str, to: str) -> list[Act]:
        return self.table.send(who, to, text)

    def _call(self, who: str, text: str, wanted: str, wait_ms: str) -> list[Act]:
        return self.table.call(who, text, wanted, int(wait_ms) * 1_000 if wait_ms else None)

    def _answer(self, who: str, how: str, text: str) -> list[Act]:
        asked = self.asked[who]
        is_yes = how == "answers"
        return self.table.answer(who, asked.caller, asked.number, text, is_yes=is_yes)

    def _begin(self, who: str, text: str, needs: str) -> list[Act]:
        return self.table.begin(who, text, needs.split())

    def _vote(self, who: str, vote: str, why: str) -> list[Act]:
        transaction = self.ballots[who].transaction
        return self.table.vote(who, transaction, why, is_yes=vote == "yes")

    def _join(self, who: str, contact: str) -> list[Act]:
        return self.table.join(who, contact)

    def _change(self, who: str, verb: str) -> list[Act]:
        doing = {
            "leaves": self.table.leave,
            "beats": self.table.beat,
            "acknowledges": self.table.acknowledge,
        }
        return doing[verb](who)

    def _suspect(self, who: str, whom: str) -> list[Act]:
        return [act for one in _each(who) for act in self.table.suspect(one, whom)]

    def _pass_time(self, time_ms: str) -> list[Act]:
        return self.table.pass_time(int(time_ms) * 1_000)

    def _receive(self, who: str, what: str, source: str) -> list[Act]:
        acts: list[Act] = []
        for target in _each(who):
            for sender in _each(source):
                if what == "all":
                    while self.table.next_item(sender, target) is not None:
                        acts += self.table.receive(sender, target)
                    continue
                for name in _each(what):
                    item = self.table.next_item(sender, target)
                    found = name_of(item) if item is not None else "nothing"
                    if found != name:
                        message = f"{found} is next on the channel from {sender} to {target}"
                        raise ValueError(message)
                    acts += self.table.receive(sender, target)
        return acts

    def _receive_all(self) -> list[Act]:
        acts: list[Act] = []
        while busy := self.table.busy():
            acts += self.table.receive(*busy[0])
            if len(acts) > _ACTS_MAX:
                message = f"after {_ACTS_MAX} things were done there is still more to do"
                raise ValueError(message)
        return acts

    def _finish(self) -> list[Act]:
        acts = self._receive_all()
        while owing := [who for who in self.table.seats if self.table.owes(who)]:
            for who in owing:
                acts += self.table.acknowledge(who)
            if not self.table.busy():
                break  # they cannot pay now
            acts += self._receive_all()
        return acts


def _each(words_and: str) -> list[str]:
    return words_and.split(" and ")


_GROUP = (
    r"group of (.+?)(?: by the (\S+) flush)?(?: with a (fixed) token)?(?: with (transactions))?"
)
_COMMANDS = (
    (_GROUP, Conversation._found),
    (r"(\S+) multicasts (.+?)( uniform)?(?: (fifo|total))?", Conversation._multicast),
    (r"(\S+) sends (\S+) to (\S+)", Conversation._send),
    (
        r"(\S+) calls (\S+) wanting (first|majority|all)(?: within (\d+) ms)?",
        Conversation._call,
    ),
    (r"(\S+) (answers|refuses) (.+)", Conversation._answer),
    (r"(\S+) begins (\S+)(?: needing (.+))?", Conversation._begin),
    (r"(\S+) votes (yes|no)(?: (.+))?", Conversation._vote),
    (r"(\S+) joins through (\S+)", Conversation._join),
    (r"(\S+) (leaves|beats|acknowledges)", Conversation._change),
    (r"(.+) suspects? (\S+)", Conversation._suspect),
    (r"(.+?) receives? (.+) from (.+)", Conversation._receive),
    (r"(\d+) ms pass", Conversation._pass_time),
    (r"all is received", Conversation._receive_all),
    (r"the rest happens", Conversation._finish),
)
