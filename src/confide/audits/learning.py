"""Audited mechanisms for private learning and selection, and their broken twins.

The mechanism's own query draws. An output is all noisy scores, or the order of the selected features as one number.
Scores and relations are matched so that each kind of change occurs: all scores rise (total count, add-remove-one), some
rise by 2 while others fall by 2 (difference count, replace-one), some rise by 2 and others stay (purity index,
label-only).

An output is the weights that a release shows. Rows have one or a few features, so that the weights that tell two
datasets apart are not lost among others. A weight takes long to draw, since each needs a minimisation. So there are
fewer draws than elsewhere.

Logistic regression is in `logistic_targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from confide.audits.subject import DELTA, REAL_COST, Pair, Query, Sampler, Subject, asking
from confide.counts import FloatArray
from confide.features import FeatureRows
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.feature_counts import concentrated_feature_counts, feature_counts
from confide.privacy.mechanisms.feature_scores import public_order, scored
from confide.privacy.mechanisms.objective_perturbation import ROUNDING_SHARE, TiltedQuery, objective_perturbation
from confide.privacy.mechanisms.output_perturbation import gradient_shift, output_perturbation
from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.mechanisms.score_perturbation import concentrated_scores, perturbed_scores
from confide.privacy.mechanisms.sparse_vector import sparse_vector
from confide.privacy.mechanisms.top_features import HOWS, How, top_features
from confide.privacy.mechanisms.unit_rows import UnitRows, unit_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SphericalQuery

Having: TypeAlias = tuple[int, tuple[int, ...]]
"""Row by its label and its features."""

Ask: TypeAlias = Callable[..., Query]
Strained: TypeAlias = Mapping[Neighbours, tuple[str, Pair[FeatureRows], Mapping[str, Any]]]
"""For each relation: a score, neighbours, and further parameters of the mechanism."""

_ADD, _REPLACE, _LABEL = (
    Neighbours.ADD_REMOVE_ONE,
    Neighbours.REPLACE_ONE,
    Neighbours.LABEL_ONLY,
)


def selection_targets(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield every selection mechanism, at an epsilon."""
    yield from _targets(epsilon, "features/scores", perturbed_scores, _SCORES)
    yield from _gaussian(epsilon)
    yield from _targets(epsilon, "features/sparse-vector", sparse_vector, _THRESHOLD)
    for how in HOWS:
        yield from _targets(epsilon, f"features/{how}", top_features, _TOP, how=how)


def having(rows: Sequence[Having], width: int) -> FeatureRows:
    """Build rows with these labels and features."""
    matrix = np.zeros((len(rows), width), dtype=np.int64)
    for place, (_, features) in enumerate(rows):
        matrix[place, list(features)] = 1
    return FeatureRows.from_matrix(matrix, np.array([label for label, _ in rows], dtype=np.bool_))


def differing_rows(
    width: int, common: Sequence[Having], ours: Sequence[Having], theirs: Sequence[Having]
) -> Pair[FeatureRows]:
    """Build two datasets that have most rows in common."""
    return having([*common, *ours], width), having([*common, *theirs], width)


def turned(width: int, common: Sequence[Having]) -> Pair[FeatureRows]:
    """Build two datasets in which a row with every feature changes from negative to positive."""
    every = tuple(range(width))
    return differing_rows(width, common, [(0, every)], [(1, every)])


# Scores change as much as they can, in all.
_SCORES: Strained = {
    _ADD: ("total-count", differing_rows(2, [(1, (0,))], [], [(1, (0, 1))]), {}),
    _REPLACE: ("difference-count", turned(2, [(1, (0, 1))] * 3), {}),
    _LABEL: ("purity-index", turned(2, [(1, (0, 1))] * 3), {}),
}

# The first two asked rise by the threshold, and the last, above it, falls or stays.
_ASKED = tuple(public_order(3).tolist())
_FIRST, _LAST = _ASKED[:2], _ASKED[2:]
_THRESHOLD: Strained = {
    _ADD: (
        "total-count",
        differing_rows(3, [(1, _ASKED), (1, _LAST), (1, _LAST)], [], [(1, _FIRST)]),
        {"threshold": 1, "cutoff": 1},
    ),
    _REPLACE: (
        "difference-count",
        turned(3, [(1, _FIRST)] * 3 + [(0, _LAST)] * 5),
        {"threshold": 4, "cutoff": 1},
    ),
    _LABEL: (
        "purity-index",
        turned(3, [(1, _FIRST)] * 2 + [(1, ())] * 3 + [(0, _LAST)] * 4),
        {"threshold": 1, "cutoff": 1},
    ),
}

