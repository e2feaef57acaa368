"""A member of the example `two_ledgers.py` that kills itself at a named step.

    python ledger_member.py '{"me": ..., "members": {...}, "folder": ..., "step": ...}'

Law: the example runs as it is; only its addresses are others, and its run is journalled. At the
step, once, the process is gone as by `kill -9`: nothing is flushed, closed or said.
"""

import importlib.util
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import antiphon
from antiphon.net.driver.incarnation import Incarnation
from antiphon.net.group.committing import Committer
from antiphon.stack.effects import Effect
from antiphon.stack.ports import Ports
from antiphon.toolkit import commit
from antiphon.toolkit.commit_messages import Begin, Decision, Vote, decode

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "two_ledgers.py"

SAID = {"begin": Begin, "vote": Vote, "decision": Decision}
"""Steps are before or after one of these is multicast, or a method of the ledger is called."""


def load_example() -> Any:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("two_ledgers", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def die() -> None:
    """Be gone."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm_method(ledger: type, name: str, when: str) -> None:
    """Die before or after a method of the ledger."""
    right: Callable[..., Awaitable[Any]] = getattr(ledger, name)

    async def armed(*arguments: Any) -> Any:
        if when == "before":
            die()
        result = await right(*arguments)
        die()
        return result

    setattr(ledger, name, armed)


def arm_multicast(kind: type, when: str) -> None:
    """Die before a message of this kind is handed over to be sent, or when it has been sent."""
    right, do_all = Ports._committed, Incarnation._do
    said: list[bytes] = []

    def armed(self: Ports, effects: list[commit.Effect]) -> list[Effect]:
        said.extend(
            one.payload
            for one in effects
            if isinstance(one, commit.Multicast) and isinstance(decode(one.payload), kind)
        )
        if said and when == "before":
            die()
        return right(self, effects)

    def armed_do_all(self: Incarnation, group: Any, effects: Any) -> None:
        do_all(self, group, effects)
        if said and not any(one.queue.waiting for one in self.machine._endpoints.values()):
            die()

    Ports._committed = armed  # type: ignore[method-assign]
    Incarnation._do = armed_do_all  # type: ignore[method-assign]


def arm_decided() -> None:
    """Die when a decision is delivered."""
    right = Committer.do

    def armed(self: Committer, effect: Any) -> None:
        if isinstance(effect, commit.Decided):
            die()
        right(self, effect)

    Committer.do = armed  # type: ignore[method-assign]


def main(me: str, members: dict[str, str], folder: str, step: str = "") -> None:
    """Run the example, armed."""
    module = load_example()
    module.MEMBERS = members
    module.antiphon.join = partial(antiphon.join, trace=Path(folder) / "run")
    when, _, what = step.partition(" ")
    if what in SAID:
        arm_multicast(SAID[what], when)
    elif what == "delivery":
        arm_decided()
    elif what:
        arm_method(module.Ledger, what, when)
    os.chdir(folder)
    antiphon.run(module.main(me))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
