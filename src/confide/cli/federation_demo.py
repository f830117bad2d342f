"""`confide federation demo`: hospitals, a coordinator and real connections, all on this machine, with one command."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.cli.demo_run import Setting, set_up, validated
from confide.cli.demo_sites import FEWEST, MOST, Source, deal
from confide.cli.federation_common import (
    STOPPED,
    JsonOption,
    print_rows,
    require_engine,
    require_new,
    say_next,
    stoppable,
)
from confide.errors import ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from confide.federation.coordinator.validation import Validation
    from confide.federation.question import Question

SCHEMA = "confide.federation-demo/1"

_MODES = ("disclosure-control", "secure-sum", "private")


def demo(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="A new folder for everything. [default: a temporary one]")
    ] = None,
    sites: Annotated[
        int | None, typer.Option(metavar="N", min=FEWEST, max=MOST, help="How many hospitals. [default: 5]")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode", "-m", metavar="MODE", help=f"{', '.join(_MODES)}; repeatable. [default: all, one after another]"
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", "-e", metavar="E", help="private mode: the price at each site. [default: 1]"),
    ] = None,
    site_share: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="private mode: the share of epsilon for each site's own results. [default: 1/2; 0 for the 500 "
            "patients, too few at a site to be seen through noise]",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows of your own. [default: 500 patients after a heart attack]")
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", "-l", metavar="COL", help="With --data: column of labels.")
    ] = None,
    score: Annotated[
        str | None, typer.Option("--score", "-s", metavar="COL", help="With --data: column of scores.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="With --data: the positive label, unless labels are 0/1.")
    ] = None,
    model_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instead of --score: a model that each site runs.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="With --model-file: the columns that it takes.")
    ] = None,
    site_column: Annotated[
        str | None,
        typer.Option(metavar="COL", help="With --data: column that names each row's site. [default: dealt in turn]"),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="The most that each round may take.")] = 60,
    report: Annotated[
        Path | None,
        typer.Option(metavar="OUT.html", help="With one --mode: where its report goes. [default: into the folder]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a whole federation on this machine: validate a model at 3 to 5 hospitals that share no rows.

    Makes certificates, starts a server and a process for each hospital, asks in each mode, writes a report for each,
    and stops everything. The hospitals are real sites of NVIDIA FLARE; only the network between them is this machine's
    own. It takes one to two minutes.

    Examples:

        confide federation demo

        confide federation demo --sites 3 --mode private --epsilon 2 --report private.html

        confide federation demo trial --data scores.csv --label died --score risk --site-column hospital
    """
    require_engine()
    modes = _checked_modes(mode, report, epsilon or site_share)
    source = _source(data, label, score, positive, model_file, features, site_column, sites)
    from confide.federation.coordinator.rounds import checked_timeout

    checked_timeout(timeout)
    if folder is not None:
        require_new(folder)
    with output.busy("reading"):
        parts = deal(source, sites or MOST)
    share = site_share or (None if data is not None else "0")
    questions = _questions(modes, source.model, tuple(parts), epsilon or "1", share)
    place = Path(tempfile.mkdtemp(prefix="confide-federation-")) if folder is None else folder
    started = time.monotonic()
    with stoppable():
        try:
            setting = set_up(place, source, parts, questions)
            reports = {one: report or place / f"report-{one}.html" for one in modes}
            validations = validated(setting, reports, timeout, as_json=as_json)
        except KeyboardInterrupt:
            typer.echo(f"error: stopped; what there is lies in {place}", err=True)
            raise typer.Exit(STOPPED) from None
    seconds = time.monotonic() - started
    _show(setting, validations, reports, seconds, as_json=as_json)
    say_next(
        ("Open the report in a browser:", [str(path.resolve()) for path in reports.values()]),
        (
            "Look at what a site keeps, and at what was spent:",
            (f"confide site status {place / setting.network.sites[0]}",),
        ),
        ("Delete the folder when you have seen it: it holds keys, and the rows of each site:", (f"rm -r {place}",)),
    )


