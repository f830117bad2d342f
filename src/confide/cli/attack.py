"""`confide attack`: what publishing exact numbers would give away."""

from __future__ import annotations

import sys
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from confide.cli import output
from confide.errors import ParameterError, UsageError, did_you_mean

if TYPE_CHECKING:
    from confide.attacks.from_auc.labelings import Labelings


class _FileUnlessNamed(TyperGroup):
    """What is not the name of an attack is the file to be attacked."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            hint = "" if args[0].startswith("-") else did_you_mean(args[0], self.commands)
            if hint and not Path(args[0]).exists():
                raise UsageError(f"there is no attack {args[0]!r}, nor such a file. {hint.strip()}")
            args = ["file", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileUnlessNamed,
    no_args_is_help=True,
    help="""Show what publishing exact numbers would give away, on your own data.

    `confide attack FILE ...` is short for `confide attack file FILE ...`. Findings come from exact labels: they are for
    those who may see the data.
    """,
)

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines or Parquet, text also as .gz; `-` is standard input."),
]
Label = Annotated[str, typer.Option("--label", "-l", metavar="COL", help="Column of labels, two values.")]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The positive label, unless labels are 0/1, -1/1 or false/true.")
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", help="Draw rows, labelings and coins again as before; noise is always new.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words and tables.")]


@app.command("file")
def attack_file(
    file: File,
    label: Label,
    score: Annotated[str, typer.Option("--score", "-s", metavar="COL", help="Column of scores.")],
    release: Annotated[
        list[str] | None,
        typer.Option(
            "--release",
            "-r",
            metavar="SPEC",
            help="What would be published: METRIC or METRIC:exact, METRIC:digits=4, METRIC:epsilon=1 or "
            "METRIC:epsilon=0.1,times=10, for auc, roc, average_precision, accuracy, log_loss or brier; repeatable, "
            "each judged alone. [default: a selection for auc and roc]",
        ),
    ] = None,
    positive: Positive = None,
    class_sizes: Annotated[
        bool, typer.Option("--class-sizes", help="The exact numbers of positives and negatives are published too.")
    ] = False,
    level: Annotated[float, typer.Option(metavar="P", help="From which probability on a label counts as known.")] = 0.9,
    sure: Annotated[
        float, typer.Option(metavar="P", help="How sure of a label nobody should become; epsilon follows.")
    ] = 0.75,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often a release with noise is drawn and attacked.")
    ] = 200,
    seed: Seed = None,
    as_json: AsJson = False,
    report: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write a report: one HTML file that opens offline.")
    ] = None,
) -> None:
    """Say what an adversary would learn of the labels in a file if its AUC, ROC curve or another number were published.

    An outsider knows every score and how many rows are positive; an insider knows everything but one label. Exact,
    rounded and private publications stand beside each other, with the epsilon that would prevent the harm. Nothing is
    published or charged to a ledger.

    Examples:

        confide attack scores.csv --label died --score risk

        confide attack scores.csv -l died -s risk -r auc:digits=3 -r auc:epsilon=0.5 --report attack.html

        confide attack scores.csv -l died -s risk -r roc:exact -r accuracy:digits=2 --json
    """
    import numpy as np

    from confide.attacks.disclosure import Publication
    from confide.attacks.exposure import USUAL, attack, check_levels
    from confide.sources.tables import count_table

    if report is not None:
        output.check_report(report, file)
    if label == score:
        raise ParameterError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    asked = list(dict.fromkeys(Publication.parse(spec) for spec in release or USUAL))
    check_levels(level=level, sure=sure)
    with output.busy("reading"):
        counts = count_table(file, label=label, score=score, positive=positive).counts
    with output.steps(len(asked)) as step:
        found = attack(
            counts,
            asked,
            level=level,
            sure=sure,
            class_sizes=class_sizes,
            trials=trials,
            generator=np.random.default_rng(seed),
            starting=lambda published: step(str(published)),
        )
    if report is not None:
        from confide.report.attack.page import attack_page

        with output.busy("drawing the report"):
            page = attack_page(found, title=f"What publishing would give away: {output.shown_name(file)}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(found.to_dict())
    else:
        from confide.report.attack.text import print_attack

        print_attack(found, output.console())


@app.command("labelings")
def attack_labelings(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="How many rows were ranked.")],
    auc: Annotated[
        str, typer.Option(metavar="A", help="The AUC: a fraction is exact, decimals are rounded to that many digits.")
    ],
    positives: Annotated[int | None, typer.Option(metavar="N", help="How many rows are positive, if known.")] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Decimals were cut off, not rounded.")] = False,
    ties: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="How many rows share each score, from the lowest; they add up to --rows."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print every labeling, from the lowest score to the highest, a line each.")
    ] = False,
    queries: Annotated[
        bool, typer.Option("--queries", help="Also say how many submissions find out which labeling is true.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count, or list, the labelings of ranked rows that an AUC leaves possible (Whitehill 2019). Needs no data.

    Examples:

        confide attack labelings --rows 106 --auc 1387/1440

        confide attack labelings --rows 106 --auc 1387/1440 --json

        confide attack labelings --rows 172 --auc 0.90278 --positives 72

        confide attack labelings --rows 11 --auc 17/24 --positives 8 --list
    """
    from confide.attacks.disclosure import Window
    from confide.attacks.from_auc.labelings import MOST_LISTED, Labelings

    if cut and "/" in auc:
        raise UsageError("--cut is for decimals; a fraction is exact")
    if listed and (as_json or queries):
        raise UsageError("--list prints labelings and nothing else; leave --json and --queries out")
    window = Window.written(auc, cut=cut)
    labelings = Labelings.untied(rows, window, positives=positives)
    if ties is not None:
        labelings = Labelings(groups=_groups(ties, rows), window=window, positives=positives)
    if listed:
        for chunk in labelings.stream():
            sys.stdout.writelines("".join(map(str, labels)) + "\n" for labels in chunk.tolist())
        return
    with output.busy("counting"):
        found = labelings.count_by_positives()
    if queries and sum(found.values()) > MOST_LISTED:
        raise UsageError(
            "--queries goes through every labeling, and there are too many; leave it out, or give --positives"
        )
    document: dict[str, Any] = {
        "schema": "confide.attack/1",
        "rows": rows,
        "auc": auc,
        "positives": list(found),
        "count": sum(found.values()),
    }
    if queries:
        from confide.attacks.from_auc.decision_tree import most_queries

        with output.busy("asking"):
            document["queries"] = most_queries(labelings)
    if as_json:
        output.print_json(document)
    else:
        _print_labelings(document, labelings)


