"""Random executions of hosts that send messages and keep vector clocks, written as logs."""

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random


@dataclass
class Happening:
    """What one host did, and its clock then."""

    host: str
    clock: dict[str, int]
    text: str
    learnt: dict[str, int]
    """Of a receipt: the clock that came with the message."""


def random_execution(dice: Random) -> list[Happening]:
    """Return events in the order in which they happened."""
    hosts = [f"h{number}" for number in range(dice.randint(2, 5))]
    clocks: dict[str, dict[str, int]] = {host: {} for host in hosts}
    under_way: list[tuple[str, dict[str, int]]] = []
    found = []
    for _ in range(dice.randint(10, 60)):
        host = dice.choice(hosts)
        clock = clocks[host]
        ready = [item for item in under_way if item[0] == host]
        learnt: dict[str, int] = {}
        clock[host] = clock.get(host, 0) + 1
        text = "works"
        if ready and dice.random() < 0.6:
            under_way.remove(item := dice.choice(ready))
            learnt, text = item[1], "receives"
            for other, entry in learnt.items():
                clock[other] = max(clock.get(other, 0), entry)
        elif dice.random() < 0.6:
            text = "sends"
            other = dice.choice([each for each in hosts if each != host])
            under_way.append((other, dict(clock)))
        found.append(Happening(host, dict(clock), text, learnt))
    return found


def write_govector(path: Path, events: list[Happening]) -> Path:
    """Write a log as GoVector does: two lines per event."""
    rows = [f"{event.host} {json.dumps(event.clock)}\n{event.text}\n" for event in events]
    path.write_text("".join(rows))
    return path
