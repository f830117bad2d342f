"""Command `python -m studies stoddard`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.errors import UsageError
from confide.tasks.output_files import check_report

if TYPE_CHECKING:
    from studies.stoddard.data import Dataset
    from studies.stoddard.plan import Settings
    from studies.stoddard.study import Study


def stoddard(
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder with the three files of texts.")],
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", metavar="NAME", help="tweets, sms or reuters; repeatable. [default: all]"),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="E,E,...",
            help="Total epsilons of figure 4; the largest is that of the others. [default: 1,0.5,0.25,0.1]",
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Folds of the cross-validation. [default: 10]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two folds and fewer points: a first look.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of folds and noise.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes to run beside each other. [default: the cores]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Select features and train classifiers privately, as Stoddard, Chen & Machanavajjhala (2014) did in section 5.1.

    Reads sentiment140_sample20k.csv.gz (label 4 or 0, text), sms_spam.csv.gz (label spam or ham, text) and
    reuters21578_modapte.parquet (label_earn, text). The paper's methods stand beside sound ones; those that are not
    private, though published as such, are named so. The data are public and the noise comes from a seed: nothing here
    is a release. It takes some minutes on two cores.

    Examples:

        python -m studies stoddard --data texts --report study.html

        python -m studies stoddard --data texts --dataset sms --quick

        python -m studies stoddard --data texts --epsilon 2,1 --folds 5 --seed 1 --json
    """
    if report is not None:
        check_report(report)
    with output.busy("reading"):
        settings, datasets = _read(data, dataset, epsilon, folds, seed, quick)
    study = _run(settings, datasets, jobs)
    if report is not None:
        from studies.stoddard.report import study_page

        with output.busy("drawing the report"):
            page = study_page(study)
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(study.to_dict())
    else:
        from studies.stoddard.report import print_study

        print_study(study, output.console())


def _read(
    folder: Path, names: list[str] | None, epsilon: str | None, folds: int | None, seed: int, quick: bool
) -> tuple[Settings, tuple[Dataset, ...]]:
    """Check everything that was asked for before any file is read."""
    from studies.stoddard.data import check_files, checked_corpora, read_dataset
    from studies.stoddard.plan import Settings

    epsilons = None if epsilon is None else [part for part in epsilon.split(",") if part.strip()]
    settings = Settings.checked(datasets=names, epsilons=epsilons, folds=folds, seed=seed, quick=quick)
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; give the one with the files of texts")
    corpora = checked_corpora(names)
    check_files(folder, corpora)
    return settings, tuple(read_dataset(folder, corpus) for corpus in corpora)


def _run(settings: Settings, datasets: tuple[Dataset, ...], jobs: int | None) -> Study:
    from studies.stoddard.plan import planned
    from studies.stoddard.running import Ground, pieces, run_pieces, usable_cores
    from studies.stoddard.study import Study

    every = pieces(planned(settings), settings.folds)
    ground = Ground.of(datasets, folds=settings.folds, seed=settings.seed)
    with output.steps(len(every), "repeating the study") as step:
        found = run_pieces(
            ground,
            every,
            jobs=jobs or usable_cores(),
            finished=lambda piece: step(f"{piece.dataset}, fold {piece.fold + 1}"),
        )
    return Study.of(settings, datasets, found)
