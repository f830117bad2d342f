"""Run a study: `python -m studies NAME`. Without a name, list the studies."""

from __future__ import annotations

import typer

from confide.cli.lazy_verbs import PlainCommand, PlainGroup
from studies.all_command import all_studies
from studies.boyd_pr.command import run_boyd_pr
from studies.boyd_private.command import run_boyd_private
from studies.options import study_command
from studies.schalk.attack_command import schalk_attacks
from studies.schalk.command import run_schalk
from studies.stoddard.attack_command import stoddard_attacks
from studies.stoddard.command import run_stoddard
from studies.whitehill.command import run_whitehill

app = typer.Typer(
    cls=PlainGroup,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("all", cls=PlainCommand)(all_studies)
app.command("boyd-pr", cls=PlainCommand)(study_command(run_boyd_pr))
app.command("boyd-private", cls=PlainCommand)(study_command(run_boyd_private, data=True))
app.command("stoddard", cls=PlainCommand)(study_command(run_stoddard, data=True))
app.command("stoddard-attacks", cls=PlainCommand)(stoddard_attacks)
app.command("schalk", cls=PlainCommand)(study_command(run_schalk))
app.command("schalk-attacks", cls=PlainCommand)(schalk_attacks)
app.command("whitehill", cls=PlainCommand)(study_command(run_whitehill))


@app.callback()
def _list(context: typer.Context) -> None:
    """Reproduce the tables and figures of papers. Without a name, list the studies."""
    if context.invoked_subcommand is None:
        for command in app.registered_commands:
            if command.callback is not None:
                summary = (command.callback.__doc__ or "").partition("\n")[0]
                typer.echo(f"{command.name:<18}{summary}")
        typer.echo(
            "Run one with `python -m studies NAME`; `python -m studies NAME --help` lists its options.", err=True
        )


def run() -> None:
    """Run the command `python -m studies`."""
    from confide.cli.main import run_app

    run_app(app, prog_name="python -m studies")


if __name__ == "__main__":
    run()
