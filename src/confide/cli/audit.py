"""Command `confide audit`: try to refute the guarantees of every mechanism."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output


def audit(
    mechanism: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MECHANISM", help="Mechanism to audit, such as auc/rank-sum, or auc for all of it. [default: all]"
        ),
    ] = None,
    epsilon: Annotated[str, typer.Option(metavar="E", help="Epsilon that every release claims.")] = "1",
    draws: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Noise to draw for each, in integers; a release of several numbers is drawn fewer times. All "
            "mechanisms together need 24,000 or more, single ones less.",
        ),
    ] = 200_000,
    twins: Annotated[
        bool, typer.Option("--twins", help="Audit the broken twins too, each of which must be caught.")
    ] = False,
    error: Annotated[
        float, typer.Option(metavar="P", help="Probability that a bound is wrong, for each bound.")
    ] = 1e-4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Try to refute the guarantees: a lower bound on epsilon for every mechanism and relation.

    Each mechanism releases two neighbouring datasets that are hardest for it, many times. Half of the draws choose an
    event that tells them apart; the other half give a lower confidence bound on the epsilon that is really lost. A
    bound above the claim refutes the mechanism, and the exit code is 1. A bound below it proves nothing: the proofs do
    that. Needs no data, and spends no budget.

    Examples:

        confide audit

        confide audit auc/rank-sum brier --epsilon 0.5 --draws 1000000

        confide audit --twins --json
    """
    from confide.tasks.audit import audit as try_to_refute
    from confide.tasks.audit import check_audit, subjects

    chosen = subjects(mechanism or (), epsilon=epsilon, broken=twins)
    check_audit(chosen, draws=draws, error=error)
    with output.steps(len(chosen), f"auditing: {len(chosen)} times {draws:,} draws") as step:
        report = try_to_refute(
            mechanism or (),
            epsilon=epsilon,
            draws=draws,
            twins=twins,
            error=error,
            starting=lambda subject: step(f"{subject.name}, {subject.neighbours.value}"),
        )
    if as_json:
        output.print_json(report.to_dict())
    else:
        from confide.report.audit import print_audit

        print_audit(report, output.console())
    if not report.as_expected:
        raise typer.Exit(1)
