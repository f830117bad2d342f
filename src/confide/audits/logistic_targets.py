"""Audited mechanisms for private logistic regression under every relation, and their broken twins.

An output is the weights that a release shows. Rows have one or a few features, so that the weights that tell two
datasets apart are not lost among others. A weight takes long to draw, since each needs a minimisation. So there are
fewer draws than elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from confide.audits.selection_targets import differing_rows
from confide.audits.subject import REAL_COST, Pair, Sampler, Subject
from confide.counts import FloatArray
from confide.features import FeatureRows
from confide.privacy.mechanisms.objective_perturbation import ROUNDING_SHARE, TiltedQuery, objective_perturbation
from confide.privacy.mechanisms.output_perturbation import gradient_shift, output_perturbation
from confide.privacy.mechanisms.unit_rows import UnitRows, unit_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.queries import SphericalQuery

Ask: TypeAlias = Callable[[UnitRows], SphericalQuery | TiltedQuery]

MINIMUM_COST = 6 * REAL_COST
"""Cost of one draw. A minimisation takes even longer, but fewer draws could show nothing."""

_ADD_REMOVE, _LABEL = Neighbours.ADD_REMOVE_ONE, Neighbours.LABEL_ONLY
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
    yield _target("objective-priced", "objective", epsilon, _ADD_REMOVE, 1 / (2 * epsilon))


def logistic_twins(epsilon: Fraction) -> Iterator[Subject[FeatureRows]]:
    """Yield broken twins with mistakes that are easily made, each claiming an epsilon."""
    yield _unpriced(epsilon)
    yield _one_dimensional(epsilon)
    yield _mean_loss(epsilon)


def drawn_weights(ask: Ask) -> Sampler[FeatureRows]:
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

    pair, wrong = _PAIRS[_ADD_REMOVE], "no price for the change of variables"
    return _twin("unpriced", _ADD_REMOVE, epsilon, wrong, pair, sample, MINIMUM_COST)


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

    return _twin("one-dimensional", _LABEL, epsilon, "a length of noise as for a single weight", pair, sample, 1)


def _mean_loss(epsilon: Fraction) -> Subject[FeatureRows]:
    """Add the noise for the mean loss, which shrinks with the rows, to the weights of the sum.

    Most rows have no feature.
    """

    def ask(rows: UnitRows) -> SphericalQuery:
        asked = output_perturbation(rows, 1 / epsilon, epsilon, _LABEL)
        return replace(asked, scale=asked.scale / len(rows))

    pair = differing_rows(1, [(0, ())] * 39, [(1, (0,))], [(0, (0,))])
    wrong = "noise for the mean loss on the weights of the sum"
    return _twin("mean-loss", _LABEL, epsilon, wrong, pair, drawn_weights(ask), REAL_COST)


def _twin(
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
