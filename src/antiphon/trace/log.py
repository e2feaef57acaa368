"""Which log is meant: its paths, what they are called in evidence, and how its columns are read.

Law: a log is one thing to judge, however many paths it has. Whoever reads it gets the same
description, in whatever process: it is plain data.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

STANDARD_INPUT = "stdin"
"""What evidence calls it."""

_NAMES_MAX = 3
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """How somebody else's columns are ours; what is not named is called as in the schema."""

    columns: dict[str, str] = field(default_factory=dict)
    """From our name to theirs; dots lead into objects."""
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    """By our name: from their value to ours."""


@dataclass(frozen=True, slots=True)
class Log:
    """Paths that are judged as one."""

    paths: tuple[Path, ...]
    stand_ins: dict[Path, str] = field(default_factory=dict)
    """Files of ours that stand for others: what those are called."""
    columns: ColumnMap | None = None
    title: str = ""
    """What its verdict is about, if not its paths."""

    @classmethod
    def of(cls, where: "Path | Log") -> Self:
        """Return a log that is at one path, or the log itself."""
        if isinstance(where, cls):
            return where
        assert isinstance(where, Path), "it is one or the other"
        return cls((where,))

    @property
    def name(self) -> str:
        """What its verdict is about."""
        if self.title:
            return self.title
        names = [self.name_of(path) for path in self.paths]
        if len(names) <= _NAMES_MAX:
            return " + ".join(names)
        return f"{names[0]} + {len(names) - 1} more"

    def name_of(self, path: Path) -> str:
        """Return what one of its paths is called."""
        return self.stand_ins.get(path) or path_name(path)

    def __str__(self) -> str:
        """As in a sentence."""
        return ", ".join(self.stand_ins.get(path) or str(path) for path in self.paths)


def is_address(text: str) -> bool:
    """Whether a log is named by an address, such as s3a://bucket/run, that only Spark can read."""
    return bool(_ADDRESS.match(text)) and not text.startswith("file://")


def local_path(text: str) -> Path:
    """Return a path that is given as such, or as file://..."""
    return Path(unquote(urlsplit(text).path)) if text.startswith("file://") else Path(text)


def path_name(path: Path) -> str:
    """Return a file's name without its ending, or a folder's."""
    if path.is_dir():
        return path.resolve().name
    return path.with_suffix("").stem if path.suffix == ".gz" else path.stem
