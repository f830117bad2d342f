"""`confide demo`: all that a data holder does, on the bundled example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output
from confide.errors import BudgetError, ConfideError, UsageError
from confide.tasks.output_files import check_writable

if TYPE_CHECKING:
    from confide.evaluation.evaluation import Evaluation
    from confide.tasks.release import ReleaseResult

_ACCOUNT = "heart-attack"
_CAP = 3
_METRICS = ("roc", "pr", "calibration", "brier", "recall", "specificity")
_THRESHOLD = 0.2


def demo(
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where to put data, ledger and report.")] = Path("demo"),
) -> None:
    """Evaluate a bundled real example exactly, release it privately, use up the budget, write one report.

    500 patients after a heart attack: risk of death within a year by a logistic regression on what
    is known on admission, and by age alone. Run it again: the same request costs nothing more.

    Example:

        confide demo
    """
    from confide.examples import HEART_ATTACK

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    data, report, place = folder / HEART_ATTACK.name, folder / "report.html", folder / "ledger.sqlite"
    check_writable(report)
    output.write_whole(data, HEART_ATTACK.read_text(encoding="utf-8"))

    _announce(
        "1. Exact evaluation, for those who may see the data",
        f"confide evaluate {data} --label died --score logistic --score age_only --group sex",
    )
    evaluation = _evaluate(data)
    _announce(
        "2. Private release, to be published",
        f"confide ledger new {_ACCOUNT} --epsilon {_CAP} --data {data} --ledger {place}",
        f"confide release {data} --label died --score logistic --epsilon 2 --metric {','.join(_METRICS)} "
        f"--threshold {_THRESHOLD} --account {_ACCOUNT} --ledger {place}",
    )
    done = _release(data, place)
    _announce(
        "3. The next request does not fit",
        f"confide release {data} --label died --score age_only --epsilon 2 --account {_ACCOUNT} --ledger {place}",
    )
    refusal = _refusal(data, place)
    typer.echo(f"refused (exit code 3): {refusal}\n")
    with output.busy("drawing the report"):
        from confide.report.demonstrations import demo_page

        page = demo_page(evaluation, done.receipt, refusal, title="One-year mortality after a heart attack")
    output.write_whole(report, page)
    typer.echo(f"Open the report in a browser: {report.resolve()}", err=True)
    typer.echo("See a contest whose answers cannot give its labels away: confide contest demo", err=True)


def _announce(headline: str, *commands: str) -> None:
    typer.echo(f"\n{headline}. The same as:", err=True)
    for command in commands:
        typer.echo(f"  {command}", err=True)
    typer.echo("", err=True)


def _evaluate(data: Path) -> Evaluation:
    from confide.report.evaluation.text import print_evaluation
    from confide.tasks.evaluate import evaluate

    with output.busy("evaluating the bundled example"):
        evaluation = evaluate(data, label="died", score=["logistic", "age_only"], group="sex")
    print_evaluation(evaluation, output.console())
    return evaluation


def _release(data: Path, place: Path) -> ReleaseResult:
    from confide.report.release import print_release
    from confide.tasks.ledger import has_account, open_account
    from confide.tasks.release import release

    if not has_account(_ACCOUNT, ledger=place):
        open_account(_ACCOUNT, epsilon=_CAP, data=data, ledger=place)
    with output.busy("releasing"):
        done = release(
            data, label="died", score="logistic", metrics=_METRICS, epsilon=2, threshold=_THRESHOLD,
            account=_ACCOUNT, ledger=place,
        )  # fmt: skip
    print_release(done.receipt, output.console())
    return done


def _refusal(data: Path, place: Path) -> str:
    from confide.tasks.release import release

    try:
        release(data, label="died", score="age_only", epsilon=2, account=_ACCOUNT, ledger=place)
    except BudgetError as error:
        return str(error)
    raise ConfideError("the demonstration's account has more budget than it should; remove its folder and try again")