# One feature is ahead, and others catch up: two of them where two are chosen.
_TOP: Strained = {
    _ADD: ("total-count", differing_rows(3, [(1, (2,)), (0, (2,))], [], [(1, (0, 1))]), {"k": 2}),
    _REPLACE: ("difference-count", turned(2, [*[(1, (0,))] * 3, *[(0, (1,))] * 6]), {"k": 1}),
    _LABEL: (
        "purity-index",
        turned(2, [(0, (1,)), (0, (1,)), (1, (0,)), (1, ()), (1, ())]),
        {"k": 1},
    ),
}


def _targets(
    epsilon: Fraction, name: str, ask: Ask, strained: Strained, **options: Any
) -> Iterator[Subject[FeatureRows]]:
    for neighbours, (score, pair, given) in strained.items():
        queries = _queries(ask, score, epsilon, neighbours, {**given, **options})
        yield asking(name, neighbours, epsilon, Fraction(0), (pair,), queries, (ask,))


def _gaussian(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    rho = rho_for(epsilon, DELTA)
    for neighbours, (score, pair, _) in _SCORES.items():
        queries = _queries(concentrated_scores, score, rho, neighbours, {})
        name, proven = "features/gaussian-scores", (concentrated_scores,)
        yield asking(name, neighbours, epsilon, DELTA, (pair,), queries, proven)


def _queries(
    ask: Ask, score: str, epsilon: Fraction, neighbours: Neighbours, given: Mapping[str, Any]
) -> Callable[[FeatureRows], tuple[Query, ...]]:
    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        return (ask(rows, score, epsilon, neighbours, most_features=None, **given),)

    return queries


AskRows: TypeAlias = Callable[[UnitRows], SphericalQuery | TiltedQuery]

MINIMUM_COST = 6 * REAL_COST
"""Cost of one draw. A minimisation takes even longer, but fewer draws could show nothing."""

_ADD, _LABEL = Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY
_METHODS: dict[str, Callable[..., SphericalQuery | TiltedQuery]] = {
    "objective": objective_perturbation,
    "output": output_perturbation,
}

# One row more, or another one, of the length that the noise is made for.
_PAIRS: dict[Neighbours, Pair[FeatureRows]] = {
    Neighbours.REPLACE_ONE: differing_rows(1, [], [(1, (0,))], [(0, (0,))]),
    Neighbours.ADD_REMOVE_ONE: differing_rows(1, [], [(1, (0,))], []),
    Neighbours.LABEL_ONLY: differing_rows(1, [(1, (0,)), (0, (0,))], [(1, (0,))], [(0, (0,))]),
}


def logistic_targets(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield both methods under every relation, and objective perturbation where it pays for its change of variables."""
    for neighbours in _PAIRS:
        strength = gradient_shift(neighbours) / (epsilon * (1 - ROUNDING_SHARE))
        for method in _METHODS:
            yield _target(method, method, epsilon, neighbours, strength)
    yield _target("objective-priced", "objective", epsilon, _ADD, 1 / (2 * epsilon))


def logistic_twins(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield broken twins with mistakes that are easily made, each claiming an epsilon."""
    yield _unpriced(epsilon)
    yield _one_dimensional(epsilon)
    yield _mean_loss(epsilon)


def drawn_weights(ask: AskRows) -> Sampler[FeatureRows]:
    """Release the weights of a dataset many times, without an intercept."""

    def sample(rows: FeatureRows, times: int) -> FloatArray:
        read = unit_rows(rows.matrix(), rows.labels, row_norm=1.0, intercept=False)
        return np.array(ask(read).draw_many(times), dtype=np.float64)

    return sample


def _target(
    name: str, method: str, epsilon: Fraction, neighbours: Neighbours, strength: Fraction
) -> Subject[FeatureRows]:
    asked = _METHODS[method]
    return Subject(
        name=f"logistic-regression/{name}",
        neighbours=neighbours,
        epsilon=epsilon,
        pairs=(_PAIRS[neighbours],),
        sample=drawn_weights(lambda rows: asked(rows, strength, epsilon, neighbours)),
        cost=MINIMUM_COST if method == "objective" else REAL_COST,
        proven=(asked,),
        options={"method": method, "regularization": strength},
    )


def _unpriced(epsilon: Fraction) -> Subject[FeatureRows]:
    """Spend the whole epsilon on the tilt, as if the change of variables were free. Weak regularisation makes it dear.

    Without rows the weight follows the tilt wherever it goes; one row holds it near 0 while the tilt is below 1. An
    output is whether the weight is within 30 of 0.
    """

    def ask(rows: UnitRows) -> TiltedQuery:
        return objective_perturbation(rows, Fraction(1, 2**12), epsilon, _LABEL)

    def sample(rows: FeatureRows, times: int) -> FloatArray:
        return (np.abs(drawn_weights(ask)(rows, times)) < 30.0).astype(np.float64)

    pair, wrong = _PAIRS[_ADD], "no price for the change of variables"
    return _logistic_twin("unpriced", _ADD, epsilon, wrong, pair, sample, MINIMUM_COST)


def _one_dimensional(epsilon: Fraction) -> Subject[FeatureRows]:
    """Add noise to four weights whose length is drawn as for one: too often it is almost nothing.

    An output is the distance of the weights from those of the first dataset without noise.
    """
    every = tuple(range(4))
    pair = differing_rows(4, [], [(1, every)], [(0, every)])

    def ask(rows: FeatureRows) -> SphericalQuery:
        read = unit_rows(rows.matrix(), rows.labels, row_norm=2.0, intercept=False)
        return output_perturbation(read, 1 / epsilon, epsilon, _LABEL)

    first = np.array(ask(pair[0]).values, dtype=np.float64)

    def sample(rows: FeatureRows, times: int) -> FloatArray:
        asked = ask(rows)
        directions = _RNG.normal(size=(times, 4))
        lengths = _RNG.exponential(float(asked.scale), size=(times, 1))
        noise = directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths
        weights = np.array(asked.values, dtype=np.float64) + noise
        distances: FloatArray = np.linalg.norm(weights - first, axis=1, keepdims=True)
        return distances

    return _logistic_twin(
        "one-dimensional",
        _LABEL,
        epsilon,
        "a length of noise as for a single weight",
        pair,
        sample,
        1,
    )


def _mean_loss(epsilon: Fraction) -> Subject[FeatureRows]:
    """Add the noise for the mean loss, which shrinks with the rows, to the weights of the sum.

    Most rows have no feature.
    """

    def ask(rows: UnitRows) -> SphericalQuery:
        asked = output_perturbation(rows, 1 / epsilon, epsilon, _LABEL)
        return replace(asked, scale=asked.scale / len(rows))

    pair = differing_rows(1, [(0, ())] * 39, [(1, (0,))], [(0, (0,))])
    wrong = "noise for the mean loss on the weights of the sum"
    return _logistic_twin("mean-loss", _LABEL, epsilon, wrong, pair, drawn_weights(ask), REAL_COST)


def _logistic_twin(
    name: str,
    neighbours: Neighbours,
    epsilon: Fraction,
    wrong: str,
    pair: Pair[FeatureRows],
    sample: Sampler[FeatureRows],
    cost: int,
) -> Subject[FeatureRows]:
    return Subject(
        name=f"logistic-regression/{name}",
        neighbours=neighbours,
        epsilon=epsilon,
        pairs=(pair,),
        sample=sample,
        cost=cost,
        wrong=wrong,
    )


_RNG = np.random.default_rng()  # needs no better source: what draws from it is broken on purpose


ONE = RowLimit(worth=1)

# A row with one feature weighs all that it may.
_COUNTS: Mapping[Neighbours, Pair[FeatureRows]] = {
    Neighbours.ADD_REMOVE_ONE: differing_rows(1, [(1, (0,)), (0, ())], [], [(1, (0,))]),
    Neighbours.REPLACE_ONE: turned(1, [(1, (0,)), (0, ())]),
    Neighbours.LABEL_ONLY: turned(1, [(1, (0,)), (0, ())]),
}


def learning_targets(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield every mechanism that trains naive Bayes, at an epsilon."""
    for neighbours, pair in _COUNTS.items():
        queries = _counts(epsilon, neighbours, feature_counts)
        yield asking("learning/counts", neighbours, epsilon, Fraction(0), (pair,), queries, (feature_counts,))
    rho = rho_for(epsilon, DELTA)
    for neighbours, pair in _COUNTS.items():
        queries = _counts(rho, neighbours, concentrated_feature_counts)
        name, proven = "learning/gaussian-counts", (concentrated_feature_counts,)
        yield asking(name, neighbours, epsilon, DELTA, (pair,), queries, proven)
    yield from logistic_targets(epsilon)


def _counts(
    price: Fraction, neighbours: Neighbours, ask: Callable[..., Query]
) -> Callable[[FeatureRows], tuple[Query, ...]]:
    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        return (ask(rows, price, neighbours, limit=ONE),)

    return queries


def selection_twins(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield every broken twin of private selection, each claiming an epsilon."""
    yield _threshold_testing(epsilon)
    yield _noisycut("noisycut", epsilon, None, "noise on the scores, but no cut-off")
    yield _noisycut("sparse-vector-unscaled", epsilon, 4, "noise that does not grow with the cut-off")
    yield _gaussian_scarce(epsilon)
    yield _rated("peeling-steep", epsilon, "peeling", 4, 4, "a rate without the sensitivity")
    yield _rated("permute-and-flip-steep", epsilon, "permute-and-flip", 5, 2, "a rate for scores that all rise")


def _threshold_testing(epsilon: Fraction) -> Subject[FeatureRows]:
    """Test exact scores against one noisy threshold (Stoddard and others 2014, algorithm 2).

    Total counts are (5, 5) and (6, 5). The noise is that of corollary 3.4, which claims epsilon for total counts.
    """

    def sample(rows: FeatureRows, times: int) -> FloatArray:
        reached = scored(rows, "total-count") >= 5 + _laplace(float(1 / epsilon), (times, 1))
        answers: FloatArray = reached @ np.array([1.0, 2.0])
        return answers[:, np.newaxis]

    pair = differing_rows(2, [(1, (0, 1))] * 5, [], [(1, (0,))])
    return _selection_twin("threshold-testing", _ADD, epsilon, "noise on the threshold alone", pair, sample)


def _noisycut(name: str, epsilon: Fraction, cutoff: int | None, wrong: str) -> Subject[FeatureRows]:
    """Add noise as in Lee & Clifton (2014): a quarter of epsilon for the threshold, the rest for each score.

    Four difference counts rise by 2 past the threshold and four fall. An output is how many more of the latter reach it
    than of the former.
    """
    width, threshold, sensitivity = 8, 10, 2

    def sample(rows: FeatureRows, times: int) -> FloatArray:
        noisy = scored(rows, "difference-count") + _laplace(float(sensitivity / (epsilon * 3 / 4)), (times, width))
        reached = noisy >= threshold + _laplace(float(sensitivity / (epsilon / 4)), (times, 1))
        if cutoff is not None:
            reached &= np.cumsum(reached, axis=1) <= cutoff
        more: FloatArray = reached @ np.repeat([-1.0, 1.0], width // 2)
        return more[:, np.newaxis]

    return _selection_twin(name, _REPLACE, epsilon, wrong, _opposed((0, 1, 2, 3), (4, 5, 6, 7), 8, 12), sample)


def _gaussian_scarce(epsilon: Fraction) -> Subject[FeatureRows]:
    """Add a fifth of the Gaussian noise to two difference counts that rise by 2: rho is 25 times what is claimed."""
    rho, pair = rho_for(epsilon, DELTA), turned(2, [(1, (0, 1))] * 3)

    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        asked = concentrated_scores(rows, "difference-count", rho, _REPLACE, most_features=None)
        return (replace(asked, scales=tuple(scale / 5 for scale in asked.scales)),)

    name, wrong = "features/gaussian-scores-scarce", "a fifth of the noise"
    return asking(name, _REPLACE, epsilon, DELTA, (pair,), queries, wrong=wrong)


def _rated(name: str, epsilon: Fraction, how: How, high: int, times: int, wrong: str) -> Subject[FeatureRows]:
    """Choose one of two difference counts, the lower of which rises by 2, at a multiple of the rate."""
    pair = _opposed((0,), (1,), 2, high)

    def queries(rows: FeatureRows) -> tuple[Query, ...]:
        asked = top_features(rows, "difference-count", epsilon, _REPLACE, most_features=None, k=1, how=how)
        return (replace(asked, rate=asked.rate * times),)

    return asking(f"features/{name}", _REPLACE, epsilon, Fraction(0), (pair,), queries, wrong=wrong)


def _opposed(low: tuple[int, ...], high: tuple[int, ...], least: int, most: int) -> Pair[FeatureRows]:
    """Build low difference counts, which rise by 2 as a label turns, and high ones, which fall by 2."""
    common: list[Having] = [(1, low)] * (least + 1) + [(0, high)] * (most - 1)
    return turned(len(low) + len(high), common)


def _selection_twin(
    name: str,
    neighbours: Neighbours,
    epsilon: Fraction,
    wrong: str,
    pair: Pair[FeatureRows],
    sample: Sampler[FeatureRows],
) -> Subject[FeatureRows]:
    return Subject(
        name=f"features/{name}",
        neighbours=neighbours,
        epsilon=epsilon,
        pairs=(pair,),
        sample=sample,
        cost=1,
        wrong=wrong,
    )


def _laplace(scale: float, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Draw discrete Laplace noise from an ordinary generator: the twin is broken on purpose."""
    stop = -np.expm1(-1.0 / scale)
    return _RNG.geometric(stop, shape) - _RNG.geometric(stop, shape)
