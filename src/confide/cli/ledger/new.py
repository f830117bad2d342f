"""`confide ledger new`: open an account, or change its caps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from confide.cli import options
from confide.cli.ledger.accounts_output import print_accounts
from confide.errors import ParameterError


def new(
    account: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of the account: one for the same people.")],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="E", help="The most to be spent in all; no default.")
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="The same for delta. [default: 0]")] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="RELATION",
            help="What may differ: a row's values (replace-one), its presence (add-remove-one, for training) or its "
            "label (label-only). [default: replace-one]",
        ),
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="UNIT", help="row or person. [default: row]")] = None,
    rows_per_person: options.RowsPerPerson = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The only file that the account is for, as it is now.")
    ] = None,
    data_name: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Instead of a file: name and version of the data, where files change, as in a contest."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", metavar="COL", help="The column of labels; needed with label-only neighbours."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The positive label, if requests will name one.")
    ] = None,
    composition: options.Composition = None,
    also_charge: Annotated[
        bool,
        typer.Option(
            "--also-charge", help="Open it although another account knows the same data; budgets then add up."
        ),
    ] = False,
    per_analyst: Annotated[
        str | None, typer.Option("--per-analyst", metavar="E", help="The most epsilon for each analyst.")
    ] = None,
    analysts: Annotated[
        list[str] | None,
        typer.Option("--analyst", metavar="NAME=E", help="The most epsilon for this analyst; repeatable."),
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="Change those caps of an account that are given; its other caps stay.")
    ] = False,
    ledger: options.LedgerOption = None,
    as_json: options.AsJson = False,
) -> None:
    """Open an account with a budget, or change the caps of one.

    An account is for the data of the same people. Its terms stay as they are: neighbours, unit, data, labels and
    composition. A cap below what was spent means that no more can be spent. Where --data is given, `release`, `select`
    and `train` find the account by the file. Under label-only neighbours everything but one column of labels is public,
    so that column and the data must be named. Under --composition zcdp many small requests cost less together than the
    sum of their epsilons; `confide plan --questions` says when that pays.

    Examples:

        confide ledger new trial-7 --epsilon 3

        confide ledger new trial-8 --epsilon 3 --data scores.csv

        confide ledger new contest --epsilon 20 --neighbours label-only --label won --data-name "test labels, version 1"

        confide ledger new many --epsilon 3 --delta 1e-6 --composition zcdp

        confide ledger new course --epsilon 20 --per-analyst 1 --analyst host=5

        confide ledger new trial-7 --epsilon 4 --change --ledger postgresql://keeper@db.example/ledgers
    """
    from confide.tasks.ledger import change_caps, open_account

    caps: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "per_analyst": per_analyst,
        "analysts": _caps_by_name(analysts or []),
    }
    terms: dict[str, Any] = {
        "neighbours": neighbours,
        "unit": unit,
        "rows_per_person": rows_per_person,
        "data": data,
        "data_name": data_name,
        "label": label,
        "positive": positive,
        "composition": composition,
        "also_charge": also_charge,
    }
    task = change_caps if change else open_account
    found = task(account, ledger=ledger, **caps, **terms)
    print_accounts(found, as_json=as_json)


def _caps_by_name(given: Sequence[str]) -> dict[str, str]:
    """Read NAME=EPSILON."""
    caps = {}
    for text in given:
        name, equals, cap = text.rpartition("=")
        if not equals or not name or not cap:
            raise ParameterError(f"`analysts` must look like NAME=EPSILON, for example ana=2; got {text!r}")
        caps[name] = cap
    return caps
