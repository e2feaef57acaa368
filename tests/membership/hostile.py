"""Random nonsense for members: control messages and runs that no correct process sends.

Law: everything is drawn from one generator made from a seed. The values lie where it hurts: the
next view and the one after, ranks in and out of range, ballots in use, ids of members, of former
members and of strangers, and numbers as large as the wire allows.
"""

from collections.abc import Callable
from random import Random

from tests.membership.hands import A, B, C, D, E, X, Y

from antiphon.core.control import (
    Accept,
    AlarmSaid,
    Alive,
    AnyMessage,
    Ask,
    Beat,
    Begun,
    Confirm,
    Decide,
    Elsewhere,
    EpochSaid,
    Everywhere,
    Flush,
    Forgettable,
    ForgettingAsked,
    FoundingAnswer,
    FoundingQuestion,
    GroupsNamed,
    HeardOf,
    HowFar,
    HowFarAsked,
    Install,
    JoinRefused,
    JoinRequest,
    KeyTold,
    LetterAsked,
    LetterTaken,
    Out,
    PastTold,
    Prepare,
    Promise,
    Propose,
    ReadingOn,
    Receipts,
    ReceiptsAsked,
    Reject,
    Report,
    Situation,
    Standing,
    StateChunk,
    StateTaken,
    Subtree,
    Want,
    decode_message,
    encode_message,
)
from antiphon.core.errors import PeerError
from antiphon.core.ids import GroupName, GroupNumber, ProcessId, Rank, ViewNumber
from antiphon.core.runs import Letter, Order, Run, SetsOrder
from antiphon.core.views import View

PEOPLE = (A, B, C, D, E, X, Y, ProcessId("a", 2, 1, A.address), ProcessId("c", 2, 3, "elsewhere"))
KINDS = (
    Prepare, Promise, Propose, Accept, Reject, Decide, Want, JoinRequest, JoinRefused, Ask, Out,
    Situation, Standing, Flush, Report, Install, Alive, Beat, Confirm, LetterTaken, LetterAsked,
    StateChunk, StateTaken, FoundingQuestion, FoundingAnswer, Elsewhere, Begun, ReceiptsAsked,
    Receipts, Forgettable, ForgettingAsked, GroupsNamed, PastTold, EpochSaid, KeyTold,
    Subtree, Everywhere, AlarmSaid, HowFarAsked, HowFar, ReadingOn, HeardOf,
)  # fmt: skip


