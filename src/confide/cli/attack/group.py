"""Command group `confide attack`: show what publishing exact numbers would give away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from confide.cli.attack.contest import attack_contest
from confide.cli.attack.curve import attack_curve
from confide.cli.attack.file import attack_file
from confide.cli.attack.labelings import attack_labelings
from confide.errors import UsageError, did_you_mean


class _FileUnlessNamed(TyperGroup):
    """Group that takes its first argument for a file, unless it is the name of an attack."""

    default_command = "file"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            hint = "" if args[0].startswith("-") else did_you_mean(args[0], self.commands)
            if hint and not Path(args[0]).exists():
                raise UsageError(f"there is no attack {args[0]!r}, nor such a file. {hint.strip()}")
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileUnlessNamed,
    no_args_is_help=True,
    help="""Show what publishing exact numbers would give away, on your own data.

    `confide attack FILE ...` is short for `confide attack file FILE ...`. Findings come from exact labels: they are for
    those who may see the data.
    """,
)
app.command("file")(attack_file)
app.command("labelings")(attack_labelings)
app.command("contest")(attack_contest)
app.command("curve")(attack_curve)
