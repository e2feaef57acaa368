"""The commands of ``antiphon``, one file each, put together."""

from typing import Annotated

import typer

from antiphon import __version__
from antiphon.cli.bench import bench
from antiphon.cli.demo import demo
from antiphon.cli.explore import explore
from antiphon.cli.interrupt import interruptible
from antiphon.cli.report import report
from antiphon.cli.simulate import simulate
from antiphon.cli.takeover import takeover
from antiphon.cli.verify import verify

_HELP = """Causal and atomic group multicast: run it, simulate it, verify it.

Start with `antiphon demo`: five processes on this machine multicast, one is killed, and the trace
that they leave is judged: was every promise kept?"""

app = typer.Typer(
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (demo, simulate, explore, verify, report, takeover, bench):
    app.command()(interruptible(_command))


def _tell_version(*, is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"antiphon {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which Antiphon this is.", is_eager=True, callback=_tell_version
        ),
    ] = False,
) -> None:
    pass
