"""Write and print what `confide release` gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from confide.cli import output

if TYPE_CHECKING:
    from confide.tasks.release import ReadyRelease
    from confide.tasks.release_result import ReleaseQuote, ReleaseResult


def print_remarks(ready: ReadyRelease) -> None:
    """Print what is unusual about a request, before it is paid."""
    for remark in ready.remarks:
        typer.echo(f"note: {remark}", err=True)


def print_price(price: ReleaseQuote, *, as_json: bool) -> None:
    """Print the price of a release. Exit with 3 if it does not fit."""
    if as_json:
        output.print_json(price.to_dict())
    else:
        from confide.report.release.text import print_quote

        print_quote(price.quote, price.prepared, output.console())
    if not price.fits:
        raise typer.Exit(3)


def write_document(done: ReleaseResult, out: Path | None) -> None:
    """Write what may be published as JSON, if the user named a file."""
    if out is None:
        return
    output.write_whole(out, output.as_json(done.to_public_dict()))
    typer.echo(f"written: {out}", err=True)


def write_page(done: ReleaseResult, report: Path | None, title: str | None) -> None:
    """Write the page, if the user named one."""
    if report is None:
        return
    output.write_whole(report, done.to_html(title=title))
    typer.echo(f"report: {report}", err=True)
    if done.revealed is not None:
        typer.echo(f"warning: {report} shows exact curves: it is not private and must not be published", err=True)


def print_result(done: ReleaseResult, *, as_json: bool) -> None:
    """Print what was released, and the notes of the payer."""
    for note in done.notes:
        typer.echo(str(note), err=True)
    if as_json:
        output.print_json(done.to_dict())
    else:
        from confide.report.release.text import print_release

        print_release(done.receipt, output.console())
