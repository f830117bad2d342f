"""`confide.release` makes every check that `confide release` makes, charges the same and gives the same answer."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from confide import BudgetError, Ledger, PublicQuestion, ScoreCounts
from confide.errors import ColumnError, ConfideError, ConfideWarning, DataError, ParameterError, ScoreError, UsageError
from confide.ledger.payer import NoteCode
from confide.releases.registry import prepare
from confide.tasks import release as release_module
from confide.tasks.release import quote_release, release
from tests.cli.desk import LABELS, SCORES, Desk
from tests.noises import FORBIDDEN, SILENT

COLUMNS: dict[str, Any] = {"label": "died", "score": "risk"}
FRAME = pd.DataFrame({"died": LABELS, "risk": SCORES})


def ask(desk: Desk, task: Callable[..., Any] = release, source: Any = None, **given: Any) -> Any:
    request: dict[str, Any] = {**COLUMNS, "epsilon": 1, "ledger": desk.book, "account": "trial", **given}
    return task(desk.folder / "rows.csv" if source is None else source, **request)


def spent(desk: Desk, account: str = "trial") -> float:
    with Ledger(desk.book) as book:
        return float(book.account(account).spent.epsilon)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("options", "given"),
    [
        (("-e", "1"), {"epsilon": 1}),
        (
            ("-e", "1/3", "-m", "auc,recall,brier", "-t", "0.3"),
            {"epsilon": "1/3", "metrics": ["auc", "recall", "brier"], "threshold": 0.3},
        ),
        (("-e", "1", "-m", "roc,pr", "--grid", "uniform:4"), {"metrics": ["roc", "pr"], "grid": "uniform:4"}),
        (("-e", "1", "-m", "auc", "--target", "recall=0.9", "--safe"), {"target": "recall=0.9", "safe": True}),
        (("-e", "1", "--positive", "1", "--level", "0.8"), {"positive": "1", "level": 0.8}),
    ],
    ids=str,
)  # fmt: skip
def test_python_and_the_command_line_make_the_same_request(
    desk: Desk, options: tuple[str, ...], given: dict[str, Any]
) -> None:
    desk.open_account("trial", file="rows.csv")
    price = desk.document(*options, "--dry-run")
    assert ask(desk, quote_release, account=None, **given).to_dict() == price
    typed = desk.document(*options)
    desk.hear(FORBIDDEN)
    done = ask(desk, account=None, **given)
    desk.hear_the_system_again()
    assert done.receipt.reused
    assert [note.code for note in done.notes] == [NoteCode.ONLY_ACCOUNT]
    called = done.to_dict()
    free = {"epsilon": 0.0, "delta": 0.0}
    assert called.pop("ledger") == typed.pop("ledger") | {"charged": free, "full_price": free, "reused": True}
    assert called == typed


def test_the_page_is_the_one_that_the_command_line_writes(desk: Desk) -> None:
    desk.open_account("trial", file="rows.csv")
    answer = desk.ask("-e", "1", "-m", "roc,auc", "--report", "out.html")
    assert answer.code == 0, answer.err
    done = ask(desk, metrics=("roc", "auc"))
    assert done.to_html() == (desk.folder / "out.html").read_text(encoding="utf-8")
    assert "<svg" in done.to_html()
    assert "roc" in repr(done)
    assert done["auc"].metric == "auc"


@pytest.mark.parametrize("metrics", ["auc", "ap", "brier", ["recall", "precision"], ["roc", "auc"]], ids=str)
def test_another_level_costs_nothing(desk: Desk, metrics: Any) -> None:
    """The answer that the ledger keeps gives the intervals at any level."""
    desk.open_account("trial", file="rows.csv")
    first = ask(desk, metrics=metrics)
    desk.hear(FORBIDDEN)
    again = ask(desk, metrics=metrics, level=0.5)
    desk.hear_the_system_again()
    assert again.receipt.reused
    assert spent(desk) == 1
    assert [one.value for one in again.releases] == [one.value for one in first.releases]
    for wide, narrow in zip(first.releases, again.releases, strict=True):
        assert (wide.intervals.population.level, narrow.intervals.population.level) == (0.95, 0.5)
        assert narrow.intervals.population.width < wide.intervals.population.width


@pytest.mark.parametrize("epsilon", ["1/2", "1/10"])
def test_the_local_scale_can_be_asked_for_at_a_small_epsilon(desk: Desk, epsilon: str) -> None:
    """Parameters are checked on enough made-up rows, whatever epsilon is."""
    rows = 2_000
    table = "".join(f"{k % 2},{k / rows}\n" for k in range(rows))
    (desk.folder / "many.csv").write_text(f"died,risk\n{table}", encoding="utf-8")
    desk.open_account("many", file="many.csv")
    done = ask(desk, source=desk.folder / "many.csv", account="many", metrics="auc", mechanism="local", epsilon=epsilon)
    assert done["auc"].mechanism == "local"


@pytest.mark.parametrize("guess", [0.03, 0.05])
def test_another_level_never_changes_the_mechanism(guess: float) -> None:
    counts = ScoreCounts.from_arrays([0, 1] * 1_000, range(2_000))
    levels = (0.5, 0.8, 0.95, 0.99)
    asked = [prepare("auc", counts, epsilon="1/2", prevalence_guess=guess, level=level)[0] for level in levels]
    assert all(one.request == asked[0].request for one in asked)


@pytest.mark.parametrize("metrics", ["auc", "ap", "brier", "recall", "prevalence", "roc"])
def test_a_file_without_rows_is_answered_like_its_neighbours(desk: Desk, metrics: str) -> None:
    """Under add-remove-one no rows are a neighbour of one row; under replace-one their number is public."""
    (desk.folder / "none.csv").write_text("died,risk\n", encoding="utf-8")
    desk.open_account("none", file="none.csv", neighbours="add-remove-one")
    given: dict[str, Any] = {"source": desk.folder / "none.csv", "account": "none", "metrics": metrics}
    done = ask(desk, **given, neighbours="add-remove-one", positive="1")
    assert not done.receipt.reused
    with pytest.raises(ConfideError):
        ask(desk, **given, neighbours="replace-one", positive="1", epsilon=2)


def test_a_quote_charges_nothing(desk: Desk) -> None:
    desk.open_account("trial", file="rows.csv")
    before = desk.files()
    desk.hear(FORBIDDEN)
    assert ask(desk, quote_release).fits
    assert not ask(desk, quote_release, epsilon=11).fits
    desk.hear_the_system_again()
    assert desk.files() == before


@pytest.mark.parametrize(("threshold", "called"), [(1.5, "nobody"), (-0.1, "everybody"), (0.0, "everybody")])
def test_a_threshold_that_divides_no_probabilities_is_remarked_before_the_charge(
    desk: Desk, threshold: float, called: str
) -> None:
    desk.open_account("trial", file="rows.csv")
    said = f"threshold {threshold:g} calls {called} positive if scores are probabilities"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ConfideWarning)
        ask(desk, quote_release, metrics="accuracy", threshold=threshold)
    assert [said in str(one.message) for one in found if one.category is ConfideWarning] == [True]
    for more in (("--dry-run",), ()):
        answer = desk.ask("-e", "1", "-m", "accuracy", "-t", str(threshold), *more)
        assert answer.code == 0, answer.err
        assert f"note: {said}" in answer.err


@pytest.mark.filterwarnings("error::confide.errors.ConfideWarning")
def test_a_threshold_between_0_and_1_is_not_remarked(desk: Desk) -> None:
    desk.open_account("trial", file="rows.csv")
    assert ask(desk, quote_release, metrics="accuracy", threshold=1.0).fits


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"account": "trail"}, ParameterError, "Did you mean 'trial'"),
    ({"account": "other", "also_charge": True}, ParameterError, "the request is about other data"),
    ({"account": "second"}, ParameterError, "knows these data under account 'trial'"),
    ({"epsilon": None}, ParameterError, "`epsilon=1`"),
    ({"epsilon": 0}, ParameterError, "epsilon"),
    ({"epsilon": 11}, BudgetError, "11"),
    ({"label": None}, ParameterError, "`label` and `score`"),
    ({"score": "died"}, ParameterError, "both label and score"),
    ({"score": "riks"}, ColumnError, "Did you mean 'risk'"),
    ({"metrics": "acu"}, ParameterError, "Did you mean 'auc'"),
    ({"metrics": []}, ParameterError, "at least one metric"),
    ({"neighbours": "replace-two"}, ParameterError, "replace-one"),
    ({"unit": "person"}, ParameterError, "protects each row"),
    ({"threshold": 0.5}, ParameterError, "threshold"),
    ({"safe": True}, ParameterError, "`target`"),
    ({"reveal": True}, ParameterError, "roc"),
    ({"level": 2}, ParameterError, "level"),
    ({"metrics": "roc", "grid": "public:rows.csv:risk:4"}, UsageError, "private rows"),
    ({"metrics": "roc", "grid": "public:copy.csv:risk:4"}, UsageError, "private rows"),
    ({"metrics": "roc", "grid": "public:risk"}, ParameterError, "must look like"),
    ({"data_name": "heart attacks, version 2"}, ParameterError, "leave `data_name`"),
    ({"question": PublicQuestion(data="x")}, ParameterError, "`question` out"),
    ({"model": "rows.csv"}, ParameterError, "`label` is defined by the file of `model`"),
    ({"model": "rows.csv", "label": None, "score": None}, DataError, "not a file of `confide select`"),
    ({"source": "nowhere.csv"}, UsageError, "does not exist"),
]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("task", [release, quote_release])
@pytest.mark.parametrize(("given", "error", "message"), WRONG, ids=lambda one: str(one)[:40])
def test_wrong_requests_are_refused_and_cost_nothing(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    task: Callable[..., Any],
    given: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(desk.folder)
    desk.write("copy.csv")
    desk.open_account("trial", file="rows.csv")
    desk.write("different.csv", LABELS[:-1], SCORES[:-1])
    desk.open_account("other", file="different.csv")
    desk.open_account("second")
    before = desk.files()
    desk.hear(FORBIDDEN)
    if error is BudgetError and task is quote_release:
        assert message in str(ask(desk, task, **given).quote.refusal)
    else:
        with pytest.raises(error, match=message):
            ask(desk, task, **given)
    desk.hear_the_system_again()
    assert desk.files() == before


def test_an_account_that_hides_one_column_of_labels_takes_no_other(desk: Desk) -> None:
    FRAME.assign(other=1 - LABELS).to_csv(desk.folder / "rows.csv", index=False)
    desk.open_account("trial", file="rows.csv", neighbours="label-only", label="died")
    ask(desk, neighbours="label-only")
    others: list[dict[str, Any]] = [{"label": "other"}, {"positive": "1"}]
    for other in others:
        with pytest.raises(ParameterError, match="hides the labels in 'died'"):
            ask(desk, neighbours="label-only", **other)
    assert spent(desk) == 1.0


def test_a_file_that_changes_while_it_is_read_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.open_account("trial", file="rows.csv")
    read = release_module.ReadyRelease.pay

    def pay_later(ready: release_module.ReadyRelease) -> Any:
        desk.write("rows.csv", LABELS[:-1], SCORES[:-1])
        return read(ready)

    monkeypatch.setattr(release_module.ReadyRelease, "pay", pay_later)
    desk.hear(FORBIDDEN)
    with pytest.raises(DataError, match="changed while it was read"):
        ask(desk)
    desk.hear_the_system_again()
    assert spent(desk) == 0.0


def test_an_open_ledger_stays_open(desk: Desk) -> None:
    desk.open_account("trial", file="rows.csv")
    with Ledger(desk.book) as book:
        ask(desk, ledger=book)
        ask(desk, ledger=book, metrics="brier")
        assert book.account("trial").spent.epsilon == 2


class TestDataInMemory:
    NAMED: ClassVar[dict[str, Any]] = {"data_name": "heart attacks, version 2"}

    @pytest.fixture
    def account(self, desk: Desk) -> Desk:
        with Ledger(desk.book) as book:
            book.open_account("trial", epsilon=10, data="heart attacks, version 2")
        return desk

    def test_dataframes_tables_and_counts_are_counted_as_a_file_is(self, desk: Desk) -> None:
        counts = ScoreCounts.from_arrays(LABELS, SCORES)
        sources = [desk.folder / "rows.csv", FRAME, pl.from_pandas(FRAME), ibis.memtable(FRAME), counts]
        values = []
        for number, source in enumerate(sources):
            book, name = desk.folder / f"{number}.sqlite", {} if number == 0 else self.NAMED
            with Ledger(book) as opened:
                opened.open_account("trial", epsilon=10)
            desk.hear(SILENT)
            values.append(ask(desk, source=source, ledger=book, metrics=["auc", "recall"], **name).to_dict())
            desk.hear_the_system_again()
        assert [value["releases"] for value in values] == [values[0]["releases"]] * len(values)
        assert [value["data"] for value in values] == [values[0]["data"]] * len(values)

    def test_the_same_name_is_the_same_question(self, account: Desk) -> None:
        first = ask(account, source=FRAME, **self.NAMED)
        again = ask(account, source=ScoreCounts.from_arrays(LABELS, SCORES), account=None, **self.NAMED)
        assert again.receipt.reused
        assert again.releases == first.releases
        assert not ask(account, source=FRAME.assign(age=SCORES), score="age", **self.NAMED).receipt.reused

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({}, "give `data_name`"),
            ({"data_name": "a", "question": PublicQuestion(data="a")}, "not both"),
            ({"data_name": "other people"}, "is for the data 'heart attacks, version 2' alone"),
            ({"question": PublicQuestion(data="heart attacks, version 2", label="other")}, "other labels"),
            ({"question": PublicQuestion(data="heart attacks, version 2", label="died", positive="1")}, "other labels"),
            ({"data_name": "heart attacks, version 2", "score": "riks"}, "Did you mean 'risk'"),
            (
                {"question": PublicQuestion(data="heart attacks, version 2", label="died", details={"score": "age"})},
                "another score",
            ),
            ({**NAMED, "grid": "public:rows.csv:risk:8", "metrics": "roc"}, "public file"),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, account: Desk, given: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfideError, match=message):
            ask(account, source=FRAME, **given)
        assert spent(account) == 0.0

    def test_counts_need_no_names_beside_a_question(self, account: Desk) -> None:
        question = PublicQuestion(data="heart attacks, version 2", label="died", details={"score": "risk"})
        done = ask(account, source=ScoreCounts.from_arrays(LABELS, SCORES), label=None, score=None, question=question)
        assert spent(account) == 1.0
        assert done.data["label"] == "died"

    def test_counts_are_not_about_other_labels_than_their_question(self, account: Desk) -> None:
        question = PublicQuestion(data="heart attacks, version 2", label="died")
        with pytest.raises(ParameterError, match="other labels"):
            ask(account, source=ScoreCounts.from_arrays(LABELS, SCORES), label="other", score=None, question=question)
        assert spent(account) == 0.0

    @pytest.mark.parametrize("kind", ["objects", "decimals", "table"])
    @pytest.mark.parametrize("last", ["0.2", "1E-25", "1E-36"])
    def test_no_row_changes_how_the_scores_of_others_are_read(self, desk: Desk, kind: str, last: str) -> None:
        """A decimal with many digits widens its column; engines then round all other scores anew."""
        scores = [Decimal("0.1")] * 50 + [Decimal("0.05")] * 50 + [Decimal(last)]
        frame = pd.DataFrame({"died": [1] * 50 + [0] * 51, "risk": pd.Series(scores, dtype=object)})
        if kind == "decimals":
            frame = frame.astype({"risk": pd.ArrowDtype(pa.decimal128(38, 36))})
        source = ibis.memtable(frame) if kind == "table" else frame
        with Ledger(desk.book) as opened:
            opened.open_account("trial", epsilon=10)
        desk.hear(SILENT)
        found = ask(desk, source=source, metrics="recall", threshold=0.1, **self.NAMED)
        assert found["recall"].value == 1.0

    @pytest.mark.parametrize("last", ["no", 3, b"no", True, datetime(2026, 1, 1, tzinfo=UTC)])
    def test_labels_of_other_types_are_negative(self, desk: Desk, last: object) -> None:
        frame = pd.DataFrame({"died": ["yes", "no", "yes", last], "risk": [0.9, 0.2, 0.7, 0.1]})
        with Ledger(desk.book) as opened:
            opened.open_account("trial", epsilon=10)
        desk.hear(SILENT)
        assert ask(desk, source=frame, positive="yes", metrics="prevalence", **self.NAMED)["prevalence"].value == 0.5

    def test_one_missing_score_tells_nothing_about_its_row(self, account: Desk) -> None:
        with pytest.raises(ScoreError, match="a finite number in every row"):
            ask(account, source=FRAME.assign(risk=FRAME["risk"].where(FRAME.index != 7)), **self.NAMED)
        assert spent(account) == 0.0

    def test_a_model_is_run_on_a_file(self, account: Desk) -> None:
        workflow = Path(__file__)
        with pytest.raises(ConfideError):
            ask(account, source=FRAME, label=None, score=None, model=workflow, **self.NAMED)


def test_json_has_one_shape_for_amounts(desk: Desk) -> None:
    desk.open_account("trial", file="rows.csv")
    price, paid = ask(desk, quote_release).to_dict(), ask(desk).to_dict()["ledger"]
    assert price["schema"] == "confide.quote/1"
    assert paid["charged"] == price["price"] == {"epsilon": 1.0, "delta": 0.0}
    assert paid["remaining"] == price["remaining_after"]
    assert paid["spent"].keys() == price["spent"].keys() == {"epsilon", "delta"}
    json.dumps([price, paid])
