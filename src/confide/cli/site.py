"""`confide site`: a site's side: which data, what is allowed, whether it runs, what was asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.federation_common import (
    JsonOption,
    keep_running,
    note_root,
    note_wide_folders,
    require_engine,
    require_new,
    say_next,
    stop_running,
)
from confide.cli.site_options import (
    DataOption,
    FeaturesOption,
    FolderArgument,
    LabelOption,
    ModelFileOption,
    ModelOption,
    MoreStudiesOption,
    OptionalDataOption,
    OptionalLabelOption,
    PositiveOption,
    RangeOption,
    SameAsOption,
    ScoreOption,
    StudiesOption,
)
from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.federation.site.data import SiteModel
    from confide.federation.site.site_folder import SiteFolder

app = typer.Typer(
    help="Take part in a federation: say where the data are and what is allowed, start, and see what was asked.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command()
def init(
    kit: Annotated[Path, typer.Argument(metavar="KIT.zip", help="What the coordinator handed to you.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for this site; it holds keys.")],
    model_name: ModelOption,
    data: DataOption,
    label: LabelOption,
    positive: PositiveOption = None,
    score: ScoreOption = None,
    model_file: ModelFileOption = None,
    features: FeaturesOption = None,
    score_range: RangeOption = None,
    study: StudiesOption = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="E", help="private mode: the most epsilon to be spent in all. [default: 3]"),
    ] = None,
    epsilon_per_study: Annotated[
        str | None,
        typer.Option(metavar="E", help="private mode: the most epsilon for one study. [default: 1]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Set up a site from the kit that the coordinator made for it.

    Reads the data once to see that it can be counted, before anything is written; nothing of it is shown, copied or
    sent. The folder gets site.toml (data and models), policy.toml (what you allow: read it), a ledger of what
    was spent, and site.key, a key that is made here and never leaves: by its fingerprint other sites know this one.

    Examples:

        confide site init north.zip site --model-name stroke-risk --data rows.parquet --label died --score risk

        confide site init north.zip site -n stroke-risk -d rows.csv -l died -s risk --study stroke-2026 --study audit

        confide site init north.zip site -n stroke-risk -d rows.csv -l died --model-file m.onnx --features age,sex,nihss
    """
    require_engine()
    from confide.cli.site_setup import set_up_site

    if not kit.is_file():
        raise UsageError(f"there is no file {kit}; give the kit that the coordinator handed to you")
    require_new(folder)
    model = asked_model(
        data=data,
        label=label,
        positive=positive,
        score=score,
        model_file=model_file,
        features=features,
        score_range=score_range,
    )
    with output.busy("reading the data once, to see that it can be counted"):
        place = set_up_site(
            kit, folder, model_name, model, studies=study or (), budget=budget, epsilon_per_study=epsilon_per_study
        )
    _show(place, new=True, as_json=as_json)
    say_next(
        ("Read what this site allows, and change it if need be:", (str(place.policy),)),
        ("Connect to the federation, now and after each restart of this machine:", (f"confide site start {folder}",)),
        (
            "Compare fingerprints with the other sites by telephone, and list all of them at [peers] in:",
            (str(place.policy),),
        ),
    )


@app.command("add-model")
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
    study: MoreStudiesOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of a model of that name.")] = False,
) -> None:
    """Let another model be validated at this site, or the same one with other data.

    Rows and scores that are set up already are refused under a second name, as exact answers under two names could be
    subtracted from each other. Two names can share one entry instead (--same-as).

    Examples:

        confide site add-model site --model-name sepsis --data sepsis.csv --label died --score risk --study sepsis-2026

        confide site add-model site --model-name risk-v1 --same-as stroke-risk
    """
    place = open_site(folder)
    if same_as is not None:
        given = (data, label, positive, score, model_file, features, score_range)
        _add_alias(place, model_name, same_as, replace=replace, studies=study or (), alone=not any(given))
        return
    from confide.cli.site_setup import add_site_model

    if data is None or label is None:
        raise UsageError("name the file of rows and the column of labels (--data FILE --label COL), or --same-as MODEL")
    model = asked_model(
        data=data,
        label=label,
        positive=positive,
        score=score,
        model_file=model_file,
        features=features,
        score_range=score_range,
    )
    from confide.federation.flare.confinement import data_folders
    from confide.federation.flare.processes import find_running

    before = set(data_folders(place.path))
    with output.busy("reading the data once, to see that it can be counted"):
        add_site_model(place, model_name, model, replace=replace, studies=study or ())
    new = set(data_folders(place.path)) - before - {place.path.resolve()}
    _say_added(place, model_name, restart=bool(new) and find_running(place) is not None)


def _add_alias(
    place: SiteFolder, model_name: str, same_as: str, *, replace: bool, studies: Sequence[str], alone: bool
) -> None:
    from confide.cli.site_setup import add_site_alias

    if not alone:
        raise UsageError("--same-as takes rows and scores from the model that it names; leave the other options out")
    add_site_alias(place, model_name, same_as, replace=replace, studies=studies)
    _say_added(place, model_name)


