"""The parameters of a simulated group by the names that people give them, and the command again.

Law: whoever simulates from names (the command line, an experiment's file, a claim) does so through
here, so that the same names give the same world, and the replay command is the same everywhere.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.records import MEMBERS_MAX
from antiphon.core.runs import Order
from antiphon.sim.delays import DelayOptions
from antiphon.sim.faulty_group import FaultCounts, check_faults, scenario_of
from antiphon.sim.scenario import PROTOCOLS, Scenario
from antiphon.sim.steady_group import Options
from antiphon.sim.workload import WorkloadOptions

ORDERS = {"causal": Order.CAUSAL, "fifo": Order.FIFO, "total": Order.TOTAL}


class Parameter(NamedTuple):
    """One parameter."""

    default: int | float | str | bool
    allowed: str
    """In words."""

    def takes(self, value: object) -> bool:
        """Whether a value is of the right kind; its range is checked where it is used."""
        if isinstance(self.default, bool) or isinstance(value, bool):
            return isinstance(self.default, bool) and isinstance(value, bool)
        if isinstance(self.default, str):
            return value in (PROTOCOLS if self.default in PROTOCOLS else ORDERS)
        kinds = (int, float) if isinstance(self.default, float) else int
        return isinstance(value, kinds) and value >= 0


PARAMETERS = {
    "processes": Parameter(5, f"a number of processes from 1 to {MEMBERS_MAX}"),
    "messages": Parameter(2_000, "a number of messages from 1 up"),
    "order": Parameter("causal", 'one of "causal", "fifo", "total"'),
    "uniform": Parameter(False, "true or false"),  # noqa: FBT003 - a default
    "delay_us": Parameter(1_000, "microseconds from 0 up"),
    "delay_us_min": Parameter(50, "microseconds from 0 up"),
    "interval_us": Parameter(2_000, "microseconds from 0 up"),
    "answers": Parameter(0.7, "a number from 0 to 1"),
    "burst": Parameter(4, "a number of messages from 1 up"),
    "payload_bytes": Parameter(32, "bytes from 0 up"),
    "crashes": Parameter(0, "a number of processes, less than half"),
    "pauses": Parameter(0, "a number of times from 0 up"),
    "partitions": Parameter(0, "a number of times from 0 up"),
    "protocol": Parameter("vector", f"one of {', '.join(PROTOCOLS)}"),
    "loss": Parameter(0.0, "a number from 0 to below 1"),
}
"""By name, in the order in which commands tell them."""


FAULTS = ("crashes", "pauses", "partitions")
"""Those that say what goes wrong."""


def faults_of(config: Mapping[str, Any]) -> FaultCounts:
    """Return what goes wrong in the world that some parameters name."""
    faults = FaultCounts(**{name: config.get(name, 0) for name in FAULTS})
    usual = PARAMETERS["payload_bytes"].default
    if (faults or is_played(config)) and config.get("payload_bytes", usual) != usual:
        message = (
            "payload_bytes cannot be set where processes fail, or with another protocol: leave one "
            "of the two out"
        )
        raise UsageError(message)
    return faults


_PLAYED = ("blocks",)
"""Protocols that need more of the world than a steady group has: channels for datagrams."""


def is_played(config: Mapping[str, Any]) -> bool:
    """Whether the world that some parameters name is a scenario, even if nothing fails in it."""
    return bool(config.get("protocol", "vector") in _PLAYED)


def scenario_for(seed: int, config: Mapping[str, Any]) -> Scenario | None:
    """Return the scenario that some parameters name; None: it is a steady group."""
    faults = faults_of(config)
    if not (faults or is_played(config)):
        return None
    scenario = scenario_of(options_of(seed, config), faults)
    protocol, loss = config.get("protocol", "vector"), config.get("loss", 0.0)
    return replace(scenario, protocol=protocol, loss=loss)


def check_world(seed: int, config: Mapping[str, Any]) -> None:
    """Complain of parameters that cannot be simulated."""
    options, faults = options_of(seed, config), faults_of(config)
    if faults:
        check_faults(options, faults)
    protocol, loss = config.get("protocol", "vector"), config.get("loss", 0.0)
    if protocol not in PROTOCOLS:
        message = f"there is no protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}"
        raise UsageError(message)
    if loss and protocol != "blocks":
        message = f"only datagrams are lost, and protocol {protocol} sends none: choose blocks"
        raise UsageError(message)
    if not 0.0 <= loss < 1.0:
        message = f"loss is a number from 0 to below 1, not {loss}"
        raise UsageError(message)
    if protocol != "vector" and (options.uniform or options.order is Order.TOTAL):
        message = (
            f"protocol {protocol} gives neither total order nor uniform delivery: leave it out"
        )
        raise UsageError(message)


def options_of(seed: int, config: Mapping[str, Any]) -> Options:
    """Return the world that some parameters name; the others have their defaults."""
    value = {name: config.get(name, each.default) for name, each in PARAMETERS.items()}
    return Options(
        seed=seed,
        process_count=value["processes"],
        order=ORDERS[value["order"]],
        uniform=value["uniform"],
        protocol="vector" if value["protocol"] in _PLAYED else value["protocol"],
        delays=DelayOptions(delay_us_min=value["delay_us_min"], delay_us_mean=value["delay_us"]),
        workload=WorkloadOptions(
            message_count=value["messages"],
            interval_us_mean=value["interval_us"],
            answers=value["answers"],
            burst_max=value["burst"],
            payload_bytes=value["payload_bytes"],
        ),
    )


def replay_command(seed: int, config: Mapping[str, Any], out: Path) -> str:
    """Return the one command that gives this run again."""
    words = ["antiphon", "simulate", "--seed", str(seed)]
    for name, value in config.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [word for each in value for word in (option, str(each))]
        elif value is not False and (name not in FAULTS or value):
            words += [option, str(value)]
    return shlex.join([*words, "--out", str(out)])
