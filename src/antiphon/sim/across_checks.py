"""Causality across groups, judged by an explicit relation: it knows nothing of any timestamp.

Law: what happens in a world is noted in the one sequence in which the simulator lets it happen. The
past of a message is all that its sender had multicast or delivered before, in any group, and the
pasts of that; through a message in fifo order causality does not pass. Whoever delivers a message
must have delivered before it all of its past that is of views, of any group, which it installs as a
member, sooner or later (001-10). What it delivers later breaks causality; what it never delivers is
a hole, which is excused if more processes failed than the domain is resilient to, and then only
between views or groups: within a view of a group nothing is excused.

Letters are of one process's past, its addressee's, which must take them before whatever depends on
them; one that it never takes is lost with the view, and nobody's fault.

What an application hands over is numbered, and leaves in that order, whatever its groups.

Sets of messages are integers, a bit for each message.
"""

from antiphon.core.ids import ProcessId
from antiphon.core.runs import PORT_ORDER, Order, Run
from antiphon.core.views import View

_Scope = tuple[int, int]
_Message = tuple[int, int, str, int]


class AcrossChecks:
    """What happened in a world of several groups."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self._bits: dict[_Message | bytes, int] = {}
        self._names: list[_Message | bytes] = []
        self._past: dict[_Message, int] = {}
        self._is_fifo: set[_Message] = set()
        self._knows: dict[str, int] = {}
        self._scopes: dict[str, set[_Scope]] = {}
        self._ends: dict[tuple[str, _Scope], bool] = {}
        self._letters: dict[bytes, int] = {}
        self._letters_to: dict[str, int] = {}
        self._events: list[tuple[str, _Message | bytes]] = []
        self._handed_over: dict[str, int] = {}
        self._left: set[tuple[str, int]] = set()
        self._flushes: dict[tuple[str, int], int] = {}
        self._wrong = self._flushed_early = ""
        self.failed: set[str] = set()
        """Processes that crashed, or were excluded."""

    # What happens.

    def install(self, process: str, group: int, view: int, me: ProcessId, seen: View) -> None:
        """A process installs a view of a group."""
        if me in seen.members:
            self._scopes.setdefault(process, set()).add((group, view))
            self._left.discard((process, group))
        else:
            self._left.add((process, group))
        self.failed.update(who.name for who in seen.failed)

    def crash(self, process: str) -> None:
        """A process crashes."""
        self.failed.add(process)

    def multicast(self, process: str, group: int, run: Run, me: str) -> None:
        """A process multicasts a run; lists of the total order are nobody's message."""
        if run.port == PORT_ORDER:
            return
        for number, payload in enumerate(run.payloads, run.first):
            message = (group, run.view, me, number)
            if int(payload) <= self._handed_over.get(process, 0):
                self._wrong = self._wrong or f"{process} sends {_name(message)} out of its turn"
            self._handed_over[process] = int(payload)
            self._bits[message] = 1 << len(self._names)
            self._names.append(message)
            self._past[message] = self._knows.get(process, 0)
            if run.order is Order.FIFO:
                self._is_fifo.add(message)
            self._knows[process] = self._knows.get(process, 0) | self._bits[message]

    def deliver(self, process: str, group: int, run: Run, sender: str) -> None:
        """A process delivers a run."""
        for number in range(run.first, run.last + 1):
            message = (group, run.view, sender, number)
            if message not in self._bits:
                continue  # a list
            self._events.append((process, message))
            gained = self._bits[message]
            if message not in self._is_fifo:
                gained |= self._past[message]
            self._knows[process] = self._knows.get(process, 0) | gained

    def send(self, process: str, letter: bytes, to: str) -> None:
        """A process sends a letter."""
        knows = self._letters[letter] = self._knows.get(process, 0)
        bit = self._bits[letter] = 1 << len(self._names)
        self._names.append(letter)
        self._letters_to[to] = self._letters_to.get(to, 0) | bit
        self._knows[process] = knows | bit

    def take(self, process: str, letter: bytes) -> None:
        """A process takes a letter."""
        self._events.append((process, letter))
        gained = self._letters[letter] | self._bits[letter]
        self._knows[process] = self._knows.get(process, 0) | gained

    def begin_flush(self, process: str, number: int) -> None:
        """A process begins to wait until what it knows is everywhere."""
        self._flushes[process, number] = self._knows.get(process, 0)

    def end_flush(self, process: str, number: int) -> None:
        """It need not wait any longer: what it had sent or delivered is where it is to be."""
        knows = self._flushes.pop((process, number), 0)
        own = self._scopes.get(process, set())
        # Of a group that was left nothing is known any more.
        mine = self._of({scope for scope in own if (process, scope[0]) not in self._left})
        done = dict.fromkeys(self._scopes, 0)
        for who, message in self._events:
            done[who] = done.get(who, 0) | self._bits.get(message, 0)
        for who, scopes in self._scopes.items():
            missing = knows & mine & self._of(scopes) & ~done[who]
            if missing and not self._flushed_early:
                name = _name(self._names[(missing & -missing).bit_length() - 1])
                self._flushed_early = f"{process} has flushed, and {who} lacks {name}"

    # Judging.

    def judge(self, resilience: int) -> str:
        """Say what is wrong, or nothing."""
        if self._wrong:
            return self._wrong
        if self._flushed_early and not self.failed:  # who was about to be excluded may lack it
            return self._flushed_early
        relevant = {
            who: self._of(scopes) | self._letters_to.get(who, 0)
            for who, scopes in self._scopes.items()
        }
        done, ever = dict.fromkeys(relevant, 0), dict.fromkeys(relevant, 0)
        for process, message in self._events:
            ever[process] |= self._bits.get(message, 0)
        for process, message in self._events:
            missing = self._past_of(message) & relevant[process] & ~done[process]
            said = self._say(process, message, missing, ever[process], resilience)
            if missing and said:
                return said
            done[process] |= self._bits.get(message, 0)
        return ""

    def _past_of(self, message: _Message | bytes) -> int:
        if isinstance(message, bytes):
            return self._letters[message]
        return 0 if message in self._is_fifo else self._past[message]

    def _of(self, scopes: set[_Scope]) -> int:
        found = 0
        for message, bit in self._bits.items():
            if isinstance(message, tuple) and message[:2] in scopes:
                found |= bit
        return found

    def _say(
        self, process: str, message: _Message | bytes, missing: int, ever: int, resilience: int
    ) -> str:
        what = _name(message)
        late = missing & ever
        if late:
            first = self._names[(late & -late).bit_length() - 1]
            return f"across groups: {process} delivers {what} before {_name(first)}, its past"
        is_excused = len(self.failed) > resilience
        own = message[:2] if isinstance(message, tuple) else None
        while missing:
            bit = missing & -missing
            missing ^= bit
            lost = self._names[bit.bit_length() - 1]
            if isinstance(lost, bytes):
                continue
            if not is_excused or lost[:2] == own:
                return f"across groups: {process} delivers {what} and never {_name(lost)}, its past"
        return ""


def _name(message: _Message | bytes) -> str:
    if isinstance(message, bytes):
        return f"letter {message.decode()}"
    group, view, sender, number = message
    return f"message {number} of {sender} in view {view} of group {group}"
