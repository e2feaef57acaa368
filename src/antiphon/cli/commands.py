"""The commands of ``antiphon``, one file each, put together.

Law: a command that is named is loaded alone, so that a small log is judged at once; help, and a
wrong name, load all of them.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from antiphon import __version__
from antiphon.cli.interrupt import interruptible

_HELP = """Causal and atomic group multicast: run it, simulate it, verify it.

Start with `antiphon demo`: five processes on this machine multicast, one is killed, and the trace
that they leave is judged: was every promise kept?"""


def application(words: Sequence[str]) -> typer.Typer:
    """Return the command line as far as these words need it."""
    made = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    for name in [words[0]] if words and words[0] in _LOADERS else _LOADERS:
        made.command(name)(interruptible(_LOADERS[name]()))
    return made


def _demo() -> Callable[..., None]:
    from antiphon.cli.demo import demo

    return demo


def _simulate() -> Callable[..., None]:
    from antiphon.cli.simulate import simulate

    return simulate


def _explore() -> Callable[..., None]:
    from antiphon.cli.explore import explore

    return explore


def _verify() -> Callable[..., None]:
    from antiphon.cli.verify import verify

    return verify


def _import() -> Callable[..., None]:
    from antiphon.cli.importing import import_log

    return import_log


def _compact() -> Callable[..., None]:
    from antiphon.cli.compact import compact

    return compact


def _measure() -> Callable[..., None]:
    from antiphon.cli.measure import measure

    return measure


def _sweep() -> Callable[..., None]:
    from antiphon.cli.sweep import sweep

    return sweep


def _reproduce() -> Callable[..., None]:
    from antiphon.cli.reproduce import reproduce

    return reproduce


def _report() -> Callable[..., None]:
    from antiphon.cli.report import report

    return report


def _export() -> Callable[..., None]:
    from antiphon.cli.export import export_log

    return export_log


def _takeover() -> Callable[..., None]:
    from antiphon.cli.takeover import takeover

    return takeover


def _bench() -> Callable[..., None]:
    from antiphon.cli.bench import bench

    return bench


_LOADERS = {
    "demo": _demo,
    "simulate": _simulate,
    "explore": _explore,
    "verify": _verify,
    "import": _import,
    "compact": _compact,
    "measure": _measure,
    "sweep": _sweep,
    "reproduce": _reproduce,
    "report": _report,
    "export": _export,
    "takeover": _takeover,
    "bench": _bench,
}
"""In the order in which help lists them."""


def _tell_version(*, is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"antiphon {__version__}")
        raise typer.Exit


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
