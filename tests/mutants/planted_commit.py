"""Planted bugs of distributed commit (Uniform 5.1), hunted in whole worlds.

The mistakes are those that the tests of the machine plant too; here the network, the views and
the crashes are the simulator's.
"""

from tests.mutants.registry import MUTANTS, Mutant
from tests.toolkit import commit_mutants

_HUNTED = (
    "decision is multicast plainly",
    "new coordinator decides again",
    "who is gone counts as yes",
    "first vote decides",
)
"""Of the others, those about joiners need situations that random worlds hardly come to, and one
(votes of the dead are void) only aborts more than it must, which breaks no promise; what a new
coordinator does not do at once (new coordinator waits for votes) it does on the next tick."""

for _name in _HUNTED:
    MUTANTS.append(Mutant(_name, "view-atomic", "Uniform 5.1", *commit_mutants.MUTANTS[_name]))
