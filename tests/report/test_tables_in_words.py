"""Cells of tables are short: what has no room in a cell stands in a note, and digests are cut."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from confide import ScoreCounts
from confide.attacks.from_curve.curve_report import AddedOnRoc, RocPlace
from confide.ledger.account import Account
from confide.ledger.account_terms import AccountTerms, Caps
from confide.ledger.receipts import Receipt
from confide.ledger.spending import Budget, Cost
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.report.attack import _added
from confide.report.ledger import account_tables
from confide.report.release import _intervals, ledger_table
from confide.tasks.ledger import open_account
from confide.tasks.release import release

COUNTS = ScoreCounts.from_arrays([0, 1] * 100, [i / 200 for i in range(200)])
ONE, FIVE = Budget(epsilon=Fraction(1)), Budget(epsilon=Fraction(5))


def test_a_charge_for_a_part_is_short_and_explained_in_a_note() -> None:
    paid: dict[str, Any] = {"charged": Budget(), "full_price": ONE, "spent": ONE, "remaining": ONE, "reused": False}
    table = ledger_table(Receipt(account="a", answers=(), **paid))
    assert table.body[0][1] == "epsilon 0"
    assert table.note == "By itself it costs epsilon 1; parts of the rows count in parallel."


def test_parts_are_shown_without_digests() -> None:
    part = Part(f"3/10 held out by a hash (2) of columns 'a', in data-{'af57a635' * 4}", "training")
    terms = AccountTerms(neighbours=Neighbours.ADD_REMOVE_ONE)
    account = Account(name="a", terms=terms, caps=Caps(total=FIVE)).charged([Cost(price=ONE, part=part)], None)
    _, parts = account_tables((account,))
    assert parts.body[0][1] == "part training of 3/10 held out by columns 'a', in data-af57a635…"


def test_the_page_names_the_data_and_the_rows_where_they_are_public(tmp_path: Path) -> None:
    for relation, rows in (("replace-one", {"rows": "200"}), ("add-remove-one", {})):
        place = tmp_path / f"{relation}.sqlite"
        open_account("a", epsilon=5, ledger=place, neighbours=relation)
        paid: dict[str, Any] = {"epsilon": 1, "neighbours": relation, "ledger": place, "account": "a"}
        done = release(COUNTS, label="y", score="s", data_name="heart, 2", **paid)
        assert dict(done.about) == {"data": "heart, 2", **rows, "label": "y", "score": "s"}


def test_one_row_is_not_called_rows() -> None:
    places = tuple(
        RocPlace(positives_before=above, negatives_before=0, positive=True, above=above, tied=0) for above in (1, 2)
    )
    _, *lines = _added(AddedOnRoc(places=places))
    assert lines == ["  positive, below 1 row", "  positive, below 2 rows"]


def test_the_page_names_numbers_that_are_not_drawn() -> None:
    from confide.releases.curves import draw_curves

    releases = draw_curves(COUNTS, epsilon=2, grid="uniform:8").releases()
    chosen = [one for one in releases if one.metric in ("auc", "observed_expected")]
    assert "Not drawn, as they are not shares: observed : expected." in "".join(_intervals(chosen))
