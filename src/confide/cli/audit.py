"""`confide audit`: try to refute the guarantees of every mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from confide.cli import output

if TYPE_CHECKING:
    from confide.audits.run import Finding


def audit(
    mechanism: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MECHANISM", help="Which to audit, such as auc/rank-sum, or auc for all of it. [default: all]"
        ),
    ] = None,
    epsilon: Annotated[str, typer.Option(metavar="E", help="The epsilon that every release claims.")] = "1",
    draws: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Noise to draw for each, in integers; a release of several numbers is drawn fewer times.",
        ),
    ] = 200_000,
    twins: Annotated[
        bool, typer.Option("--twins", help="Audit the broken twins too, each of which must be caught.")
    ] = False,
    error: Annotated[float, typer.Option(metavar="P", help="The chance that a bound is wrong, for each bound.")] = 1e-4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Try to refute the guarantees: a lower bound on epsilon for every mechanism and relation.

    Each mechanism releases two neighbouring datasets that strain it most, many times. From half of the draws an
    event is chosen that tells them apart, from the other half a lower confidence bound on the epsilon that is
    really lost. A bound above the claim refutes the mechanism, and the exit code is 1. A bound below it proves
    nothing: the proofs do that. Needs no data, and spends no budget.

    Examples:

        confide audit

        confide audit auc/rank-sum brier --epsilon 0.5 --draws 1000000

        confide audit --twins --json
    """
    from confide.audits.run import audit_all, subjects

    chosen = subjects(mechanism or (), epsilon=epsilon, broken=twins)
    with output.steps(len(chosen)) as step:
        findings = audit_all(
            chosen,
            draws=draws,
            error=error,
            starting=lambda subject: step(f"{subject.name}, {subject.neighbours.value}"),
        )
    if as_json:
        output.print_json(_document(findings))
    else:
        _print(findings)
    if not all(finding.as_expected for finding in findings):
        raise typer.Exit(1)


def _document(findings: Sequence[Finding]) -> dict[str, object]:
    from confide.audits.run import SCHEMA

    return {
        "schema": SCHEMA,
        "mechanisms": [finding.to_dict() for finding in findings if not finding.twin],
        "twins": [finding.to_dict() for finding in findings if finding.twin],
    }


def _print(findings: Sequence[Finding]) -> None:
    mechanisms = [finding for finding in findings if not finding.twin]
    broken = [finding for finding in findings if finding.twin]
    _print_table("Mechanisms", mechanisms)
    if broken:
        _print_table("Broken twins, which must be caught", broken)
    console = output.console()
    for line in _summary(mechanisms, broken):
        console.print(line, highlight=False, markup=False)


def _print_table(title: str, findings: Sequence[Finding]) -> None:
    from rich import box
    from rich.table import Table

    from confide.privacy.guarantee import shown

    twins = any(finding.twin for finding in findings)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("mechanism", no_wrap=True)
    table.add_column("what is wrong" if twins else "neighbours")
    for name in ("claimed epsilon", "delta", "at least", "draws"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for finding in findings:
        table.add_row(
            finding.mechanism,
            finding.wrong or finding.neighbours.value,
            shown(finding.epsilon),
            shown(finding.delta) if finding.delta else "",
            f"{finding.lower_bound:.3f}",
            f"{finding.draws:,}",
            finding.verdict,
            style=None if finding.as_expected else "bold red",
        )
    output.console().print(table)


def _summary(mechanisms: Sequence[Finding], broken: Sequence[Finding]) -> Iterator[str]:
    error, bounds = mechanisms[0].error, len(mechanisms) + len(broken)
    yield (
        f"Each bound is above the epsilon that is really lost with a probability of at most {error:.2g}, "
        f"any of the {bounds} with at most {min(error * bounds, 1.0):.2g}."
    )
    refuted = sum(finding.refuted for finding in mechanisms)
    yield f"{refuted} of {len(mechanisms)} REFUTED." if refuted else f"None of {len(mechanisms)} is refuted."
    if broken:
        caught = sum(finding.refuted for finding in broken)
        more = "" if caught == len(broken) else " The others need more --draws, or the audit is blind to them."
        yield f"{caught} of {len(broken)} broken twins are caught.{more}"
