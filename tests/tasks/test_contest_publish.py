"""A final is computed from the labels of its own rows, charged once, and refused for anybody else's finalists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import Ledger
from confide.contest.bundles import Finalist, Finalists, choose
from confide.contest.final_result import FinalResult
from confide.contest.labels import labels_from_dict
from confide.contest.terms import FinalMechanism
from confide.errors import BudgetError, ConfideError, DataError, ParameterError, UnreadableError, UsageError
from confide.metrics.ranking import auc_score
from confide.tasks.contest import PublishedFinal, publish_final, quote_final
from tests.noises import FORBIDDEN, SILENT, seeded
from tests.tasks.contest_files import IDS, LABELS, Holder, scores_for, write_labels


def publish(holder: Holder, finalists: Path, **options: Any) -> PublishedFinal:
    with holder.ledger() as ledger:
        place = holder.folder / "heart" / "holder"
        return publish_final(place, options.pop("labels_file", holder.file), finalists, ledger=ledger, **options)


@pytest.fixture
def holder(tmp_path: Path) -> Holder:
    made = Holder(tmp_path / "holder", noise=seeded(0))
    made.make(final_delta="1e-6")
    return made


def true_labels(holder: Holder) -> NDArray[np.bool_]:
    """Return the labels of the final's rows, in the order of their ids."""
    bundle, truth = holder.bundle(), dict(zip(IDS, LABELS, strict=True))
    return np.array([truth[bundle.template.ids[row]] for row in bundle.final_rows])


def test_without_noise_a_shaped_final_is_exact_on_the_rows_that_the_board_did_not_use(tmp_path: Path) -> None:
    silent = Holder(tmp_path / "silent", noise=SILENT)
    silent.make(final_delta="1e-6")
    finalists = silent.finalists()
    result = publish(silent, finalists).result
    assert result.mechanism == FinalMechanism.SHAPED
    entries = Finalists.from_bytes(finalists.read_bytes()).by_name()
    rows, labels = silent.bundle().final_rows, true_labels(silent)
    expected = {name: float(auc_score(labels, entry.scores[rows])) for name, entry in entries.items()}
    assert {entry.name: entry.value for entry in result.entries} == pytest.approx(expected, abs=0.002)


def test_a_masked_final_masks_the_labels_of_the_rows_that_the_board_did_not_use(tmp_path: Path) -> None:
    silent = Holder(tmp_path / "silent", noise=SILENT)
    silent.make()
    result = publish(silent, silent.finalists()).result
    assert result.mechanism == FinalMechanism.MASKED
    assert (labels_from_dict(result.noise).bits == true_labels(silent)).all()


def test_board_and_final_together_cost_the_larger_of_both(holder: Holder) -> None:
    before = holder.spent()
    done = publish(holder, holder.finalists())
    assert before == (2.0, 0.0)
    assert holder.spent() == (2.0, 1e-6)
    assert float(done.result.guarantee.epsilon) == 1.0
    assert float(done.receipt.full_price.epsilon) == 1.0


def test_the_same_finalists_get_the_same_result_for_nothing(holder: Holder) -> None:
    finalists = holder.finalists()
    first = publish(holder, finalists)
    assert first.file == holder.folder / "heart" / "final.json"
    written = first.file.read_text()
    first.file.unlink()
    again = publish(holder, finalists)
    assert again.receipt.reused
    assert again.file.read_text() == written
    assert FinalResult.from_dict(json.loads(written)).to_dict() == first.result.to_dict()
    assert holder.spent() == (2.0, 1e-6)


