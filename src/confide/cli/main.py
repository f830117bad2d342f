"""Entry point of the `confide` command."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide._lazy import missing_extra
from confide.cli.flags import as_commands, find_call, translate
from confide.cli.lazy_verbs import LazyGroup, Verb
from confide.errors import ConfideError

_ASKED_BY_SHELL = "_CONFIDE_COMPLETE"  # set by a shell whose user pressed Tab


class Verbs(LazyGroup):
    """Verbs of `confide`."""

    verbs: ClassVar = {
        "evaluate": Verb(
            "confide.cli.evaluate:evaluate",
            "Evaluate scores exactly: ranking, calibration, use, each number with its interval.",
        ),
        "release": Verb(
            "confide.cli.release:release",
            "Release metrics under differential privacy, with intervals, and charge the ledger.",
        ),
        "plan": Verb(
            "confide.cli.plan:plan",
            "Plan a release (its error and interval widths, by mechanism), or the rows that an exact study needs.",
        ),
        "select": Verb(
            "confide.cli.learning:select", "Select features under differential privacy, and charge the ledger."
        ),
        "train": Verb(
            "confide.cli.learning:train", "Train a classifier under differential privacy, and charge the ledger."
        ),
        "predict": Verb(
            "confide.cli.learning:predict",
            "Write the rows of a file with a model's probability of the positive class beside each.",
        ),
        "validate": Verb("confide.cli.validate:validate", "Validate a model at several sites that share no rows."),
        "audit": Verb(
            "confide.cli.audit:audit",
            "Try to refute the guarantees: a lower bound on epsilon for every mechanism and relation.",
        ),
        "demo": Verb(
            "confide.cli.demo:demo",
            "Evaluate a bundled real example exactly, release it privately, use up the budget, write one report.",
        ),
        "federation": Verb(
            "confide.cli.federation:app",
            "Make a federation of sites, run its server, and see which sites are connected.",
        ),
        "site": Verb(
            "confide.cli.site:app",
            "Take part in a federation: describe the data and what is allowed, start the site, and see its requests.",
        ),
        "contest": Verb(
            "confide.cli.contest:app",
            "Run a contest on secret labels, whose answers cannot give the labels away.",
        ),
        "submit": Verb("confide.cli.contest:submit", "Submit scores to a contest, and see how good they are."),
        "serve": Verb(
            "confide.cli.contest:serve",
            "Serve contests: participants send scores, and get values that cannot give the labels away.",
        ),
        "ledger": Verb(
            "confide.cli.ledger:app", "Open accounts, see what was spent, and check that nobody changed it."
        ),
        "attack": Verb(
            "confide.cli.attack:app", "Show what publishing exact numbers would give away, on your own data."
        ),
        "completion": Verb(
            "confide.cli.completion:app", "Complete commands and options with the Tab key, in bash, zsh or fish."
        ),
    }


app = typer.Typer(
    name="confide",
    cls=Verbs,
    help="Evaluate binary classifiers on data that must not be shown.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    if _ASKED_BY_SHELL in os.environ:
        from confide.cli.completion import register_shells

        register_shells()
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
    except Exception as error:  # its message may quote rows, and its kind may depend on them
        lacking = missing_extra(error, "this command") if isinstance(error, ModuleNotFoundError) else None
        if lacking is not None:
            typer.echo(f"error: {lacking}", err=True)
            sys.exit(2)
        from confide.sources.error_details import MORE, shows_errors

        if shows_errors():
            raise
        typer.echo(f"error: something unexpected went wrong; {MORE}, and may report it", err=True)
        sys.exit(1)


def _in_flags(error: ConfideError, command: object) -> str:
    """Return the message of an error with the flags of the command that ran."""
    if not isinstance(command, TyperCommand | TyperGroup):
        return str(error)
    called, arguments = find_call(command, sys.argv[1:])
    return as_commands(translate(str(error), called), called, arguments)
