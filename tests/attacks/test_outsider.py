"""What an outsider makes of a release: the whole budget counts, and nothing is ever certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from confide import ScoreCounts, attack
from confide.attacks import adversaries as module
from confide.attacks.adversaries import Effort, Outsider, outsider
from confide.attacks.disclosure import Publication

SEPARATED = ScoreCounts.from_arrays([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.7, 0.8, 0.9])


def found(counts: ScoreCounts, spec: str) -> Outsider:
    result = outsider(counts, Publication.parse(spec), Effort(), np.random.default_rng(0))
    assert isinstance(result, Outsider)
    return result


@pytest.mark.parametrize(
    ("metric", "drawn_by"), [("auc", "released"), ("accuracy", "released"), ("roc", "release_curves")]
)
def test_releases_that_are_repeated_are_worth_the_sum_of_their_epsilons(
    metric: str, drawn_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    really: Callable[..., Any] = getattr(module, drawn_by)

    def remembered(*data: Any, **terms: Any) -> Any:
        asked.append(terms["epsilon"])
        return really(*data, **terms)

    monkeypatch.setattr(module, drawn_by, remembered)
    found(SEPARATED, f"{metric}:epsilon=1/2,times=6")
    assert asked == [3]


@pytest.mark.parametrize("metric", ["auc", "accuracy"])
def test_next_to_no_noise_leaves_labels_known_but_not_certain(metric: str) -> None:
    """Three negatives below three positives: only one labeling has this AUC, or accuracy, of 1."""
    exact, noisy = found(SEPARATED, metric), found(SEPARATED, f"{metric}:epsilon=100000")
    assert (exact.certain, exact.known, exact.labelings) == (6, 0, 1)
    assert (noisy.certain, noisy.known, noisy.known_right, noisy.labelings) == (0, 6, 6, None)


@pytest.mark.parametrize("seed", range(6))
def test_an_interval_without_a_possible_accuracy_is_read_as_the_nearest(seed: int) -> None:
    """At this epsilon the noise is 0 but once in 10^43 times, and the interval a float that is no ratio of counts."""
    rng = np.random.default_rng(seed)
    labels = np.arange(40) % 3 == 0
    counts = ScoreCounts.from_arrays(labels, np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0.0, 1.0))
    exposure = attack(counts, ["accuracy:epsilon=200"], trials=1, generator=rng).exposures[0]
    assert exposure.outsider is not None
    assert exposure.outsider.certain == 0
    np.testing.assert_allclose(exposure.outsider.probability, found(counts, "accuracy").probability)
