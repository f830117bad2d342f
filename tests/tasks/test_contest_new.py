"""A contest is charged once, is the same when it is made again, and is refused before anything is charged."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.contest.template import Template
from confide.errors import BudgetError, ColumnError, ConfideError, DataError, LabelError, ParameterError, UsageError
from confide.tasks.contest import prepare_contest, quote_contest
from confide.tasks.requests.contest import ContestRequest
from tests.cli.commands import confide
from tests.noises import FORBIDDEN, SILENT, seeded
from tests.tasks.contest_files import IDS, LABELS, NEGATIVE, POSITIVE, ROWS, Holder, write_labels


@pytest.fixture
def holder(tmp_path: Path) -> Holder:
    return Holder(tmp_path / "holder", noise=seeded(0))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_board_has_the_labels_of_its_own_rows_in_the_order_of_ids(tmp_path: Path) -> None:
    silent = Holder(tmp_path / "silent", noise=SILENT)
    silent.make()
    bundle = silent.bundle()
    truth = dict(zip(IDS, LABELS, strict=True))
    assert bundle.template.ids == tuple(sorted(IDS))
    assert bundle.masked is not None
    asked = [bundle.template.ids[row] for row in bundle.public]
    assert bundle.masked.bits.tolist() == [truth[one] for one in asked]
    assert 0.3 * ROWS < bundle.public.size < 0.7 * ROWS


def test_the_files_say_what_the_terms_are(holder: Holder) -> None:
    made = holder.make(title="Heart failure", metric="brier", daily_limit=3)
    bundle = holder.bundle()
    assert bundle.terms == made.terms
    assert (made.terms.rows, made.terms.epsilon, made.terms.title) == (ROWS, Fraction(2), "Heart failure")
    template = Template.from_json((holder.folder / "heart" / "template.json").read_bytes())
    assert template == bundle.template
    assert template.probabilities
    record = holder.folder / "heart" / "holder" / "contest.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700
    assert json.loads(record.read_text())["account"] == "trial"
    assert holder.spent() == (2.0, 0.0)


def test_made_again_it_is_the_same_and_free(holder: Holder) -> None:
    first = holder.make()
    before = files(holder.folder / "heart")
    assert first.receipt is not None
    assert not first.receipt.reused
    again = holder.make()
    shutil.rmtree(holder.folder / "heart")
    third = holder.make()
    for one in (again, third):
        assert one.receipt is not None
        assert one.receipt.reused
    assert files(holder.folder / "heart") == before
    assert holder.spent() == (2.0, 0.0)


def test_another_name_metric_or_limit_needs_no_other_mask(holder: Holder) -> None:
    """What is computed from the masked labels is free."""
    holder.make()
    other = holder.make("heart-2", metric="accuracy", total_limit=7, title="Again")
    assert other.receipt is not None
    assert other.receipt.reused
    one, two = holder.bundle().masked, holder.bundle("heart-2").masked
    assert one is not None
    assert two is not None
    assert (one.bits == two.bits).all()


def test_what_is_in_an_unfinished_folder_is_completed(holder: Holder) -> None:
    holder.make()
    before = files(holder.folder / "heart")
    (holder.folder / "heart" / "server.zip").unlink()
    (holder.folder / "heart" / "template.json").write_text("{")
    holder.make()
    assert files(holder.folder / "heart") == before


@pytest.mark.parametrize("change", [{"public": "1/3"}, {"epsilon": "1/2"}])
def test_another_share_or_epsilon_is_charged_anew(holder: Holder, change: dict[str, Any]) -> None:
    holder.make(epsilon=1)
    charged = holder.make("other", **{"epsilon": 1, **change}).receipt
    assert charged is not None
    assert not charged.reused
    assert holder.spent()[0] > 1.0


def test_another_account_is_charged_anew(holder: Holder) -> None:
    holder.make()
    holder.open_account("second", also_charge=True)
    receipt = holder.make("other", account="second").receipt
    assert receipt is not None
    assert not receipt.reused
    assert holder.spent("second") == (2.0, 0.0)


def test_another_ledger_divides_the_rows_otherwise(tmp_path: Path) -> None:
    one, other = Holder(tmp_path / "one"), Holder(tmp_path / "other")
    one.make()
    other.make()
    assert one.bundle().template == other.bundle().template
    assert one.bundle().public.tolist() != other.bundle().public.tolist()


def test_one_changed_label_divides_the_rows_alike(holder: Holder) -> None:
    """The key depends on ids alone, so that a label cannot change the part of a row."""
    holder.make()
    before = holder.bundle()
    labels = LABELS.copy()
    labels[3] = not labels[3]
    holder.file = write_labels(holder.folder / "corrected.csv", labels)
    holder.open_account("corrected")
    holder.make("corrected", account="corrected")
    after = holder.bundle("corrected")
    assert (after.public == before.public).all()
    assert after.template.ids == before.template.ids


def test_the_order_of_the_file_does_not_show(tmp_path: Path) -> None:
    """Positives first would tell who they are, if the template had the file's order."""
    silent = Holder(tmp_path / "one", noise=SILENT)
    order = np.argsort(~LABELS, kind="stable")
    silent.file = write_labels(silent.folder / "sorted.csv", LABELS[order], [IDS[row] for row in order])
    silent.open_account("sorted")
    silent.make("sorted", account="sorted")
    silent.file = silent.folder / "labels.csv"
    silent.make()
    one, two = silent.bundle(), silent.bundle("sorted")
    assert one.template.ids == two.template.ids
    assert one.masked is not None
    assert two.masked is not None
    assert (one.masked.bits == two.masked.bits).all()