def _say_added(place: SiteFolder, model_name: str, *, restart: bool = False) -> None:
    typer.echo(f"{place.config} has the model {model_name}", err=True)
    see = ("It can be asked for from the next request on. See all models:", (f"confide site status {place.path}",))
    if restart:
        again = (f"confide site stop {place.path}", f"confide site start {place.path}")
        say_next(("The running engine may not open the folder of these data. Restart it:", again), see)
    else:
        say_next(see)


@app.command()
def start(
    folder: FolderArgument,
    background: Annotated[
        bool, typer.Option("--background", help="Return at once; stop it with `confide site stop`.")
    ] = False,
) -> None:
    """Connect the site to its federation. It runs until Ctrl-C, or in the background until it is stopped.

    Examples:

        confide site start site

        confide site start site --background
    """
    place = open_site(folder)
    from confide.cli.site_setup import check_site
    from confide.federation.flare.processes import start_site

    name = check_site(place)
    with output.busy("starting"):
        running = start_site(place)
    note_root(place.path)
    note_wide_folders(place.path)
    typer.echo(f"site {name} is running, and connects as soon as the federation's server can be reached", err=True)
    if background:
        say_next(
            ("See whether it is connected, and what was asked of it:", (f"confide site status {folder}",)),
            ("Stop it in the end:", (f"confide site stop {folder}",)),
        )
        return
    typer.echo(f"stop it with Ctrl-C; see what was asked of it with: confide site status {folder}", err=True)
    keep_running(running, f"site {name}")


@app.command()
def stop(folder: FolderArgument) -> None:
    """Take the site off its federation.

    Example:

        confide site stop site
    """
    place = open_site(folder)
    stop_running(place, f"the site in {folder}", f"confide site start {folder}")


@app.command()
def status(
    folder: FolderArgument,
    requests: Annotated[int, typer.Option(metavar="N", min=0, help="Show the last N requests.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show the site: federation and connection, fingerprint, models, what it allows, its budget and the last requests.

    Other sites can pin the fingerprint, which is that of the site's own key: tell it to them by telephone or on paper.

    Examples:

        confide site status site

        confide site status site --requests 20 --json
    """
    place = open_site(folder)
    _show(place, requests=requests, as_json=as_json)
    if not as_json:
        say_next(("Change what it allows in:", (str(place.policy),)))


@app.command()
def forget(
    folder: FolderArgument,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    yes: Annotated[bool, typer.Option("--yes", help="I have read what this may give away.")] = False,
) -> None:
    """Let a model be asked for anew in modes without noise.

    A site answers one such question for each model. A second one, with other sites, other cells or a few changed rows,
    gives small groups away: whoever has both answers subtracts them. Forget the first only if its answer was never
    seen, or the data are others altogether.

    Example:

        confide site forget site stroke-risk --yes
    """
    place = open_site(folder)
    from confide.cli.site_setup import forget_model

    if not yes:
        raise UsageError(
            f"two exact answers about {model!r} can be subtracted from each other, which gives small groups away; if "
            "the first was never seen, or the data are others altogether, repeat this with --yes"
        )
    forget_model(place, model)
    typer.echo(f"{model} can be asked for anew in modes without noise", err=True)
    say_next(("What the policy allows stands as it is:", (f"confide site status {folder}",)))


def open_site(folder: Path) -> SiteFolder:
    """A site's folder, which must be one."""
    require_engine()
    from confide.federation.site.site_folder import SiteFolder

    place = SiteFolder(folder)
    if not place.config.is_file():
        raise UsageError(f"{folder} is not a site's folder; make one with `confide site init`")
    return place


def asked_model(
    *,
    data: Path,
    label: str,
    positive: str | None,
    score: str | None,
    model_file: Path | None,
    features: str | None,
    score_range: str | None = None,
) -> SiteModel:
    """The model that was typed, with paths that hold wherever the site is started."""
    from confide.federation.site.data import SiteModel

    if not data.is_file():
        raise UsageError(f"there is no file {data}; give the file of rows")
    if model_file is not None and not model_file.is_file():
        raise UsageError(f"there is no file {model_file}; give the model's file")
    if score is not None and score == label:
        raise UsageError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    if (score is None) == (model_file is None and features is None):
        raise UsageError(
            "name the column of scores (--score COL), or a model and what it takes (--model-file, --features)"
        )
    named = () if features is None else tuple(part.strip() for part in features.split(",") if part.strip())
    return SiteModel(
        data=str(data.resolve()),
        label=label,
        positive=positive,
        score=score,
        features=named,
        model_file=None if model_file is None else str(model_file.resolve()),
        range=(0.0, 1.0) if score_range is None else _ends(score_range),
    )


def _ends(text: str) -> tuple[float, float]:
    """A range of scores as it is typed."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--range must be two numbers with a comma, such as -4,4; got {text!r}") from None
    return low, high


def _show(place: SiteFolder, *, new: bool = False, requests: int = 0, as_json: bool) -> None:
    from confide.cli.site_status import print_new_site, print_site, site_document

    document = site_document(place, requests)
    if as_json:
        output.print_json(document)
    elif new:
        print_new_site(document)
    else:
        print_site(document)
