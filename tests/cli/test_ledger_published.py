"""`confide ledger history` says what was published, and exports it for an audit: released values and nothing else."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from confide import Ledger, ScoreCounts
from confide.ledger.question import PublicQuestion
from confide.ledger.reader import COLUMNS, publications
from confide.ledger.receipts import Receipt
from confide.releases.registry import prepare
from confide.releases.release import Release
from tests.cli.commands import Answer, confide
from tests.cli.desk import LABELS, SCORES
from tests.ledger.asking import Book

COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)
QUESTION = PublicQuestion(data="people, version 2", label="died", positive="yes", details={"score": "risk"})


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def receipt(book: Path) -> Receipt[Release]:
    """Two releases of declared data: an AUC, and all that follows from a confusion matrix."""
    with Book(book) as ledger:
        ledger.open_account("trial", epsilon=3, data="people, version 2")
        parts = prepare(["auc", "recall"], COUNTS, epsilon=1, threshold=0.3)
        return ledger.release(parts, account="trial", analyst="ana", question=QUESTION)


def history(book: Path, *options: object) -> Answer:
    answer = confide("ledger", "history", "trial", "--ledger", book, *options)
    assert answer.code == 0, answer.err
    return answer


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_table_says_what_was_published(book: Path, receipt: Receipt[Release]) -> None:
    out = history(book).out
    table = out[out.index("Published") :]
    for words in ("people, version 2", "died", "risk", f"auc {receipt.releases[0].value:.4g}", "0.5"):
        assert words in table
    assert "13 more" in " ".join(table.split())


def test_json_and_csv_hold_every_value_with_its_question_and_price(
    book: Path, receipt: Receipt[Release], tmp_path: Path
) -> None:
    answer = history(book, "--json", "--csv", tmp_path / "audit.csv")
    listed = json.loads(answer.out)["published"]
    rows = read_csv(tmp_path / "audit.csv")
    assert tuple(rows[0]) == tuple(listed[0]) == COLUMNS
    assert [row["metric"] for row in rows] == [one["metric"] for one in listed]
    released = {(release.metric, release.value) for release in receipt.releases}
    assert released <= {(row["metric"], float(row["value"])) for row in rows if row["value"]}
    first = listed[0]
    expected = {
        "analyst": "ana", "data": "people, version 2", "label": "died", "positive": "yes", "score": "risk",
        "metric": "auc", "value": receipt.releases[0].value, "epsilon": 0.5, "delta": 0.0, "rho": 0.0,
        "neighbours": "replace-one", "unit": "row", "lower": receipt.releases[0].intervals.sample.lower,
    }  # fmt: skip
    assert first == {**first, **expected}
    assert first["at"] == receipt.released_at
    recall = next(one for one in listed if one["metric"] == "recall")
    assert (recall["threshold"], recall["value"]) == (0.3, receipt.releases[1].value)


def test_prices_of_the_charges_add_up_to_what_was_spent(book: Path, receipt: Receipt[Release]) -> None:
    with Ledger(book) as ledger:
        found = publications(ledger.history("trial"))
    assert sum({one.charge: one.price.epsilon for one in found}.values()) == receipt.spent.epsilon == 1


def test_what_was_charged_but_not_answered_is_not_published(book: Path, receipt: Receipt[Release]) -> None:
    with Ledger(book) as ledger:
        entries = ledger.history("trial")
    unanswered = [entry for entry in entries if entry.kind != "answer"]
    assert publications(unanswered) == ()
    assert len(unanswered) == 3


def test_a_request_without_a_question_is_listed_without_one(book: Path) -> None:
    with Ledger(book, padding=0) as ledger:
        ledger.open_account("trial", epsilon=3)
        ledger.release(prepare("auc", COUNTS, epsilon=1), account="trial")
        (found,) = publications(ledger.history("trial"))
    assert (found.metric, found.data, found.score, found.analyst) == ("auc", None, None, None)
    assert "Published" in history(book).out


@pytest.mark.parametrize(("name", "said"), [("ledger.sqlite", "must end in .csv"), ("no/audit.csv", "does not exist")])
def test_wrong_files_are_refused(book: Path, receipt: Receipt[Release], tmp_path: Path, name: str, said: str) -> None:
    before = book.read_bytes()
    answer = confide("ledger", "history", "trial", "--ledger", book, "--csv", tmp_path / name)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert book.read_bytes() == before


def test_a_ledger_that_is_named_as_csv_is_not_overwritten(tmp_path: Path) -> None:
    odd = tmp_path / "ledger.csv"
    with Book(odd) as ledger:
        ledger.open_account("trial", epsilon=3)
    answer = confide("ledger", "history", "trial", "--ledger", odd, "--csv", odd)
    assert answer.code == 2
    assert "is the ledger or its key" in answer.err