@app.command("contest")
def attack_contest(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="How many rows the test set has.")],
    queries: Annotated[int, typer.Option("--queries", "-q", metavar="K", help="How many submissions are allowed.")],
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="What is answered: METRIC:exact, METRIC:digits=5 or METRIC:epsilon=1 (for each answer), for auc, "
            "average_precision, accuracy, log_loss or brier. [default: auc:digits=5, with a Ladder accuracy]",
        ),
    ] = None,
    positives: Annotated[
        int | None, typer.Option(metavar="N", help="How many rows are positive. [default: half]")
    ] = None,
    ladder: Annotated[
        str | None, typer.Option(metavar="STEP", help="Defend with the Ladder of Blum & Hardt and this step.")
    ] = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Rehearse a contest: what submissions alone, without any learning, make of the scoring oracle. Needs no data.

    Labels are drawn at random. One attack reads them from the answers; another makes the leaderboard believe in
    submissions that were drawn at random.

    Examples:

        confide attack contest --rows 500 --queries 100

        confide attack contest --rows 500 --queries 100 --oracle accuracy --ladder 0.02

        confide attack contest --rows 500 --queries 100 --oracle auc:epsilon=0.01 --json
    """
    import numpy as np

    from confide.attacks.contest.rehearsal import rehearse_contest
    from confide.attacks.disclosure import Publication

    asked = Publication.parse(oracle or ("auc:digits=5" if ladder is None else "accuracy"))
    with output.busy("holding the contest"):
        held = rehearse_contest(
            rows, asked, queries=queries, positives=positives, step=ladder, generator=np.random.default_rng(seed)
        )
    if as_json:
        output.print_json(held.to_dict())
    else:
        from confide.report.attack.contest_text import contest_lines

        for line in contest_lines(held):
            typer.echo(line)


def _groups(ties: str, rows: int) -> tuple[int, ...]:
    parts = ties.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() for part in parts):
        raise ParameterError(f"ties must be whole numbers with commas, for example 1,3,1; got {ties!r}")
    groups = tuple(int(part) for part in parts)
    if sum(groups) != rows:
        raise ParameterError(f"ties must add up to --rows, {rows}; got {sum(groups)}")
    return groups


def _print_labelings(document: dict[str, Any], labelings: Labelings) -> None:
    rows, sizes = document["rows"], document["positives"]
    every = f"2^{rows}" if labelings.positives is None else _large(comb(rows, labelings.positives))
    typer.echo(f"{_large(document['count'])} of {every} labelings have an AUC of {document['auc']}")
    if not sizes:
        typer.echo("so this is not the AUC of so many rows: check both, and whether scores tie (--ties)")
    else:
        some = ", ".join(map(str, sizes[:12])) + (f", ... ({len(sizes)} numbers)" if len(sizes) > 12 else "")
        typer.echo(f"positives: {some}")
        triples = sum(high - low + 1 for low, high in labelings.spans().values())
        typer.echo(f"possible (negatives, positives, misplaced pairs): {triples:,}")
    if "queries" in document:
        typer.echo(f"submissions that find the true one: at most {document['queries']}")


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"
