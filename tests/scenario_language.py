"""Golden scenarios: a tiny language for stories about causal order over channels of any kind.

A scenario is a text file of blocks, separated by blank lines: comments, one command, ``----``,
and what came of it. Commands:

    group chat of p q r                       everybody joins; channels are FIFO
    group chat of p q r over unordered channels       ... that may reorder and repeat
    p multicasts m1 m2 m3                     one run; each message is named by its payload
    p multicasts m4 fifo                      in FIFO order; causal is the default
    q receives m1 from p                      the frame with the run that begins with m1
    q receives m1 and m4 from p               one frame with both runs
    q receives only m2 m3 from p              a frame with a part of a run, as if sent again
    q receives bytes 01 02 ff from p          these very bytes
    the end                                   the event graph's judgement of all that happened

Law: the processes are ``VectorDomain`` machines and the frames are real bytes. Nothing is ever lost
from a channel by itself: what arrives, when, and how often is what the text says. What happens on
reliable FIFO channels only, with views, is told in ``tests/golden``.
"""

import re
from dataclasses import dataclass, field

from tests.properties.event_graph import Event, Message, complaints

from antiphon.core.errors import AntiphonError
from antiphon.core.frames import Runs, decode_frame, encode_runs
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Order, Run
from antiphon.core.views import View
from antiphon.ordering.vector import VectorDomain

SEPARATOR = "----"
_GROUP = GroupNumber(1)
_DOMAIN = 0


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
    """Split a scenario into its blocks."""
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
    """Return the scenario with the output that the stack really gives."""
    story = Story()
    blocks = parse(text)
    for block in blocks:
        if block.command:
            block.output = story.tell(block.command)
    return "\n\n".join(block.text() for block in blocks) + "\n"


