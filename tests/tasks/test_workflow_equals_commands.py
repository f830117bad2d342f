"""`confide.select`, `train` and `predict` do in Python what the commands do, with the same checks and charges."""

from __future__ import annotations

import csv
import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import confide
from confide import Ledger
from confide.errors import BudgetError, ConfideError, ParameterError, UsageError
from confide.learning.workflow import HELD_OUT, TRAINING, Workflow
from confide.ledger.question import PublicQuestion
from confide.tasks.learning import quote_select, quote_train, workflow_rows
from confide.tasks.requests.learning import SelectRequest
from tests.cli.commands import confide as command

FEATURES: dict[str, Any] = {"label": "died", "columns": ["smoker", "age=50,60", "sex=f|m"]}
FLAGS = ("-l", "died", "-c", "smoker", "-c", "age=50,60", "-c", "sex=f|m")

pytestmark = [pytest.mark.usefixtures("unpadded_ledgers")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "patients.csv"
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["died", "smoker", "age", "sex"])
        for _ in range(300):
            smoker = int(rng.random() < 0.4)
            died = int(rng.random() < 0.2 + 0.5 * smoker)
            writer.writerow([died, smoker, int(rng.integers(30, 90)), "fm"[int(rng.integers(2))]])
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as book:
        book.open_account("clinic", epsilon=4, neighbours="add-remove-one")
    return path


def spent(ledger: Path) -> Fraction:
    with Ledger(ledger) as book:
        return book.account("clinic").spent.epsilon


def test_one_column_needs_no_list(file: Path, ledger: Path) -> None:
    paying: dict[str, Any] = {"label": "died", "ledger": ledger, "account": "clinic"}
    listed = confide.train(file, columns=["smoker"], hold_out_by=["age"], **paying)
    named = confide.train(file, columns="smoker", hold_out_by="age", **paying)
    assert named.workflow.held_out_by == ("age",)
    assert named.workflow.written() == listed.workflow.written()


def test_python_and_the_command_line_ask_the_same_question(file: Path, ledger: Path, tmp_path: Path) -> None:
    """The second asks what the first did, so it gets the stored answer: all public facts are alike."""
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic"}
    flags = ("--ledger", ledger, "--account", "clinic", "--json")
    chosen = confide.select(file, **FEATURES, k=2, **paying)
    answer = command("select", file, *FLAGS, "-k", 2, "--out", tmp_path / "features.json", *flags)
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert document["ledger"]["reused"] is True
    ours = json.loads(json.dumps(chosen.to_dict()))
    assert {**ours, "ledger": None} == {**document, "ledger": None}
    assert (tmp_path / "features.json").read_text(encoding="utf-8") == chosen.workflow.written()
    assert spent(ledger) == Fraction(1, 2)

    trained = confide.train(file, features=chosen.workflow, model="logistic-regression", **paying)
    again = command(
        *("train", file, "--features", tmp_path / "features.json", "--model", "logistic-regression"),
        *("--out", tmp_path / "model.json", *flags),
    )
    assert json.loads(again.out)["ledger"]["reused"] is True
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == trained.workflow.written()
    assert spent(ledger) == 1

    assert command("predict", tmp_path / "model.json", file, "--out", tmp_path / "scored.csv").code == 0
    with (tmp_path / "scored.csv").open(encoding="utf-8", newline="") as handle:
        written = [float(row["score"]) for row in csv.DictReader(handle)]
    found = confide.predict(trained.workflow, file)
    assert found.scores.tolist() == written
    assert (len(found), found.written) == (300, None)


def test_a_quote_charges_nothing(file: Path, ledger: Path) -> None:
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic"}
    price = quote_select(file, **FEATURES, epsilon=5, budget=10, **paying)
    assert not price.fits
    answer = command(
        *("select", file, *FLAGS, "--epsilon", 5, "--budget", 10, "--ledger", ledger, "--account", "clinic"),
        *("--dry-run", "--json"),
    )
    assert answer.code == 3
    assert json.loads(answer.out) == json.loads(json.dumps(price.to_dict()))
    assert quote_train(file, **FEATURES, **paying).fits
    with pytest.raises(BudgetError, match="left, but 5 was requested"):
        confide.train(file, **FEATURES, epsilon=5, budget=10, **paying)
    assert spent(ledger) == 0


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"label": None}, "name the column of labels"),
    ({"columns": None}, "say what the features are"),
    ({"epsilon": 0}, "greater than 0"),
    ({"budget": "much"}, "`budget` must be"),
    ({"hold_out": 2}, "hold out|held out"),
    ({"neighbours": "near"}, "neighbours must be"),
    ({"question": PublicQuestion(data="rows")}, "the bytes of a file identify its data"),
)


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=str)
@pytest.mark.parametrize("task", [confide.select, confide.train], ids=lambda task: task.__name__)
def test_wrong_input_is_refused_before_anything_is_charged(
    task: Any, wrong: dict[str, Any], message: str, file: Path, ledger: Path
) -> None:
    with pytest.raises(ParameterError, match=message):
        task(file, **{**FEATURES, **wrong}, ledger=ledger, account="clinic")
    assert spent(ledger) == 0