def _checked_modes(given: list[str] | None, report: Path | None, priced: str | None) -> tuple[str, ...]:
    modes = tuple(dict.fromkeys(given or _MODES))
    for mode in modes:
        if mode not in _MODES:
            raise ParameterError(f"no mode {mode!r}. {did_you_mean(mode, _MODES)}The modes are {', '.join(_MODES)}")
    if priced is not None and "private" not in modes:
        raise UsageError("--epsilon and --site-share are for the mode private; leave them out, or add --mode private")
    if report is not None:
        if len(modes) > 1:
            raise UsageError("--report is for one mode; give one --mode, or leave --report out to get one for each")
        output.check_report(report, "-")
    return modes


def _source(
    data: Path | None,
    label: str | None,
    score: str | None,
    positive: str | None,
    model_file: Path | None,
    features: str | None,
    site_column: str | None,
    sites: int | None,
) -> Source:
    """The rows that were asked for, else the bundled example."""
    from confide.cli.site import asked_model
    from confide.examples import HEART_ATTACK

    if data is None:
        given = (label, score, positive, model_file, features, site_column)
        if any(option is not None for option in given):
            raise UsageError("columns and models are for rows of your own; give --data FILE with them")
        return Source(file=HEART_ATTACK, label="died", score="logistic", model="heart-attack")
    if label is None:
        raise UsageError("name the column of labels of your data (--label COL)")
    if site_column is not None and sites is not None:
        raise UsageError("--site-column says how many sites there are; leave --sites out")
    model = asked_model(
        data=data, label=label, positive=positive, score=score, model_file=model_file, features=features
    )
    return Source(
        file=data,
        label=label,
        score=score,
        positive=positive,
        model_file=model_file,
        features=model.features,
        site_column=site_column,
    )


def _questions(
    modes: Sequence[str], model: str, sites: tuple[str, ...], epsilon: str, site_share: str | None
) -> dict[str, Question]:
    """What is asked in each mode, checked before anything is made."""
    from confide.federation.modes.registry import mode_named
    from confide.federation.question import Question

    def asked(mode: str) -> Question:
        if not mode_named(mode).private:
            return Question.checked(study="demo", model=model, mode=mode, sites=sites)
        return Question.checked(
            study="demo", model=model, mode=mode, sites=sites, epsilon=epsilon, site_share=site_share
        )

    return {mode: asked(mode) for mode in modes}


def _show(
    setting: Setting,
    validations: Mapping[str, Validation],
    reports: Mapping[str, Path],
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """What each mode found, beside what someone who sees all rows would find."""
    exact = _all_rows(setting)
    if as_json:
        output.print_json(
            {
                "schema": SCHEMA,
                "folder": str(setting.network.folder.parent),
                "sites": list(setting.network.sites),
                "validations": {mode: found.to_dict() for mode, found in validations.items()},
                "reports": {mode: str(path) for mode, path in reports.items()},
                "all_rows": exact,
                "seconds": round(seconds, 1),
            }
        )
        return
    from confide.report.shared.numbers import interval_text, number

    body = [
        (
            mode,
            number(found.pooled.auc.value, 4),
            interval_text(found.pooled.auc.interval),
            number(None if found.pooled.brier is None else found.pooled.brier.value, 4),
            str(found.question.epsilon or "–"),
        )
        for mode, found in validations.items()
    ]
    body.append(("all rows in one place", number(exact["auc"], 4), "", number(exact["brier"], 4), ""))
    typer.echo("", err=True)
    head = ("mode", "AUC", "95 % interval", "Brier", "epsilon a site")
    print_rows(f"{len(setting.network.sites)} hospitals, {seconds:.0f} seconds in all", head, body)


def _all_rows(setting: Setting) -> dict[str, float | None]:
    """What the rows of all sites would say in one place: possible here only because everything is."""
    from confide.counts import ScoreCounts
    from confide.federation.site.data import SiteConfig
    from confide.metrics.calibration import brier_score
    from confide.metrics.ranking import auc_score

    counts = ScoreCounts.total([SiteConfig.load(place.path).counts(setting.model) for place in setting.places])
    return {"auc": auc_score(counts), "brier": brier_score(counts) if counts.probabilities else None}
