"""Printing a result or an account shows its numbers, and no dump of its fields."""

from __future__ import annotations

from pathlib import Path

import pytest

import confide
from confide import Ledger, ScoreCounts
from confide.errors import ParameterError
from confide.tasks.ledger import open_account

COUNTS = ScoreCounts.from_arrays([0, 1] * 100, [i / 200 for i in range(200)])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_a_printed_release_has_values_intervals_and_what_is_left(place: Path) -> None:
    open_account("trial", epsilon=3, ledger=place)
    done = confide.release(
        COUNTS, label="y", score="s", metrics=["auc", "brier"], epsilon=1, ledger=place, account="trial", data_name="a"
    )
    lines = str(done).splitlines()
    assert [line.split(" (sample")[0] for line in lines[:2]] == [
        f"AUC {done['auc'].value:.3f}",
        f"Brier score {done['brier'].value:.3f}",
    ]
    assert "population" in lines[0]
    assert lines[2] == "paid epsilon 1 by account trial, which has epsilon 2 left"
    assert f"auc {done['auc'].value:.4g}" in repr(done)


def test_an_account_is_shown_in_a_line(place: Path) -> None:
    made = open_account("trial", epsilon=5, ledger=place)
    words = "'trial': epsilon 5 left of epsilon 5, add-remove-one, each row"
    with Ledger(place) as ledger:
        relation = ledger.account("trial").neighbours.value
        words = words.replace("add-remove-one", relation)
        assert repr(ledger.account("trial")) == f"<Account {words}>"
    assert repr(made) == f"<Accounts of {place}: {words}>"


def test_changing_no_cap_is_refused(place: Path) -> None:
    with Ledger(place) as ledger:
        ledger.open_account("trial", epsilon=5)
        with pytest.raises(ParameterError, match=r"which cap to change \(`epsilon=4`\); nothing was changed"):
            ledger.change_caps("trial")
        with pytest.raises(ParameterError, match=r"Ledger.change_caps\('trial', epsilon=E\)"):
            ledger.open_account("trial", epsilon=5)