def test_what_belongs_to_one_task_is_checked_too(file: Path, ledger: Path, tmp_path: Path) -> None:
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic"}
    with pytest.raises(ParameterError, match="at most the number of features"):
        confide.select("nowhere.csv", **FEATURES, k=1000, **paying)
    with pytest.raises(ParameterError, match="takes no `keep`"):
        confide.train("nowhere.csv", **FEATURES, model="logistic-regression", keep=1.0, **paying)
    with pytest.raises(ConfideError):
        confide.train("nowhere.csv", **FEATURES, **paying)
    with pytest.raises(ParameterError, match="Did you mean 'clinic'"):
        confide.train(file, **FEATURES, ledger=ledger, account="clinik")
    chosen = confide.select(file, **FEATURES, k=2, **paying)
    with pytest.raises(ParameterError, match="`label` comes from the file of `features`"):
        confide.train(file, features=chosen.workflow, label="died", **paying)
    with pytest.raises(ParameterError, match="leave `neighbours` out"):
        confide.train(file, features=chosen.workflow, neighbours="label-only", **paying)
    with pytest.raises(ParameterError, match="no model"):
        confide.predict(chosen.workflow, file)
    bare = confide.train(file, **FEATURES, epsilon="1/4", **paying)
    with pytest.raises(ParameterError, match="the workflow has no selected features"):
        confide.train(file, features=bare.workflow, **paying)
    with pytest.raises(UsageError, match="must be one of"):
        confide.predict(bare.workflow, file, out=tmp_path / "scores.txt")
    bare.save(tmp_path / "model.json")
    done = confide.predict(tmp_path / "model.json", file, out=tmp_path / "scores.csv", score="risk")
    assert done.written == tmp_path / "scores.csv"
    assert repr(bare).startswith("StepResult(")


def test_a_table_is_identified_by_what_its_holder_declares(file: Path, ledger: Path) -> None:
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic"}
    table = ibis.duckdb.connect().read_csv(str(file))
    with pytest.raises(ParameterError, match="a table has no identity of its own; give `data_name`"):
        confide.select(table, **FEATURES, k=2, **paying)
    question = PublicQuestion(data="patients, version 1")
    first, again = (confide.select(table, **FEATURES, k=2, question=question, **paying) for _ in range(2))
    assert (first.receipt.reused, again.receipt.reused) == (False, True)
    assert first.workflow.selection == again.workflow.selection
    other = confide.select(table, **FEATURES, k=1, question=question, **paying)
    assert not other.receipt.reused
    assert spent(ledger) == 1


def test_a_saved_step_overwrites_neither_the_data_nor_the_ledger(tmp_path: Path) -> None:
    """The command refuses the same names, with the same words."""
    rows, book, lost = tmp_path / "rows.json", tmp_path / "book.json", tmp_path / "missing" / "model.json"
    rows.write_text('{"died": 1, "smoker": 1}\n{"died": 0, "smoker": 0}\n' * 20, encoding="utf-8")
    linked, folder = tmp_path / "link.json", tmp_path / "folder.json"
    linked.hardlink_to(rows)
    folder.mkdir()
    with Ledger(book) as ledger:
        ledger.open_account("clinic", epsilon=4, neighbours="add-remove-one")
    asked: dict[str, Any] = {"label": "died", "columns": ["smoker"], "account": "clinic"}
    with Ledger(book) as ledger:
        open_one = confide.train(rows, **asked, ledger=ledger)
    done = confide.train(rows, **asked, ledger=f"sqlite:///{book}")
    flags = ("-l", "died", "-c", "smoker", "--account", "clinic", "--ledger", book)
    before = {path: path.read_bytes() for path in (rows, book)}
    refused = (rows, linked, book, book.with_name("book.json.key"), folder, lost, tmp_path / "model.txt")
    for path in refused:
        with pytest.raises(UsageError) as refusal:
            done.save(path)
        with pytest.raises(UsageError, match=re.escape(str(refusal.value))):
            open_one.save(str(path))
        answer = command("train", rows, *flags, "--out", path)
        assert (answer.code, answer.err) == (2, f"error: {refusal.value}\n")
    assert {path: path.read_bytes() for path in (rows, book)} == before
    done.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == done.workflow.written()


