"""The command line: one file per command.

Law: exit status 0 is fine, 1 a property is violated or a claim fails, 2 bad usage or input. An
error of ours is one sentence on standard error, never a traceback. Anything else is a bug of ours:
a traceback and status 70, lest somebody take it for a violation. ``--json`` prints one JSON
document on standard output and nothing else there.
"""

import sys
import traceback

import typer

from antiphon.cli.bench import bench
from antiphon.cli.demo import demo
from antiphon.cli.explore import explore
from antiphon.cli.simulate import simulate
from antiphon.cli.verify import verify
from antiphon.core.errors import AntiphonError

_HELP = """Causal and atomic group multicast: run it, simulate it, verify it.

Start with `antiphon demo`: five processes on this machine multicast, one is killed, and Spark
confirms from the trace they leave that every promise was kept."""

BUG = 70
"""The exit status for what should not have happened (EX_SOFTWARE)."""

app = typer.Typer(
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(simulate)
app.command()(explore)
app.command()(verify)
app.command()(bench)


def main() -> None:
    """Run the command line; the console script's entry point."""
    try:
        app()
    except AntiphonError as error:
        sys.stderr.write(f"antiphon: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("antiphon: interrupted\n")
        sys.exit(130)
    except Exception:  # noqa: BLE001 - whatever it is
        traceback.print_exc()
        sys.stderr.write("antiphon: this is a bug in Antiphon: please report it\n")
        sys.exit(BUG)
