"""`confide site add-model`."""

from __future__ import annotations

import typer

from confide.cli import output
from confide.cli.federation_common import print_next, print_notes, split_names
from confide.cli.site.options import (
    FeaturesOption,
    FolderArgument,
    ModelFileOption,
    ModelOption,
    MoreStudiesOption,
    OptionalDataOption,
    OptionalLabelOption,
    PositiveOption,
    QueryOption,
    RangeOption,
    ReplaceOption,
    SameAsOption,
    ScoreOption,
    parse_range,
)


def add_model(
    folder: FolderArgument,
    model_name: ModelOption,
    data: OptionalDataOption = None,
    label: OptionalLabelOption = None,
    positive: PositiveOption = None,
    score: ScoreOption = None,
    model_file: ModelFileOption = None,
    features: FeaturesOption = None,
    score_range: RangeOption = None,
    same_as: SameAsOption = None,
    studies: MoreStudiesOption = None,
    replace: ReplaceOption = False,
    query: QueryOption = None,
) -> None:
    """Let another model be validated at this site, or the same one with other data.

    A second name for rows and scores that the site has already is refused, as exact answers under two names could be
    subtracted from each other. Two names can share one entry instead (--same-as).

    Examples:

        confide site add-model site --model-name sepsis --data sepsis.csv --label died --score risk --study sepsis-2026

        confide site add-model site --model-name risk-v1 --same-as stroke-risk
    """
    from confide.report.validation.site_notes import data_notes
    from confide.tasks import site

    with output.busy("reading the data once, to check that they can be counted"):
        new = site.add_model(
            folder,
            model_name,
            data=data,
            label=label,
            positive=positive,
            score=score,
            model_file=model_file,
            features=split_names(features),
            score_range=parse_range(score_range),
            same_as=same_as,
            studies=studies or (),
            replace=replace,
            query=query,
        )
    print_notes(() if new.check is None else data_notes(new.check))
    typer.echo(f"{new.folder.config} has the model {model_name}", err=True)
    again = (f"confide site stop {folder}", f"confide site start {folder}")
    restart = [("The running engine may not open the folder of these data. Restart it:", again)]
    print_next(
        *(restart if new.needs_restart else ()),
        ("The next request can ask for it. See all models:", (f"confide site status {folder}",)),
    )
