"""Command group `confide attack`: show what publishing exact numbers would give away."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import typer

from confide.cli.lazy_verbs import LazyGroup, Verb
from confide.errors import UsageError, did_you_mean


class _FileUnlessNamed(LazyGroup):
    """Group that takes its first argument for a file, unless it is the name of an attack."""

    verbs: ClassVar = {
        "file": Verb(
            "confide.cli.attack.file:attack_file",
            "Show what an adversary would learn of the labels in a file if its AUC, ROC curve or another number were "
            "public.",
        ),
        "labelings": Verb(
            "confide.cli.attack.labelings:attack_labelings",
            "Count, or list, the labelings of ranked rows that an AUC leaves possible (Whitehill 2019). Needs no data.",
        ),
        "contest": Verb(
            "confide.cli.attack.contest:attack_contest",
            "Rehearse a contest: attack its scoring oracle with submissions alone, without any learning. Needs no "
            "data.",
        ),
        "curve": Verb(
            "confide.cli.attack.curve:attack_curve",
            "Show what the points of a published ROC curve give away: class sizes, labels, single rows.",
        ),
    }
    default_command = "file"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            hint = "" if args[0].startswith("-") else did_you_mean(args[0], self.commands)
            if hint and not ctx.resilient_parsing and not Path(args[0]).exists():
                raise UsageError(f"there is no attack {args[0]!r}, nor such a file. {hint.strip()}")
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileUnlessNamed,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Show what publishing exact numbers would give away, on your own data.

    `confide attack FILE ...` is short for `confide attack file FILE ...`. Findings come from exact labels: they are for
    those who may see the data.
    """,
)
