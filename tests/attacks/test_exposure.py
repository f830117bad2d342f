"""What publications give away: to an outsider as brute force finds it, to an insider within the bound of epsilon."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from confide import ScoreCounts, attack
from confide.attacks.disclosure import Publication
from confide.attacks.exposure import USUAL, AttackReport
from confide.errors import ConfideError
from confide.privacy.adversary import success_bound
from tests.attacks.brute import auc_by_pairs

LABELS = [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1]
SCORES = [0.1, 0.2, 0.2, 0.3, 0.35, 0.4, 0.6, 0.6, 0.7, 0.8, 0.9]
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)


def simulated(rows: int, seed: int = 0) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 3 == 0
    return ScoreCounts.from_arrays(labels, 1.2 * labels + rng.normal(size=rows))


def fitting(shown: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Every labeling with as many positives that shows the same as the true one."""
    assert callable(shown)
    true = shown(LABELS)
    found = [y for y in product((0, 1), repeat=len(LABELS)) if sum(y) == sum(LABELS) and shown(y) == true]
    return np.array(found, dtype=np.float64)


def auc_to(digits: int) -> object:
    return lambda labels: round(auc_by_pairs(labels, SCORES), digits)


def accuracy(labels: tuple[int, ...]) -> int:
    return sum((score >= 0.5) == bool(label) for score, label in zip(SCORES, labels, strict=True))


def curve(labels: tuple[int, ...]) -> tuple[tuple[float, int, int], ...]:
    numbers = Counter(zip(SCORES, labels, strict=True))
    return tuple((score, numbers[score, 0], numbers[score, 1]) for score in sorted(set(SCORES)))


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("auc:exact", lambda labels: auc_by_pairs(labels, SCORES)),
        ("auc:digits=3", auc_to(3)),
        ("accuracy:exact", accuracy),
        ("roc:exact", curve),
    ],
)
def test_an_outsider_against_trying_all(spec: str, shown: object) -> None:
    expected = fitting(shown)
    means = expected.mean(axis=0)
    found = attack(COUNTS, [spec], level=0.6).exposures[0].outsider
    assert found is not None
    np.testing.assert_allclose(found.probability, means, atol=1e-12)
    assert found.labelings == len(expected)
    assert found.certain == np.sum((means == 0.0) | (means == 1.0))
    certain = (means == 0.0) | (means == 1.0)
    known = (np.maximum(means, 1.0 - means) > 0.6) & ~certain
    assert found.known == np.sum(known)
    assert found.known_right == np.sum((means >= 0.5)[known] == np.array(LABELS)[known])
    assert found.right == np.sum((means >= 0.5) == np.array(LABELS))


def test_published_class_sizes_tell_an_insider_everything() -> None:
    found = attack(COUNTS, ["auc:digits=1", "auc:epsilon=1"], class_sizes=True, trials=3)
    assert [exposure.insider.told for exposure in found.exposures] == [11, 11]
    assert "They alone reveal the last label to an insider" in str(found)
    assert "AUC, released with epsilon 1 beside exact class sizes reveals labels" in str(found)


@pytest.mark.parametrize("rows", [12, 30])
def test_published_class_sizes_tell_labels_of_added_rows(rows: int) -> None:
    """Two AUCs with the number of positives before leave fewer rows that may have been added than without."""
    certain: dict[bool, list[int]] = {}
    for sizes in (True, False):
        found = attack(simulated(rows), ["auc:exact", "auc:digits=3"], class_sizes=sizes)
        added = [exposure.added for exposure in found.exposures if exposure.added is not None]
        assert [each.tried for each in added] == [rows, rows]
        certain[sizes] = [each.certain for each in added]
    assert all(known >= unknown for known, unknown in zip(certain[True], certain[False], strict=True))
    assert sum(certain[True]) > sum(certain[False])


def test_what_is_told_on_average_over_rounding() -> None:
    """Shift the boundaries of rounding evenly, and count for each shift the rows whose other label shows."""
    counts = simulated(60)
    labels = np.concatenate(
        [np.repeat([1, 0], [ours, theirs]) for ours, theirs in zip(counts.positives, counts.negatives, strict=True)]
    )
    scores = np.repeat(counts.scores, counts.positives + counts.negatives)
    exact = float(auc_by_pairs(labels.tolist(), scores.tolist()))
    flipped = []
    for i in range(labels.size):
        other = labels.copy()
        other[i] = 1 - other[i]
        flipped.append(float(auc_by_pairs(other.tolist(), scores.tolist())))
    shifts = (np.arange(2_000) + 0.5) / 2_000
    apart = [np.mean(np.floor(100 * exact + shifts) != np.floor(100 * value + shifts)) for value in flipped]
    found = attack(counts, ["auc:digits=2"]).exposures[0].insider
    assert found.average == pytest.approx(np.mean(apart), abs=1e-3)


@pytest.mark.parametrize(
    "spec", ["auc:exact", "auc:digits=2", "accuracy:digits=1", "brier:digits=3", "log_loss:digits=2"]
)
def test_an_insider_is_told_what_flipping_changes(spec: str) -> None:
    """For every row, the published number with the other label, computed by another road."""
    from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

    published = Publication.parse(spec)
    scores = np.array(SCORES)
    numbers = {
        "auc": lambda y: roc_auc_score(y, scores),
        "accuracy": lambda y: accuracy_score(y, scores >= 0.5),
        "brier": lambda y: brier_score_loss(y, scores),
        "log_loss": lambda y: log_loss(y, scores),
    }

    def shown(labels: list[int]) -> float:
        return round(float(numbers[published.metric](labels)), 12 if published.digits is None else published.digits)

    flipped = [[*LABELS[:i], 1 - LABELS[i], *LABELS[i + 1 :]] for i in range(len(LABELS))]
    told = sum(shown(labels) != shown(LABELS) for labels in flipped)
    assert attack(COUNTS, [spec]).exposures[0].insider.told == told