def test_other_finalists_are_charged_again_until_nothing_is_left(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    with holder.ledger() as ledger:
        ledger.change_caps("trial", epsilon=2, delta="2e-6")
    holder.make(final_delta="1e-6")
    for entries in (2, 3):
        assert not publish(holder, holder.finalists(entries=entries)).receipt.reused
    with pytest.raises(BudgetError):
        publish(holder, holder.finalists(entries=4))


def test_a_masked_final_answers_for_other_finalists_too(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    holder.make()
    publish(holder, holder.finalists(entries=2))
    again = publish(holder, holder.finalists(entries=4))
    assert again.receipt.reused
    assert len(again.result.entries) == 4
    assert holder.spent() == (2.0, 0.0)


def test_a_quote_charges_and_writes_nothing(holder: Holder) -> None:
    holder.noise = FORBIDDEN
    with holder.ledger() as ledger:
        quote = quote_final(holder.folder / "heart" / "holder", holder.file, holder.finalists(), ledger=ledger)
    assert quote.quote.fits
    assert quote.finalists == ("team 0", "team 1", "team 2")
    assert holder.spent() == (2.0, 0.0)
    assert not (holder.folder / "heart" / "final.json").exists()


def changed(finalists: Path, **fields: Any) -> Path:
    """Write finalists with other facts."""
    known = Finalists.from_bytes(finalists.read_bytes())
    given = {"entries": known.entries, "contest": known.contest, "template": known.template, **fields}
    finalists.write_bytes(choose(given.pop("entries"), **given).to_bytes())
    return finalists


def three_of_one(rows: int) -> tuple[Finalist, ...]:
    return tuple(Finalist(participant="ana", submission=f"s{one}", scores=np.zeros(rows)) for one in range(3))


WRONG_FINALISTS: dict[str, tuple[dict[str, Any], str]] = {
    "of another contest": ({"contest": "lung"}, "another contest or template"),
    "of another template": ({"template": "0" * 64}, "another contest or template"),
    "too many of one participant": ({"entries": three_of_one(120)}, "more than the 2 finalists"),
    "of other rows": ({"entries": three_of_one(7)[:1]}, "every row of the template"),
}


@pytest.mark.parametrize(("fields", "words"), WRONG_FINALISTS.values(), ids=WRONG_FINALISTS.keys())
def test_wrong_finalists_are_refused(holder: Holder, fields: dict[str, Any], words: str) -> None:
    holder.noise = FORBIDDEN
    with pytest.raises(DataError, match=words):
        publish(holder, changed(holder.finalists(), **fields))
    assert holder.spent() == (2.0, 0.0)


def test_other_labels_ledgers_and_folders_are_refused(holder: Holder, tmp_path: Path) -> None:
    finalists = holder.finalists()
    holder.noise = FORBIDDEN
    other = write_labels(tmp_path / "other.csv", ~LABELS)

    def refused(error: type[ConfideError], words: str, **options: Any) -> None:
        with pytest.raises(error, match=words):
            publish(holder, options.pop("finalists", finalists), **options)

    refused(DataError, "not the file that the contest was made from", labels_file=other)
    refused(UsageError, "does not exist", labels_file=tmp_path / "none.csv")
    refused(UsageError, r"give finalists\.zip", finalists=tmp_path / "none.zip")
    refused(UnreadableError, r"finalists\.zip", finalists=holder.file)
    refused(UsageError, r"must end in \.json", out=tmp_path / "final.txt")
    (tmp_path / "notes.json").write_text('{"mine": 1}')
    refused(UsageError, "is not the result of a final", out=tmp_path / "notes.json")
    with pytest.raises(UsageError, match="folder `holder`"):
        publish_final(tmp_path, holder.file, finalists)
    stranger = Holder(tmp_path / "stranger", noise=FORBIDDEN)
    with stranger.ledger() as ledger, pytest.raises(DataError, match="the ledger that the contest was made with"):
        publish_final(holder.folder / "heart" / "holder", holder.file, finalists, ledger=ledger)
    assert holder.spent() == (2.0, 0.0)


def test_a_damaged_record_is_refused(holder: Holder) -> None:
    record = holder.folder / "heart" / "holder" / "contest.json"
    plain = json.loads(record.read_text())
    for text in ("", "[]", "{}", json.dumps({**plain, "terms": {}}), json.dumps({**plain, "more": 1})):
        record.write_text(text)
        with pytest.raises((UnreadableError, ParameterError)):
            publish(holder, holder.finalists())
    record.write_text(json.dumps({**plain, "split": "0" * 64}))
    with pytest.raises(DataError, match="the ledger is not the one"):
        publish(holder, holder.finalists())


def test_a_contest_without_a_final_has_none(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    holder.make(final_epsilon=None)
    with pytest.raises(ParameterError, match="has no final"):
        publish(holder, holder.finalists())


def test_better_scores_are_ranked_first(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=SILENT)
    holder.make(final_delta="1e-6")
    bundle, truth = holder.bundle(), dict(zip(IDS, LABELS, strict=True))
    labels = np.array([truth[one] for one in bundle.template.ids])
    entries = [
        Finalist(participant=name, submission=name, scores=scores_for(labels, quality))
        for name, quality in (("weak", 0.1), ("strong", 6.0))
    ]
    path = holder.folder / "finalists.zip"
    path.write_bytes(choose(entries, contest="heart", template=bundle.template.digest).to_bytes())
    assert [entry.name for entry in publish(holder, path).result.entries] == ["strong", "weak"]


def test_the_ledger_of_the_contest_is_asked_for_and_no_account_is_suggested(holder: Holder, tmp_path: Path) -> None:
    finalists, place = holder.finalists(), holder.folder / "heart" / "holder"
    with pytest.raises(ParameterError, match="give the ledger of the contest") as refused:
        publish_final(place, holder.file, finalists, ledger=tmp_path / "none.sqlite")
    assert "open" not in str(refused.value).replace(str(tmp_path), "").replace("opened", "")
    assert not (tmp_path / "none.sqlite").exists()
    with Ledger(tmp_path / "other.sqlite", padding=0) as other:
        data = [holder.file.read_bytes()]
        other.open_account("trial", epsilon=3, neighbours="label-only", label="age", data=data)
        with pytest.raises(ParameterError, match="hides other labels than those of contest 'heart'") as refused:
            publish_final(place, holder.file, finalists, ledger=other)
    assert "`positive`" not in str(refused.value)
    assert "`ledger`" in str(refused.value)


def test_a_final_that_cannot_be_paid_names_the_command(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "one", noise=seeded(0))
    with holder.ledger() as ledger:
        ledger.change_caps("trial", epsilon=2, delta="1e-6")
    holder.make(final_delta="1e-6")
    publish(holder, holder.finalists(entries=2))
    with pytest.raises(BudgetError, match="ledger new trial --delta 2e-06 --change --ledger") as refused:
        publish(holder, holder.finalists(entries=3))
    assert refused.value.parameter == "delta"
