"""Print and write the results of `confide select` and `confide train`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from confide.cli import output
from confide.cli.errors import translate

if TYPE_CHECKING:
    from confide.tasks.workflow_step import ReadyStep, StepQuote, StepResult


def finish(
    ready: ReadyStep[Any],
    context: typer.Context,
    *,
    out: Path | None,
    report: Path | None = None,
    title: str | None = None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Print the price of a step, or pay for it and print its result."""
    for remark in ready.remarks:
        typer.echo(_in_flags(remark, context), err=True)
    if dry_run:
        _print_price(ready.quote(), as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.pay()
    if out is not None:
        done.save(out)
        typer.echo(f"written: {out}", err=True)
    if report is not None:
        from confide.report.model.page import model_page

        page = model_page(done.workflow, done.costs, title=title or "A private model", words=done.words)
        output.write_whole(report, page)
        typer.echo(f"report: {report}", err=True)
    for note in done.notes:
        typer.echo(note, err=True)
    _print_result(done, as_json=as_json)


def _in_flags(remark: str, context: typer.Context) -> str:
    return translate(remark, context.command) if isinstance(context.command, TyperCommand) else remark


def _print_price(price: StepQuote, *, as_json: bool) -> None:
    """Print the price of a step beside those of the whole workflow. Exit with 3 if it does not fit."""
    from confide.report.model.text import print_price

    if as_json:
        output.print_json(price.to_dict())
    else:
        print_price(price.quote, price.workflow, price.costs, output.console())
    if price.quote.refusal is not None:
        typer.echo(f"error: {price.quote.refusal}", err=True)
        sys.exit(3)


def _print_result(done: StepResult, *, as_json: bool) -> None:
    from confide.report.model.tables import selection_table, weights_table
    from confide.report.model.text import print_step

    if as_json:
        output.print_json(done.to_dict())
        return
    table = (selection_table if done.workflow.model is None else weights_table)(done.workflow, done.words)
    print_step(done.receipt, done.workflow, done.costs, table, output.console())