FRAMES: dict[str, Any] = {
    "pandas": pd.read_csv,
    "polars": pl.read_csv,
    "polars, lazy": pl.scan_csv,
    "pandas, as text": lambda file: pd.read_csv(file, dtype=str),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("read", FRAMES.values(), ids=FRAMES)
def test_a_dataframe_gives_what_its_file_gives(read: Any, file: Path, ledger: Path) -> None:
    """Rows have the same features, and the same rows are held out, however the values are stored."""
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic", "data_name": "patients, version 1"}
    frame, asked = read(file), {**FEATURES, "hold_out_by": ["age", "sex"]}
    chosen = confide.select(frame, **asked, k=2, epsilon="1/10", **paying)
    again = confide.select(frame, **asked, k=2, epsilon="1/10", **paying)
    assert (chosen.receipt.reused, again.receipt.reused, spent(ledger)) == (False, True, Fraction(1, 10))
    confide.train(frame, features=chosen.workflow, epsilon="1/10", **paying)
    assert spent(ledger) == Fraction(1, 5)
    for side in (TRAINING, HELD_OUT):
        found, expected = (workflow_rows(chosen.workflow, source, side) for source in (frame, file))
        for part in ("starts", "features", "labels"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_no_value_of_a_dataframe_changes_how_others_are_read() -> None:
    """A word, a missing value and a decimal with many digits would change the type of a whole column."""
    workflow = SelectRequest("rows.csv", **FEATURES, hold_out=0).terms.workflow
    rows = {"died": [0, 1, 1], "smoker": [1, 0, 1], "age": [49, 55, 61], "sex": ["f", "m", "f"]}
    plain = workflow_rows(workflow, pd.DataFrame(rows), TRAINING)
    for odd in ("unknown", None, Decimal("55.000000000000000000000000000000000001"), 1e300, True):
        ages = pd.Series([49, odd, 61], dtype=object)
        for frame in (pd.DataFrame({**rows, "age": ages}), pd.DataFrame({**rows, "age": ages}).convert_dtypes()):
            found = workflow_rows(workflow, frame, TRAINING)
            for row in (0, 2):
                kept = np.arange(3) == row
                np.testing.assert_array_equal(found.rows(kept).features, plain.rows(kept).features)


def test_wrong_dataframes_are_refused_before_anything_is_charged(file: Path, ledger: Path) -> None:
    paying: dict[str, Any] = {"ledger": ledger, "account": "clinic"}
    frame, question = pd.read_csv(file), PublicQuestion(data="patients, version 1")
    wrong: tuple[tuple[Any, dict[str, Any], str], ...] = (
        (frame, {}, "a table has no identity of its own"),
        (frame, {"data_name": "rows", "question": question}, "not both"),
        (frame.drop(columns="age"), {"question": question}, "no column 'age'"),
        (frame.assign(died=float("nan")), {"question": question}, "labels are missing"),
        (frame.iloc[:0], {"question": question}, "no rows"),
        (file, {"data_name": "rows"}, "the bytes of a file identify its data"),
        ([1, 2], {"question": question}, "not a dataframe, an Ibis table or a path"),
    )
    for task in (confide.select, confide.train):
        for source, terms, message in wrong:
            with pytest.raises(ConfideError, match=message):
                task(source, **FEATURES, **terms, **paying)
    assert spent(ledger) == 0


def test_gaussian_steps_are_paid_in_rho_by_python_and_by_command(file: Path, tmp_path: Path) -> None:
    place = tmp_path / "many.sqlite"
    terms = ("--neighbours", "add-remove-one", "--epsilon", 4, "--delta", "1e-6", "--composition", "zcdp")
    assert command("ledger", "new", "clinic", *terms, "--ledger", place).code == 0
    noise: dict[str, Any] = {"mechanism": "gaussian", "delta": "1e-7", "ledger": place, "account": "clinic"}
    flags = ("--mechanism", "gaussian", "--delta", "1e-7", "--ledger", place, "--account", "clinic", "--json")
    chosen = confide.select(file, **FEATURES, k=2, **noise)
    trained = confide.train(file, **FEATURES, **noise)
    for step, asked in (("select", (*FLAGS, "-k", 2)), ("train", FLAGS)):
        answer = command(step, file, *asked, *flags)
        assert answer.code == 0, answer.err
        assert json.loads(answer.out)["ledger"]["reused"] is True
    with Ledger(place) as book:
        paid = book.account("clinic").spending
    selection, model = chosen.workflow.selection, trained.workflow.model
    assert selection is not None
    assert model is not None
    assert selection.guarantee.rho is not None
    assert model.guarantee.rho is not None
    assert paid.total.rho == selection.guarantee.rho + model.guarantee.rho
    assert paid.total.epsilon == 0
    trained.save(tmp_path / "model.json")
    assert Workflow.read(tmp_path / "model.json").model == model
    with pytest.raises(ParameterError, match="logistic-regression takes no `mechanism`"):
        confide.train(file, **FEATURES, model="logistic-regression", **noise)