class Liar:
    """Makes up messages and runs around view number ``near``."""

    def __init__(self, seed: int) -> None:
        """Draw everything from this seed."""
        self.random = Random(seed)
        self.near = 1

    def number(self) -> int:
        """Return a number of a view, a ballot, a count, a place."""
        near = self.near + self.random.choice((-1, 0, 0, 1, 1, 1, 2, 3))
        return self.random.choice((max(0, near), max(0, near), max(0, near), 0, 1, 2**62))

    def people(self, at_most: int = 4) -> tuple[ProcessId, ...]:
        """Return some processes, each once."""
        return tuple(self.random.sample(PEOPLE, self.random.randint(0, at_most)))

    def view(self, latest: View | None) -> View:
        """Return a view, often one that nearly follows from the latest."""
        if latest is None or self.random.random() < 0.5:
            members = self.people() or (A,)
            return View(
                GroupName(self.random.choice("ggh")), ViewNumber(max(1, self.number())), members,
                self.people(2), self.people(2), self.people(2), self.people(2), (("x", 3),),
            )  # fmt: skip
        gone = self.random.choice((*latest.members, None))
        stayed = tuple(member for member in latest.members if member != gone)
        new = tuple(who for who in self.people(2) if who not in latest.members)
        kept = gone is not None and self.random.random() < 0.5
        return View(
            latest.group, ViewNumber(min(latest.number + 1, 2**62)), (*stayed, *new) or (X,),
            joined=new,
            left=(gone,) if gone is not None and kept else (),
            failed=(gone,) if gone is not None and not kept else (),
        )  # fmt: skip

    def message(self, latest: View | None) -> AnyMessage:
        """Return any control message that can be decoded."""
        makers = self._makers(latest)
        while True:
            made = makers[self.random.choice(KINDS)]()
            try:
                return decode_message(encode_message(made))
            except PeerError:
                continue  # what the codec refuses never gets here

    def _makers(self, latest: View | None) -> dict[type, Callable[[], AnyMessage]]:
        number, people, coin = self.number, self.people, self._coin
        return {
            Prepare: lambda: Prepare(number(), number()),
            Promise: lambda: Promise(
                number(), number(), number(), self.view(latest) if coin() else None
            ),
            Propose: lambda: Propose(number(), self.view(latest)),
            Accept: lambda: Accept(number(), number()),
            Reject: lambda: Reject(number(), number()),
            Decide: lambda: Decide(tuple(self.view(latest) for _ in range(1 + coin()))),
            Want: lambda: Want(number()),
            ReceiptsAsked: lambda: ReceiptsAsked(number(), self._counts(), coin()),
            AlarmSaid: lambda: AlarmSaid(is_raised=coin()),
            ReadingOn: lambda: ReadingOn(number(), number()),
            Subtree: lambda: Subtree(number(), self._counts(), self._counts()),
            Everywhere: lambda: Everywhere(number(), self._counts(), self._counts()),
            Receipts: lambda: Receipts(number(), self._counts(), coin()),
            ForgettingAsked: lambda: ForgettingAsked(
                ((number(), number(), self._counts()),), coin()
            ),
            Forgettable: lambda: Forgettable(((number(), number(), self._counts()),)),
            HowFarAsked: lambda: HowFarAsked(number(), number()),
            HowFar: lambda: HowFar(number(), number(), number(), coin()),
            GroupsNamed: lambda: GroupsNamed(((number(), "?" * coin()),)),
            EpochSaid: lambda: EpochSaid(number(), number()),
            HeardOf: lambda: HeardOf(number(), ((number(), self._counts()),)),
            PastTold: lambda: PastTold(number(), ((number(), number(), self._counts()),)),
            JoinRequest: lambda: JoinRequest(self.random.choice(PEOPLE)),
            JoinRefused: lambda: JoinRefused("no" * coin(), number()),
            Ask: lambda: Ask(people(), people(), coin(), coin()),
            Out: lambda: Out(number()),
            FoundingQuestion: lambda: FoundingQuestion(("?",), number()),
            FoundingAnswer: lambda: FoundingAnswer(
                A, ("?",), number(), coin(), number(), number(), None, None
            ),
            Situation: lambda: Situation("x", number(), (), (), is_blocked=coin(), obstacle=""),
            Elsewhere: lambda: Elsewhere(("?",) * coin()),
            Standing: lambda: Standing(number(), coin(), coin(), ("?",) * coin()),
            Flush: lambda: Flush(number()),
            Report: lambda: Report(
                number(), tuple(count % 5 for count in self.ranks()), tuple(self.ranks())
            ),
            Install: lambda: Install(number()),
            Beat: Beat,
            Begun: lambda: Begun(((self.random.choice(PEOPLE), number()),)),
            Alive: lambda: Alive(
                number(), tuple((rank, number()) for rank in self.ranks()), number(), number()
            ),
            Confirm: lambda: Confirm(number(), number(), number()),
            LetterTaken: lambda: LetterTaken(number()),
            LetterAsked: LetterAsked,
            StateChunk: lambda: StateChunk(number(), number(), coin(), b"?"),
            StateTaken: lambda: StateTaken(number(), number()),
            KeyTold: lambda: KeyTold(number(), self.random.randbytes(32)),
        }

    def _counts(self) -> tuple[tuple[int, int], ...]:
        return tuple((self.random.randrange(6), self.number()) for _ in range(3))

    def _coin(self) -> bool:
        return self.random.random() < 0.5

    def ranks(self) -> list[int]:
        """Return ranks, in and out of range."""
        return [self.random.choice((0, 1, 2, 3, 4095)) for _ in range(self.random.randint(0, 4))]

    def run(self) -> Run:
        """Return any run that a frame can carry."""
        return self._make(Run, self.random.random() < 0.3, self._list())

    def letter(self) -> Letter:
        """Return any letter that a frame can carry."""
        made = self._make(Letter, uniform=False, sets_order=None)
        assert isinstance(made, Letter), "that is what was asked for"
        return made

    def _make(self, kind: type[Run], uniform: bool, sets_order: SetsOrder | None) -> Run:
        random = self.random
        orders = list(Order)[:2] if kind is Letter else list(Order)
        stamp = tuple(sorted({rank: 1 + self.number() for rank in self.ranks()}.items()))
        return kind(
            GroupNumber(random.choice((0, 0, 0, 1))), ViewNumber(self.number()),
            Rank(random.choice((0, 1, 2, 3, 4095))), random.choice((1, 1, 2, 3, 2**62)),
            random.choice(orders), stamp, [b"!"] * random.randint(1, 1 if kind is Letter else 3),
            None, uniform, random.choice((0, 0, 1, 2, 3, 255)), sets_order,
        )  # fmt: skip

    def _list(self) -> SetsOrder | None:
        """Return a sets-order list, mostly a wrong one."""
        random = self.random
        if random.random() < 0.6:
            return None
        turns = tuple((rank, 1 + self.number() % 2**62) for rank in self.ranks())
        number = random.choice((1, 1, 2, 7, 2**62))
        return SetsOrder(number, turns, random.choice((-1, 0, 1, 2, 4095)))
