"""Commands of `confide attack`: show what publishing exact numbers would give away."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from confide.cli import output
from confide.cli.lazy_verbs import LazyGroup
from confide.cli.options import File, options_of, readable
from confide.errors import ParameterError, UsageError, did_you_mean
from confide.tasks.output_files import check_report
from confide.tasks.requests.attack import AttackRequest, ContestAttackRequest, CurveAttackRequest

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words and tables.")]


@options_of(ContestAttackRequest)
def attack_contest(request: partial[ContestAttackRequest], as_json: AsJson = False) -> None:
    """Rehearse a contest: attack its scoring oracle with submissions alone, without any learning. Needs no data.

    Labels are drawn at random. One attack reads them from the answers. Another puts random submissions together until
    the leaderboard shows a high score.

    Examples:

        confide attack contest --rows 500 --queries 100

        confide attack contest --rows 500 --queries 100 --oracle accuracy --ladder 0.02

        confide attack contest --rows 500 --queries 100 --oracle auc:epsilon=0.01 --json
    """
    from confide.tasks.attack import attack_contest as rehearse

    with output.busy("holding the contest"):
        held = rehearse(**request.keywords)
    if as_json:
        output.print_json(held.to_dict())
        return
    from confide.report.attack import contest_lines

    for line in contest_lines(held):
        typer.echo(line)


@options_of(CurveAttackRequest)
def attack_curve(
    request: partial[CurveAttackRequest],
    curve: Annotated[
        Path,
        typer.Argument(
            metavar="CURVE", help="File with columns fpr, tpr and, where published, threshold; from (0, 0) to (1, 1)."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show what the points of a published ROC curve give away: class sizes, labels, single rows.

    The curve alone tells the class sizes and the labels of ranked rows. With --scores it tells which rows these are.
    With --before, two curves tell the class and the place of the row that was added in between. With --known, rows that
    the adversary knows are found on the curve, which narrows down the rows beside them.

    Examples:

        confide attack curve roc.csv --rows 172

        confide attack curve roc.csv --scores scores.csv --score risk --digits 2

        confide attack curve march.csv --before february.csv --json

        confide attack curve roc.csv --known mine.csv --label died --score risk --positives 72 --negatives 100
    """
    from confide.tasks.attack import attack_curve as attack

    with output.busy("reading and attacking"):
        done = attack(curve, **request.keywords)
    if as_json:
        output.print_json(done.to_dict())
        return
    from confide.report.attack import curve_lines

    for line in curve_lines(done):
        typer.echo(line)


@options_of(AttackRequest)
def attack_file(
    request: partial[AttackRequest],
    file: File,
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
    releases = request.keywords.get("releases", USUAL)
    with output.steps(len(set(releases)), "reading and attacking") as step:
        done = attack(readable(file), **request.keywords, starting=lambda published: step(str(published)))
    if report is not None:
        from confide.report.attack import attack_page

        with output.busy("drawing the report"):
            page = attack_page(done, title=f"What publishing would give away: {output.shown_name(file)}")
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    if as_json:
        output.print_json(done.to_dict())
    else:
        from confide.report.attack import print_attack

        print_attack(done, output.console())


_WHAT = {False: "counting labelings", True: "counting labelings, and the submissions that tell them apart"}


def attack_labelings(
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", help="Number of ranked rows.")],
    auc: Annotated[
        str, typer.Option(metavar="A", help="The AUC: a fraction is exact, decimals are rounded to that many digits.")
    ],
    positives: Annotated[int | None, typer.Option(metavar="N", help="Number of positive rows, if known.")] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Decimals were cut off, not rounded.")] = False,
    ties: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Rows that share each score, from the lowest; they add up to --rows."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print every labeling, from the lowest score to the highest, a line each.")
    ] = False,
    queries: Annotated[
        bool, typer.Option("--queries", help="Also count the submissions that find the true labeling.")
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
    from confide.tasks.attack import attack_labelings as count
    from confide.tasks.attack import possible_labelings

    if listed and (as_json or queries):
        raise UsageError("--list prints labelings and nothing else; leave --json and --queries out")
    groups = None if ties is None else _numbers(ties)
    if listed:
        for chunk in possible_labelings(rows, auc, positives=positives, cut=cut, ties=groups).stream():
            sys.stdout.writelines("".join(map(str, labels)) + "\n" for labels in chunk.tolist())
        return
    with output.busy(_WHAT[queries], takes_long=queries):
        done = count(rows, auc, positives=positives, cut=cut, ties=groups, queries=queries)
    if as_json:
        output.print_json(done.to_dict())
        return
    from confide.report.attack import labelings_lines

    for line in labelings_lines(done):
        typer.echo(line)


def _numbers(ties: str) -> tuple[int, ...]:
    parts = [part.strip() for part in ties.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ParameterError(f"ties must be whole numbers with commas, for example 1,3,1; got {ties!r}")
    return tuple(int(part) for part in parts)


class _FileUnlessNamed(LazyGroup):
    """Group that takes its first argument for a file, unless it is the name of an attack."""

    verbs: ClassVar = {
        "file": attack_file,
        "labelings": attack_labelings,
        "contest": attack_contest,
        "curve": attack_curve,
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
