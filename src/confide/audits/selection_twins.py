"""Broken twins of private selection: published mistakes, and mistakes about sensitivities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from confide.audits.selection_targets import Having, differing_rows, turned
from confide.audits.subject import DELTA, Pair, Query, Sampler, Subject, asking
from confide.counts import FloatArray
from confide.features import FeatureRows
from confide.privacy.accounting import rho_for
from confide.privacy.mechanisms.feature_scores import scored
from confide.privacy.mechanisms.score_perturbation import concentrated_scores
from confide.privacy.mechanisms.top_features import How, top_features
from confide.privacy.neighbours import Neighbours

_REPLACE, _ADD_REMOVE = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE


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
    return _twin("threshold-testing", _ADD_REMOVE, epsilon, "noise on the threshold alone", pair, sample)


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

    return _twin(name, _REPLACE, epsilon, wrong, _opposed((0, 1, 2, 3), (4, 5, 6, 7), 8, 12), sample)


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


def _twin(
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


_RNG = np.random.default_rng()