def test_without_a_final_all_rows_are_public(holder: Holder) -> None:
    terms = holder.make(final_epsilon=None).terms
    assert (terms.public_rows, terms.public_share) == (ROWS, Fraction(1))
    assert terms.final_certainty is None


def test_the_final_is_not_charged_but_must_be_payable(tmp_path: Path) -> None:
    poor = Holder(tmp_path / "poor", noise=FORBIDDEN)
    with poor.ledger() as ledger:
        ledger.change_caps("trial", epsilon=2)
    with pytest.raises(BudgetError, match="but not for the final"):
        poor.make(final_epsilon=Fraction(5, 2))
    with pytest.raises(BudgetError, match="delta"):
        poor.make(final_delta="1e-4")
    with pytest.raises(BudgetError):
        poor.make(epsilon=4)
    assert poor.spent() == (0.0, 0.0)
    assert not (poor.folder / "heart").exists()
    poor.noise = seeded(0)
    poor.make(final_epsilon=2, final_delta="1e-6")
    assert poor.spent() == (2.0, 0.0)


def test_a_quote_charges_and_writes_nothing(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=FORBIDDEN)
    with holder.ledger() as ledger:
        quote = quote_contest("heart", holder.file, **{**holder.options(), "ledger": ledger, "final_delta": "1e-6"})
    assert quote.refusal is None
    assert quote.board is not None
    assert quote.final is not None
    assert float(quote.board.price.epsilon) == float(quote.final.price.epsilon) == 2.0
    assert float(quote.final.price.delta) == 1e-6
    assert not (holder.folder / "heart").exists()
    assert holder.spent() == (0.0, 0.0)


WRONG: dict[str, tuple[dict[str, Any], type[ConfideError], str]] = {
    "name": ({"name": "Heart!"}, ParameterError, "small letters"),
    "path for a name": ({"name": "../heart"}, ParameterError, "small letters"),
    "epsilon": ({"epsilon": 0}, ParameterError, "greater than 0"),
    "final epsilon": ({"final_epsilon": -1}, ParameterError, "greater than 0"),
    "final delta": ({"final_delta": 2}, ParameterError, "delta must lie"),
    "delta without a final": ({"final_epsilon": None, "final_delta": "1e-6"}, ParameterError, "final_epsilon"),
    "delta for average precision": (
        {"metric": "average_precision", "final_delta": "1e-6"},
        ParameterError,
        "leave it out",
    ),
    "share": ({"public": 0}, ParameterError, "above 0"),
    "share of all with a final": ({"public": 1}, ParameterError, "together, or neither"),
    "share without a final": ({"public": "1/2", "final_epsilon": None}, ParameterError, "together, or neither"),
    "too few public rows": ({"public": "1/1000000"}, ParameterError, "at least two rows"),
    "metric": ({"metric": "aucc"}, ParameterError, "Did you mean 'auc'"),
    "threshold": ({"threshold": 0.5}, ParameterError, "no threshold"),
    "limit": ({"daily_limit": 0}, ParameterError, "daily_limit"),
    "log loss by answers": ({"metric": "log_loss", "per_answer": True}, ParameterError, "answer by answer"),
    "no such id column": ({"id": "patient"}, ColumnError, "no column 'patient'"),
    "no such label column": ({"label": "dead"}, ParameterError, "hides"),
    "label as id": ({"id": "died"}, ParameterError, "is the label"),
    "ids that repeat": ({"id": "sex"}, DataError, "more than once"),
    "ids that are missing": ({"id": "room"}, DataError, "ids are missing"),
    "positive label not named": ({"positive": None}, ParameterError, "opened with the positive label"),
    "account": ({"account": "tria"}, ParameterError, "there is no account 'tria'"),
    "file": ({"labels_file": "none.csv"}, UsageError, "does not exist"),
    "folder": ({"out": "labels.csv"}, UsageError, "cannot be made"),
}


