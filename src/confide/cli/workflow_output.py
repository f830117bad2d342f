"""Write and print what the steps of a private workflow give."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from confide.cli import output

if TYPE_CHECKING:
    from confide.learning.workflow import Workflow
    from confide.ledger.receipts import Quote


def print_price(quote: Quote, workflow: Workflow, costs: dict[str, Any], *, as_json: bool) -> None:
    """Print the price of a step beside those of the whole workflow. Exit with 3 if it does not fit."""
    from confide.report.model.documents import price_document
    from confide.report.model.text import print_price

    if as_json:
        output.print_json(price_document(quote, workflow, costs))
    else:
        print_price(quote, workflow, costs, output.console())
    if quote.refusal is not None:
        typer.echo(f"error: {quote.refusal}", err=True)
        sys.exit(3)


def write_workflow(workflow: Workflow, out: Path | None) -> None:
    """Write the file for the next step, if the user named one."""
    if out is not None:
        output.write_whole(out, workflow.written())
        typer.echo(f"written: {out}", err=True)
