"""Command `python -m studies stoddard`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output
from confide.errors import UsageError
from studies.exhibits import StudyReport
from studies.options import Asked


def run_stoddard(
    asked: Asked,
    *,
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
) -> StudyReport:
    """Select features and train classifiers privately, as Stoddard, Chen & Machanavajjhala (2014) did in section 5.1.

    Reads sentiment140_sample20k.csv.gz (label 4 or 0, text), sms_spam.csv.gz (label spam or ham, text) and
    reuters21578_modapte.parquet (label_earn, text). The paper's methods stand beside sound ones; those that are not
    private, though published as such, are named so. The data are public and the noise comes from a seed: nothing here
    is a release. It takes 4 min on two free cores, and 20 s with --quick. A collection whose file is absent is left
    out.

    Examples:

        python -m studies stoddard --data texts --report study.html

        python -m studies stoddard --data texts --dataset sms --quick

        python -m studies stoddard --data texts --epsilon 2,1 --folds 5 --seed 1 --json
    """
    from studies.data_files import checksum
    from studies.stoddard.data import check_files, checked_corpora, read_dataset
    from studies.stoddard.plan import Settings, planned
    from studies.stoddard.report import stoddard_report
    from studies.stoddard.running import Ground, gathered, pieces, preparation
    from studies.stoddard.study import Study

    wanted = checked_corpora(dataset)
    found = [corpus for corpus in wanted if corpus.source.find(asked.data)]
    settings = Settings.checked(
        datasets=[corpus.key for corpus in (found or wanted)],
        epsilons=None if epsilon is None else [part for part in epsilon.split(",") if part.strip()],
        folds=folds,
        seed=asked.seed,
        quick=asked.quick,
    )
    if asked.data is None:
        raise UsageError("this study reads public texts; name the folder that has them with --data")
    check_files(asked.data, wanted if dataset or not found else found)
    with output.busy("reading"):
        held = tuple(read_dataset(asked.data, corpus) for corpus in found)
    every = planned(settings)
    files = {corpus.key: checksum(asked.data / corpus.file) for corpus in found}
    results = asked.run(
        "stoddard",
        settings.to_dict() | {"files": files},
        pieces(every, settings.folds),
        prepare=preparation(Ground.of(held, folds=settings.folds, seed=settings.seed)),
    )
    study = Study.of(settings, held, gathered(every, settings.folds, results))
    return stoddard_report(study, left_out=tuple(corpus.key for corpus in wanted if corpus not in found))
