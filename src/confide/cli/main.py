"""Entry point of the `confide` command."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli import (
    attack,
    audit,
    demo,
    evaluate,
    federation,
    ledger,
    plan,
    predict,
    release,
    select,
    site,
    train,
    validate,
)
from confide.cli.errors import find_command, translate
from confide.errors import ConfideError

app = typer.Typer(
    name="confide",
    help="Evaluate binary classifiers on data that must not be shown.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("evaluate")(evaluate.evaluate)
app.command("release")(release.release)
app.command("plan")(plan.plan)
app.command("select")(select.select)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("validate")(validate.validate)
app.add_typer(federation.app, name="federation")
app.add_typer(site.app, name="site")
app.add_typer(ledger.app, name="ledger")
app.add_typer(attack.app, name="attack")
app.command("audit")(audit.audit)
app.command("demo")(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"confide {version('confide')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Evaluate binary classifiers on data that must not be shown.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused for lack of budget.
    """


def run() -> None:
    """Run the `confide` command."""
    run_app(app, prog_name="confide")


def run_app(app: typer.Typer | TyperCommand | TyperGroup, *, prog_name: str) -> None:
    """Run a command line. Turn each exception into one line on standard error and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # show question marks for letters that a terminal lacks
            stream.reconfigure(errors="replace")
    command = get_command(app) if isinstance(app, typer.Typer) else app
    try:
        command(prog_name=prog_name)
    except ConfideError as error:
        typer.echo(f"error: {_in_flags(error, command)}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of the output closed it, as `head` does
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # a full disk, a folder that went away
        typer.echo(f"error: {error.strerror or type(error).__name__}: {error.filename or 'output'}", err=True)
        sys.exit(1)
    except Exception:  # its message may quote rows, and its kind may depend on them
        from confide.sources.details import MORE, shows_errors

        if shows_errors():
            raise
        typer.echo(f"error: something unexpected went wrong; {MORE}, and may report it", err=True)
        sys.exit(1)


def _in_flags(error: ConfideError, command: object) -> str:
    """Return the message of an error with the flags of the command that ran."""
    if not isinstance(command, TyperCommand | TyperGroup):
        return str(error)
    return translate(str(error), find_command(command, sys.argv[1:]))
