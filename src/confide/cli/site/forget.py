"""`confide site forget`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli.federation_common import print_next
from confide.cli.site.options import FolderArgument, YesOption


def forget(
    folder: FolderArgument,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    yes: YesOption = False,
) -> None:
    """Let a model be asked for anew in modes without noise.

    A site answers one such question for each model. A second one, with other sites, other cells or a few changed rows,
    discloses small groups: whoever has both answers can subtract them. Forget the first only if its answer was never
    seen, or the data are different altogether.

    Example:

        confide site forget site stroke-risk --yes
    """
    from confide.tasks.site import forget_model

    forget_model(folder, model, yes=yes)
    typer.echo(f"{model} can be asked for anew in modes without noise", err=True)
    print_next(("The policy is as it was:", (f"confide site status {folder}",)))