@dataclass
class Story:
    """A group and all that has happened in it so far."""

    names: list[str] = field(default_factory=list)
    machines: dict[str, VectorDomain] = field(default_factory=dict)
    sent: dict[str, list[Run]] = field(default_factory=dict)
    texts: dict[Message, str] = field(default_factory=dict)
    history: dict[str, list[Event]] = field(default_factory=dict)

    def tell(self, command: str) -> list[str]:
        """Do what the command says; return the lines that say what came of it."""
        match command.split():
            case ["group", name, "of", *names, "over", "unordered", "channels"]:
                return self._start(name, names, fifo_channels=False)
            case ["group", name, "of", *names]:
                return self._start(name, names, fifo_channels=True)
            case ["the", "end"]:
                return self._judgement()
            case [_, "multicasts" | "receives", *_] as words:
                return self._tell_act(words)
            case _:
                message = f"the scenario language has no command {command!r}"
                raise ValueError(message)

    def _tell_act(self, words: list[str]) -> list[str]:
        match words:
            case [who, "multicasts", *texts, "fifo"]:
                return self._multicast(who, texts, Order.FIFO)
            case [who, "multicasts", *texts]:
                return self._multicast(who, texts, Order.CAUSAL)
            case [who, "receives", "bytes", *octets, "from", _]:
                return self._receive(who, bytes.fromhex("".join(octets)))
            case [who, "receives", "only", *texts, "from", sender]:
                return self._receive_runs(who, sender, [self._part(sender, texts)])
            case [who, "receives", *texts, "from", sender]:
                runs = [self._run(sender, text) for text in texts if text != "and"]
                return self._receive_runs(who, sender, runs)
            case _:
                message = f"what {words[0]} receives lacks a 'from'"
                raise ValueError(message)

    def _start(self, name: str, names: list[str], *, fifo_channels: bool) -> list[str]:
        members = tuple(map(ProcessId, names))
        view = View(GroupName(name), ViewNumber(1), members)
        self.names = names
        for rank, member in enumerate(members):
            machine = VectorDomain(fifo_channels=fifo_channels)
            machine.install(_GROUP, view, Rank(rank))
            self.machines[member.name] = machine
            self.sent[member.name] = []
            self.history[member.name] = []
        channels = "FIFO" if fifo_channels else "unordered"
        return [f"view 1 of {name}: {' '.join(names)}, {channels} channels"]

    def _multicast(self, who: str, texts: list[str], order: Order) -> list[str]:
        assert not set(texts) & set(self.texts.values()), "each message has its own name"
        payloads = [text.encode() for text in texts]
        run = self.machines[who].multicast(_GROUP, payloads, order)
        return [self._tell_send(who, run), self._tell_delivery(who, run)]

    def _tell_send(self, who: str, run: Run) -> str:
        self.sent[who].append(run)
        is_fifo = run.order is Order.FIFO
        for message, payload in zip(_messages(run), run.payloads, strict=True):
            self.texts[message] = payload.decode()
            self.history[who].append(Event("multicast", message, is_fifo))
        header = len(encode_runs(_DOMAIN, 0, [run])) - sum(map(len, run.payloads))
        counts = " ".join(f"{self.names[rank]}={count}" for rank, count in run.stamp)
        stamp = f"stamp {counts}" if counts else "no stamp"
        return f"{who} sends {_numbers(run)}: {_words(run)}, {stamp}, {header} bytes of header"

    def _tell_delivery(self, who: str, run: Run) -> str:
        self.history[who] += [Event("deliver", message) for message in _messages(run)]
        return f"{who} delivers {_words(run)}"

    def _run(self, sender: str, text: str) -> Run:
        """Find the run that begins with a message."""
        return next(run for run in self.sent[sender] if run.payloads[0].decode() == text)

    def _part(self, sender: str, texts: list[str]) -> Run:
        """Cut consecutive messages out of the run that they were sent in."""
        wanted = [text.encode() for text in texts]
        for run in self.sent[sender]:
            for start in range(run.count):
                if run.payloads[start : start + len(wanted)] == wanted:
                    first = run.first + start
                    return Run(run.group, run.view, run.sender, first, run.order, run.stamp, wanted)
        message = f"{sender} sent no run with {texts} in it"
        raise ValueError(message)

    def _receive_runs(self, who: str, sender: str, runs: list[Run]) -> list[str]:
        return self._receive(who, encode_runs(_DOMAIN, self.names.index(sender), runs))

    def _receive(self, who: str, data: bytes) -> list[str]:
        machine = self.machines[who]
        depth = machine.queue_depth
        told: list[str] = []
        try:
            frame = decode_frame(data)
            assert isinstance(frame, Runs), "a scenario is about runs"
            for run in frame.runs:
                told += [self._tell_delivery(who, ready) for ready in machine.receive(run)]
        except AntiphonError as error:
            told.append(f"{type(error).__name__}: {error}")
        if not told and machine.queue_depth == depth:
            told.append(f"{who} finds nothing new")
        return [*told, *self._tell_state(who)]

    def _tell_state(self, who: str) -> list[str]:
        ordering = self.machines[who]
        held = [
            f"{who} holds {_words(run)}, waiting for {self._tell_lack(rank, number)}"
            for run, (_, rank, number) in ordering.waiting()
        ]
        clock = zip(self.names, ordering.clock(_GROUP), strict=True)
        return [*held, f"{who} has delivered " + " ".join(f"{q}={count}" for q, count in clock)]

    def _tell_lack(self, rank: int, number: int) -> str:
        nameless = f"message {number} of {self.names[rank]}"
        return self.texts.get((rank, number), nameless)

    def _judgement(self) -> list[str]:
        """Say what the event graph says, in names."""
        missing = [
            f"{name} has not delivered {text}"
            for name in self.names
            for message, text in self.texts.items()
            if Event("deliver", message) not in self.history[name]
        ]
        return [*self.violations(), *missing] or ["causal order was kept, all is delivered"]

    def violations(self) -> list[str]:
        """Return what no correct run may show, by the event graph alone."""
        return complaints([self.history[name] for name in self.names], is_complete=False)


def _messages(run: Run) -> list[Message]:
    return [(run.sender, number) for number in range(run.first, run.last + 1)]


def _numbers(run: Run) -> str:
    return f"{run.first}" if run.count == 1 else f"{run.first} to {run.last}"


def _words(run: Run) -> str:
    return " ".join(payload.decode() for payload in run.payloads)
