"""Where Spark runs, as a user says it: here, or on a cluster, and with which settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import typer

from antiphon.core.errors import UsageError

CoresOption = Annotated[
    int | None, typer.Option(min=1, help="Cores to use; all of this machine's if left out.")
]
MasterOption = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: spark://host:port, yarn, k8s://...; here if left out."),
]
ConfOption = Annotated[
    list[str] | None, typer.Option(help="A setting of Spark's, name=value; may be repeated.")
]


@dataclass(frozen=True, slots=True)
class SparkPlace:
    """Where Spark runs, and with which settings, if not here with ours."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def cluster_of(master: str | None, conf: list[str]) -> SparkPlace | None:
    """Return what the options say of Spark; None: nothing."""
    settings = dict(setting.partition("=")[::2] for setting in conf)
    for setting in conf:
        if "=" not in setting:
            message = f"--conf {setting}: expected name=value, as spark.executor.memory=8g"
            raise UsageError(message)
    return SparkPlace(master, settings) if master or settings else None