@pytest.mark.parametrize("digits", [None, 1, 2])
def test_an_insider_of_a_curve(digits: int | None) -> None:
    def shown(labels: list[int]) -> list[list[float]]:
        rates = []
        for value in (0, 1):
            above = np.cumsum(
                [
                    [y == value for y, s in zip(labels, SCORES, strict=True) if s == t].count(True)
                    for t in sorted(set(SCORES), reverse=True)
                ]
            )
            rates.append((above / above[-1] if digits is None else np.round(above / above[-1], digits)).tolist())
        return rates

    flipped = [[*LABELS[:i], 1 - LABELS[i], *LABELS[i + 1 :]] for i in range(len(LABELS))]
    told = sum(shown(labels) != shown(LABELS) for labels in flipped)
    spec = "roc" if digits is None else f"roc:digits={digits}"
    found = attack(COUNTS, [spec]).exposures[0].insider
    assert (found.told, found.tried) == (told, len(LABELS))


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("spec", ["auc:epsilon=1", "roc:epsilon=1", "accuracy:epsilon=1", "auc:epsilon=0.5,times=2"])
def test_no_release_is_guessed_beyond_its_bound(spec: str) -> None:
    """The chance of a false alarm is below 1e-9: the exact binomial tail at the bound."""
    from scipy.stats import binom

    exposure = attack(simulated(40), [spec], trials=120).exposures[0]
    game = exposure.insider.game
    assert game is not None
    assert game.bound is not None
    assert game.bound == pytest.approx(success_bound(1.0))
    assert binom.sf(game.hits - 1, game.trials, game.bound) > 1e-9
    assert exposure.insider.told is None
    assert exposure.outsider is not None
    assert exposure.outsider.certain == 0


@pytest.mark.long
@pytest.mark.statistical
def test_a_release_with_too_little_noise_is_guessed_beyond_the_bound() -> None:
    """The broken twin: an epsilon of 20 that is said to be 1."""
    from scipy.stats import binom

    game = attack(simulated(40), ["auc:epsilon=20"], trials=120).exposures[0].insider.game
    assert game is not None
    assert binom.sf(game.hits - 1, game.trials, success_bound(1.0)) < 1e-9


def test_many_rows_leave_the_outsider_out() -> None:
    found = attack(simulated(1_200), ["auc:exact", "average_precision:digits=3"])
    auc, precision = found.exposures
    assert auc.outsider is None
    assert "more than 1000 rows" in str(auc.left_out)
    assert auc.insider.told == 1_200
    assert precision.outsider is None
    assert "is not computed for this number" in str(found)


def test_the_epsilon_advised_keeps_its_promise() -> None:
    found = attack(COUNTS, ["auc"], sure=0.6)
    assert success_bound(found.epsilon) == pytest.approx(0.6)
    assert math.isclose(found.to_dict()["advice"]["epsilon"], math.log(1.5))


def test_plain_data_has_no_row_in_it() -> None:
    plain = attack(COUNTS, USUAL, trials=3).to_dict()
    assert plain["schema"] == "confide.attack/1"
    assert [entry["published"] for entry in plain["releases"]] == [Publication.parse(spec).spec for spec in USUAL]
    assert "probability" not in str(plain)


def test_results_show_themselves() -> None:
    found = attack(COUNTS, ["auc:digits=2", "roc", "auc:epsilon=2"], trials=5)
    assert isinstance(found, AttackReport)
    assert "AUC rounded to 2 digits" in found._repr_html_()
    import matplotlib.pyplot as plt

    figure = found.plot()
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "What an outsider believes",
        "What an insider learns",
    ]
    plt.close(figure)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: attack(COUNTS, []), "at least one publication"),
        (lambda: attack(COUNTS, ["gini"]), "cannot attack 'gini'"),
        (lambda: attack(COUNTS, ["acuracy"]), "Did you mean 'accuracy'"),
        (lambda: attack(COUNTS, ["auc:about"]), "does not say how a number is published"),
        (lambda: attack(COUNTS, ["auc:digits=99"]), "digits must lie between 0 and 15"),
        (lambda: attack(COUNTS, ["auc:epsilon=0"]), "epsilon must be greater than 0"),
        (lambda: attack(COUNTS, ["log_loss:epsilon=1"]), "cannot be released with noise"),
        (lambda: attack(COUNTS, ["auc:epsilon=1,times=0"]), "times must lie between 1"),
        (lambda: attack(COUNTS, level=0.5), "level must lie between 0.5 and 1"),
        (lambda: attack(COUNTS, sure=1.0), "sure must lie between 0.5 and 1"),
        (lambda: attack(COUNTS, ["auc:epsilon=1"], trials=0), "trials must be"),
        (lambda: attack(ScoreCounts.from_arrays([0, 1, 1], [0, 1, 2])), "two rows of each class"),
        (lambda: attack(ScoreCounts.from_arrays([0, 1], [0.0, 1.0], weights=[0.5, 2.0])), "weights"),
        (lambda: attack(ScoreCounts.from_arrays([0, 0, 1, 1], [0, 1, 2, 3]), ["brier"]), "in \\[0, 1\\]"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ConfideError, match=message):
        call()
