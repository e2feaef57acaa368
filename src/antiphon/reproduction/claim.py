"""A claim of a paper: its words, what to run, and how to judge what comes out.

Law: ``measure`` runs the code and tells what it found; ``judge`` sees that and nothing else. A
claim that nothing here can show has no ``measure``, and says why.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from antiphon.reproduction.sweeping import Sweeping
from antiphon.trace.claims import ClaimVerdict, FigureData, TableData


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to run, and who computes what is a sweep."""

    is_quick: bool
    sweeping: Sweeping = field(default_factory=Sweeping, compare=False, repr=False)

    def pick(self, quick: int, full: int) -> int:
        """Return a number of repetitions."""
        return quick if self.is_quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run found."""

    value: str
    """Beside the paper's, for people."""
    numbers: dict[str, float] = field(default_factory=dict)
    """For the judge."""
    table: TableData | None = None
    figure: FigureData | None = None


Judgement = tuple[ClaimVerdict, str]
"""The verdict, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim."""

    paper: str
    section: str
    name: str
    """As the command line calls it."""
    words: str
    paper_value: str
    measure: Callable[[Effort], Measured] | None
    judge: Callable[[Measured], Judgement]
    assumptions: tuple[str, ...] = ()
