"""Whitehill's study: counts against all labelings of few rows, the refuted conjecture, and a small run."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import cast

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from studies.claims import Mean
from studies.page import study_page
from studies.running import run_pieces
from studies.whitehill.claims import claims
from studies.whitehill.contests import boards, flip_probability, hidden_labels, masked, one_by_one, shown
from studies.whitehill.counting import conjecture, conjecture_limit, every_swap, log10
from studies.whitehill.plan import Settings
from studies.whitehill.published import TABLE_1
from studies.whitehill.report import whitehill_report
from studies.whitehill.running import masked_name, pieces
from studies.whitehill.study import Study
from studies.whitehill.tables import above_bounds

from confide.privacy.adversary import success_bound
from tests.studies.commands import studies


def labelings(rows: int, auc: float) -> int:
    """Count by trying all labels, with scikit-learn's AUC."""
    every = (labels for labels in product((0, 1), repeat=rows) if 0 < sum(labels) < rows)
    return sum(abs(roc_auc_score(labels, range(rows)) - auc) < 1e-9 for labels in every)


@pytest.mark.long
def test_the_conjecture_is_refuted_by_trying_all_labels() -> None:
    assert conjecture_limit(4) == 6
    assert (labelings(4, 0.75), labelings(5, 0.75)) == (1, 2)
    found = conjecture(16)
    assert found["inside"][0].tolist() == [3, 4, 4, 1, 5, 2]
    for p, q, n, w, m, v in found["inside"].tolist():
        assert n < m < conjecture_limit(q)
        if m <= 10:
            assert (labelings(n, p / q), labelings(m, p / q)) == (w, v)
    assert len(found["at_limit"]) > 10


def test_a_share_above_its_bound_says_how_far() -> None:
    """The bound limits the mean, not the mean over forty contests."""

    class Measured:
        def right(self, name: str) -> Mean:
            bound = success_bound(1.0) if name == masked_name(1.0) else 0.0
            return Mean(value=bound + 0.006 if bound else 0.5, standard_error=0.01)

    words = above_bounds(cast("Study", Measured()))
    assert words == f" {masked_name(1.0)}: the bound is for the mean; this is within one standard error."


def test_swaps_and_counts_of_all_labels() -> None:
    found = every_swap(7)
    assert (found["wrong"][0], found["miscounted"][0]) == (0, 0)
    assert found["swaps"][0] == 6 * 2**5


def test_logarithms_of_large_numbers() -> None:
    assert log10(comb(1000, 500)) == pytest.approx(299.43, abs=0.01)
    assert log10(468_686) == pytest.approx(np.log10(468_686))


def test_attacks_on_a_contest() -> None:
    hidden = hidden_labels(0, 0)
    assert (hidden.size, hidden.sum()) == (172, 72)
    assert [one_by_one(0, 0)[name][0] for name in ("right", "queries")] == [1.0, 344]
    for how in ("exact", "digits=5"):
        found = shown(how, 1, 0)
        assert found["right"][0] == 1.0
        assert found["queries"][0] < 40
    shares = [float(masked(1.0, contest, 0)["right"][0]) for contest in range(20)]
    assert np.mean(shares) == pytest.approx(success_bound(1.0), abs=0.035)  # four standard errors
    assert flip_probability(1.0) == pytest.approx(1 - success_bound(1.0))


def test_boards_are_better_with_exact_labels() -> None:
    tau = boards(1_000, 100, 3, 0)["tau"].mean(axis=0)
    assert tau[0] > tau[1]
    assert 0.5 < tau[3] <= 1.0


@pytest.fixture(scope="module")
def study() -> Study:
    settings = Settings(truths=2, denominator=12, contests=2, boards=2, board_rows=(172,), answers=60, quick=True)
    return Study(settings=settings, found=run_pieces(pieces(settings), jobs=1))


@pytest.mark.long
def test_the_papers_tables_come_out(study: Study) -> None:
    report = whitehill_report(study)
    differing = {beside.name for beside in report.comparisons if not beside.agrees}
    assert differing == {"most submissions, 106 rows", "possibilities for 0.90278, rounded"}
    answers = {claim.sentence: str(claim.verdict.answer) for claim in report.claims}
    failing = [sentence for sentence, answer in answers.items() if answer == "does not hold"]
    assert len(failing) == 3
    assert sum(sentence.startswith("Conjecture") for sentence in failing) == 2
    assert len(study.found["counts"]["example"]) == len(TABLE_1)
    assert study.found["counts"]["at_limit"][0] == 759_219_864


@pytest.mark.long
def test_noise_thwarts_an_attack_that_is_to_give_all_labels_but_not_most_of_them(study: Study) -> None:
    contests = {name: {"right": np.array(right)} for name, right in _RIGHT.items()}
    attacked = Study(settings=study.settings, found={**study.found, **contests})
    all_labels, most = (claim for claim in claims(attacked) if "thwart" in claim.sentence)
    assert "in more than half of the contests" in all_labels.sentence
    assert {name[-1]: (mean.value, mean.sign(2.0)) for name, mean in all_labels.differences.items()} == {
        "1": (0.5, 1),  # never all labels
        "2": (0.25, 0),  # once in four, which may be chance
        "4": (-0.5, -1),
    }
    assert "100 of 172" in most.sentence
    assert [mean.sign(2.0) for mean in most.differences.values()] == [1, 0, -1]
    assert most.differences[next(iter(most.differences))].value == pytest.approx(100 / 172 - 0.5)


_RIGHT = {
    "masked, epsilon 1": (0.45, 0.55, 0.5, 0.5),
    "masked, epsilon 2": (0.2, 0.4, 0.9, 1.0),
    "masked, epsilon 4": (1.0, 1.0, 1.0, 1.0),
}


@pytest.mark.long
def test_the_page_has_its_pictures(study: Study) -> None:
    page = study_page(whitehill_report(study))
    assert page.count("<svg ") == 4
    assert "<script" not in page


def test_the_command_explains_itself() -> None:
    assert "python -m studies whitehill --quick" in studies("whitehill", "--help").out