@pytest.mark.parametrize(("change", "error", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_refused_before_anything_is_charged(
    tmp_path: Path, change: dict[str, Any], error: type[ConfideError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = Holder(tmp_path / "one", noise=FORBIDDEN)
    lines = holder.file.read_text().splitlines()
    more = ["sex,room", *(f"{'f' if row % 2 else 'm'},{'' if row == 7 else row}" for row in range(ROWS))]
    holder.file.write_text("\n".join(f"{one},{two}" for one, two in zip(lines, more, strict=True)) + "\n")
    holder.open_account("wide")
    monkeypatch.chdir(holder.folder)
    usual = {"name": "heart", "labels_file": holder.file, **holder.options(), "account": "wide"}
    with holder.ledger() as ledger, pytest.raises(error, match=words) as refused:
        prepare_contest(ContestRequest(**{**usual, "ledger": ledger, **change})).make()
    assert NEGATIVE not in str(refused.value)
    assert holder.spent("wide") == (0.0, 0.0)
    assert not (holder.folder / "heart").exists()


@pytest.mark.parametrize("label", ["", "NA", "2"])
def test_labels_that_are_missing_or_odd_are_refused_without_showing_them(tmp_path: Path, label: str) -> None:
    holder = Holder(tmp_path / "one", noise=FORBIDDEN)
    lines = [f"{one},{int(positive)}" for one, positive in zip(IDS, LABELS, strict=True)]
    lines[7] = f"{IDS[7]},{label}"
    holder.file.write_text("\n".join(["id,died", *lines]) + "\n")
    with holder.ledger() as ledger:
        ledger.open_account("odd", epsilon=3, neighbours="label-only", label="died", data=[holder.file.read_bytes()])
    with pytest.raises(LabelError) as refused:
        holder.make(account="odd", positive=None)
    assert IDS[7] not in str(refused.value)
    assert holder.spent("odd") == (0.0, 0.0)


def test_folders_of_others_are_left_alone(holder: Holder) -> None:
    (holder.folder / "heart").mkdir()
    (holder.folder / "heart" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        holder.make()
    (holder.folder / "heart" / "notes.txt").unlink()
    holder.make()
    with pytest.raises(ParameterError, match="other terms, labels or account"):
        holder.make(final_epsilon="1/2")
    (holder.folder / "other").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        holder.make("other")
    assert holder.spent() == (2.0, 0.0)


def test_the_command_that_opens_the_account_works_as_it_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CONFIDE_LEDGER", raising=False)
    write_labels(tmp_path / "my labels.csv")
    options = ("-l", "died", "--positive", POSITIVE, "-e", "2", "--final-epsilon", "1/3", "--final-delta", "1e-6")
    for number, account in enumerate((("--account", "trial"), ())):
        make = ("contest", "new", "heart", "my labels.csv", *options, "--ledger", f"led ger {number}.sqlite")
        refused = confide(*make, *account)
        assert refused.code == 2, refused.err
        _, _, command = refused.err.partition("Open it: ")
        program, *arguments = shlex.split(command)
        assert program == "confide"
        assert arguments[arguments.index("--neighbours") :][:2] == ["--neighbours", "label-only"]
        opened = confide(*arguments)
        assert opened.code == 0, opened.err
        made = confide(*make, *account)
        assert made.code == 0, made.err
        shutil.rmtree(tmp_path / "heart")


def test_an_account_with_other_neighbours_is_refused_with_the_way_out(holder: Holder) -> None:
    holder.open_account("rows", neighbours="replace-one")
    with pytest.raises(ParameterError, match=r"confide ledger new heart .*--neighbours label-only"):
        holder.make(account="rows")


def test_another_id_column_with_the_same_ids_is_another_partition(tmp_path: Path) -> None:
    """A row lies in other parts then, so what both cost adds up: a board by one and a final by the other overlap."""
    holder = Holder(tmp_path, noise=SILENT)
    lines = holder.file.read_text(encoding="utf-8").splitlines()
    beds = [line.split(",")[0] for line in lines[1:]][::-1]
    holder.file.write_text(
        "\n".join([lines[0] + ",bed", *(f"{line},{bed}" for line, bed in zip(lines[1:], beds, strict=True))]) + "\n",
        encoding="utf-8",
    )
    holder.open_account("beds", epsilon=5, also_charge=True)
    holder.make("first", account="beds", id="id", epsilon=2, final_epsilon=1)
    holder.make("second", account="beds", id="bed", epsilon=1, final_epsilon=1)
    splits = {
        json.loads((holder.folder / name / "holder" / "contest.json").read_text())["split"]
        for name in ("first", "second")
    }
    assert len(splits) == 2
    assert holder.spent("beds")[0] == 3


def suggested(message: str, before: str) -> list[str]:
    """Return the arguments of the command that a message ends with."""
    program, *arguments = shlex.split(message.rpartition(before)[2])
    assert program == "confide"
    return arguments


def test_labels_in_words_are_refused_before_an_account_is_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_labels(tmp_path / "labels.csv")
    make = ("contest", "new", "mort", "labels.csv", "-l", "died", "-e", "2", "--ledger", "l.sqlite")
    refused = confide(*make)
    assert refused.code == 1, refused.err
    assert "--positive" in refused.err
    assert "confide ledger new" not in refused.err
    named = confide(*make, "--positive", POSITIVE)
    assert named.code == 2
    command = suggested(named.err, "Open it: ")
    assert command[command.index("--positive") + 1] == POSITIVE
    assert command[command.index("--ledger") + 1].endswith("l.sqlite")


def test_the_way_out_of_an_account_without_the_positive_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_labels(tmp_path / "labels.csv")
    account = ("--epsilon", "2", "--neighbours", "label-only", "--label", "died", "--data", "labels.csv")
    assert confide("ledger", "new", "mort", *account, "--ledger", "l.sqlite").code == 0
    make = ("contest", "new", "mort", "labels.csv", "-l", "died", "-e", "2")
    unnamed = confide(*make, "--ledger", "l.sqlite")
    assert unnamed.code == 1
    assert "Account 'mort' was opened without --positive" in unnamed.err
    assert suggested(unnamed.err, "new ledger: ")[-3:] == ["labels.csv", "--ledger", "NEW.sqlite"]
    refused = confide(*make, "--ledger", "l.sqlite", "--positive", POSITIVE)
    assert refused.code == 2
    assert "account 'mort' was opened without --positive" in refused.err
    opened = confide(*suggested(refused.err, "name it: "))
    assert opened.code == 0, opened.err
    made = confide(*make, "--ledger", "NEW.sqlite", "--positive", POSITIVE)
    assert made.code == 0, made.err


def test_missing_labels_are_not_blamed_on_the_account(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=FORBIDDEN)
    lines = [f"{one},{int(positive)}" for one, positive in zip(IDS, LABELS, strict=True)]
    holder.file.write_text("\n".join(["id,died", *lines[:-1], f"{IDS[-1]},"]) + "\n")
    with holder.ledger() as ledger:
        ledger.open_account("odd", epsilon=3, neighbours="label-only", label="died", data=[holder.file.read_bytes()])
    with pytest.raises(LabelError, match="labels are missing") as refused:
        holder.make(account="odd", positive=None)
    assert "opened without" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "caps", "lacks"),
    [
        ({"final_delta": "1e-4"}, ["--delta", "0.0001"], "delta"),
        ({"final_epsilon": 4}, ["--epsilon", "4"], "epsilon"),
        ({"epsilon": "7/2", "final_delta": "1e-4"}, ["--epsilon", "3.5", "--delta", "0.0001"], "epsilon"),
    ],
)
def test_what_lacks_is_named_with_the_command_that_raises_it(
    tmp_path: Path, change: dict[str, Any], caps: list[str], lacks: str
) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    with pytest.raises(BudgetError) as refused:
        holder.make(**change)
    assert refused.value.parameter == lacks
    assert "Choose a smaller" not in str(refused.value)
    command = suggested(str(refused.value), "raises the cap: ")
    assert command == ["ledger", "new", "trial", *caps, "--change", "--ledger", str(holder.book)]
    assert holder.spent() == (0.0, 0.0)
    assert confide(*command).code == 0
    holder.make(**change)


@pytest.mark.parametrize(("delta", "noted"), [("1e-5", False), ("1e-3", False), ("1/400", True)])
def test_a_large_delta_is_noted_and_not_refused(tmp_path: Path, delta: str, noted: bool) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    with holder.ledger() as ledger:
        ledger.change_caps("trial", delta="1/100")
        quote = quote_contest("heart", holder.file, **{**holder.options(), "ledger": ledger, "final_delta": delta})
    made = holder.make(final_delta=delta)
    assert quote.notes == made.notes
    assert any("delta of the final" in note for note in made.notes) is noted


@pytest.mark.parametrize(
    ("given", "meant"), [("ap", "average_precision"), ("logloss", "log_loss"), ("ROC-AUC", "auc"), ("tpr", "recall")]
)
def test_usual_names_of_metrics_are_understood(holder: Holder, given: str, meant: str) -> None:
    assert holder.make(metric=given).terms.metric.name == meant


def test_a_name_of_another_metric_leads_to_the_one_that_is_meant(holder: Holder) -> None:
    with pytest.raises(ParameterError, match=r"'aucpr'\. Did you mean 'average_precision'"):
        holder.make(metric="aucpr")


def test_hyphens_count_as_underscores(holder: Holder) -> None:
    assert holder.make(metric="balanced-accuracy").terms.metric.name == "balanced_accuracy"
