"""The command line: one file per command.

Law: exit status 0 is fine, 1 a property is violated or a claim fails, 2 bad usage or input, 130
Ctrl-C. An error of ours is one sentence on standard error, never a traceback. Anything else is a
bug of ours: a traceback and status 70, lest somebody take it for a violation. ``--json`` prints
one JSON document on standard output and nothing else there. What a terminal cannot show is spelt
out in ASCII.
"""

import signal
import sys
import traceback

_LIBRARIES = ("click", "rich", "typer")
"""What only the command line needs, and a plain installation does not have."""

BUG = 70
"""The exit status for what should not have happened (EX_SOFTWARE)."""


def main() -> None:
    """Run the command line; the console script's entry point."""
    try:
        _run()
    except Exception as error:  # noqa: BLE001 - whatever it is
        if isinstance(error, ModuleNotFoundError) and _is_terminal_library(error.name):
            needed = "the command line needs pip install 'antiphon[cli]'"
            sys.stderr.write(f"antiphon: {error.name} is not installed: {needed}\n")
            sys.exit(2)
        traceback.print_exc()
        sys.stderr.write("antiphon: this is a bug in Antiphon: please report it\n")
        sys.exit(BUG)


def _is_terminal_library(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in _LIBRARIES


def _run() -> None:
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:  # while we load there is nothing to tidy up: Ctrl-C may just end us
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from antiphon.cli import commands
    from antiphon.cli.screen import spell_what_cannot_be_shown
    from antiphon.core.errors import AntiphonError

    application = commands.application(sys.argv[1:])
    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    spell_what_cannot_be_shown()
    try:
        application()
    except AntiphonError as error:
        sys.stderr.write(f"antiphon: {error}\n")
        sys.exit(2)
