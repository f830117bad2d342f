"""Command `confide attack file`: attack publications of a file's AUC, ROC curve or other numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from confide.cli import output
from confide.cli.attack.options import AsJson, Label, Releases, Seed
from confide.cli.inputs import readable
from confide.cli.options import File, Positive
from confide.tasks.output_files import check_report


def attack_file(
    file: File,
    label: Label,
    score: Annotated[str, typer.Option("--score", "-s", metavar="COL", help="Column of scores.")],
    release: Releases = None,
    positive: Positive = None,
    class_sizes: Annotated[
        bool, typer.Option("--class-sizes", help="The exact numbers of positives and negatives are published too.")
    ] = False,
    level: Annotated[float, typer.Option(metavar="P", help="Probability from which on a label counts as known.")] = 0.9,
    sure: Annotated[
        float, typer.Option(metavar="P", help="Probability of a label that no adversary may reach; epsilon follows.")
    ] = 0.75,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of times that a release with noise is drawn and attacked.")
    ] = 200,
    seed: Seed = None,
    as_json: AsJson = False,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
) -> None:
    """Show what an adversary would learn of the labels in a file if its AUC, ROC curve or another number were public.

    An outsider knows every score and how many rows are positive; an insider knows everything but one label. Exact,
    rounded and private publications stand beside each other, with the epsilon that would prevent the harm. Nothing is
    published or charged to a ledger.

    Examples:

        confide attack scores.csv --label died --score risk

        confide attack scores.csv -l died -s risk -r auc:digits=3 -r auc:epsilon=0.5 --report attack.html

        confide attack scores.csv -l died -s risk -r roc:exact -r accuracy:digits=2 --json
    """
    from confide.tasks.attack import USUAL, attack

    if report is not None:
        check_report(report, file)
    releases = release or USUAL
    with output.steps(len(set(releases)), "reading and attacking") as step:
        done = attack(
            readable(file),
            releases,
            label=label,
            score=score,
            positive=positive,
            level=level,
            sure=sure,
            class_sizes=class_sizes,
            trials=trials,
            seed=seed,
            starting=lambda published: step(str(published)),
        )
    if report is not None:
        from confide.report.attack.page import attack_page

        with output.busy("drawing the report"):
            page = attack_page(done, title=f"What publishing would give away: {output.shown_name(file)}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(done.to_dict())
    else:
        from confide.report.attack.text import print_attack

        print_attack(done, output.console())
