"""The example of docs/testing.md with processes in two groups, as it stands there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_example_with_two_groups_runs_as_it_is_written() -> None:
    """And what was heard is what was said."""
    programs = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (program,) = [text for text in programs if "antiphon.Process(" in text]
    known: dict[str, object] = {}
    exec(compile(program, str(PAGE), "exec"), known)
    assert known["heard"] == {"room-1": [b"hello"], "lobby": [b"bye"]}
