"""Estimates from surveys: R's survey package, special cases, refusals, and coverage of a population's values."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import ScoreCounts, auc_score, delong_interval
from confide.errors import DataError, ParameterError
from confide.examples import HEART_ATTACK
from confide.intervals import delong_variance, survey_estimate

Values = tuple[float, float, float, float]


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    with HEART_ATTACK.open(newline="") as file:
        read = list(csv.DictReader(file))
    number = np.arange(len(read))
    return {
        "labels": [int(row["died"]) for row in read],
        "scores": [float(row["logistic"]) for row in read],
        "weights": 1 + number % 7,
        "strata": [row["sex"] for row in read],
        "clusters": number // 5,
    }


# h$w <- 1 + i %% 7; h$c <- i %/% 5; h$b <- (h$logistic - h$died)^2, where i counts rows from 0. The designs are
# svydesign(~1, weights = ~w, data = h), with strata = ~sex, and with ~c, strata = ~sex, nest = TRUE.
# m <- svymean(~b, d); confint(m, df = degf(d)); svymean(~died, d); svyciprop(~died, d, method = "logit")
# svyratio(~died, ~logistic, d)
@pytest.mark.parametrize(
    ("design", "brier", "prevalence", "ratio"),
    [
        (
            (),
            (0.158509143319078, 0.0112616804277051, 0.136382988790855, 0.180635297847301),
            (0.277331995990108, 0.0222826904550018, 0.235740765956688, 0.323158349460092),
            (1.00879917693954, 0.0729095556530799),
        ),
        (
            ("strata",),
            (0.158509143319078, 0.0111644760288881, 0.136573862040718, 0.180444424597439),
            (0.277331995990108, 0.0222891634286397, 0.235729141410081, 0.32317246233381),
            (1.00879917693954, 0.0729853703612187),
        ),
        (
            ("strata", "clusters"),
            (0.158509143319078, 0.0108959592757506, 0.137015090958099, 0.180003195680057),
            (0.277331995990108, 0.0234417551503932, 0.233533646080357, 0.325852402487133),
            (1.00879917693954, 0.0749670425490689),
        ),
    ],
)
def test_means_and_ratios(
    rows: dict[str, Any], design: tuple[str, ...], brier: Values, prevalence: Values, ratio: tuple[float, float]
) -> None:
    terms = {name: rows[name] for name in ("labels", "scores", "weights", *design)}
    for metric, expected in (("brier", brier), ("prevalence", prevalence)):
        found = survey_estimate(metric, **terms)
        ends = found.known_interval
        assert (found.value, found.standard_error, ends.lower, ends.upper) == pytest.approx(expected, abs=1e-10)
    found = survey_estimate("observed_expected", **terms)
    assert (found.value, found.standard_error) == pytest.approx(ratio, abs=1e-13)
    assert math.sqrt(found.known_interval.lower * found.known_interval.upper) == pytest.approx(ratio[0])


# withReplicates(as.svrepdesign(d, type = "JKn"), auc), "JK1" without strata, with
# auc <- function(w, data) {p <- data$died == 1; s <- data$logistic
#   a <- outer(s[p], s[!p], ">") + .5 * outer(s[p], s[!p], "=="); sum(w[p] %o% w[!p] * a) / sum(w[p]) / sum(w[!p])}
@pytest.mark.parametrize(
    ("design", "jackknife"),
    [((), 0.0246618327508464), (("strata",), 0.0244385348247494), (("strata", "clusters"), 0.0250435069007423)],
)
def test_auc_against_the_jackknife(rows: dict[str, Any], design: tuple[str, ...], jackknife: float) -> None:
    """The jackknife and linearisation agree but for terms of higher order, here below one per cent."""
    found = survey_estimate("auc", **{name: rows[name] for name in ("labels", "scores", "weights", *design)})
    assert found.value == pytest.approx(0.787030053722488, abs=1e-12)
    assert found.standard_error == pytest.approx(jackknife, rel=0.01)


def test_equal_weights_give_delongs_variance_but_for_class_sizes(rows: dict[str, Any]) -> None:
    """DeLong divides by n - 1 in each class, linearisation by n and n - 1 over all rows."""
    labels, scores = rows["labels"], rows["scores"]
    counts = ScoreCounts.from_arrays(labels, scores)
    found = survey_estimate("auc", labels, scores, np.full(len(labels), 2.5))
    assert found.value == pytest.approx(auc_score(counts), abs=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(delong_variance(counts)), rel=0.01)


def test_only_ratios_of_weights_count(rows: dict[str, Any]) -> None:
    terms = {name: rows[name] for name in ("labels", "scores", "strata", "clusters")}
    first = survey_estimate("auc", weights=rows["weights"], **terms)
    second = survey_estimate("auc", weights=1_000.0 * rows["weights"], **terms)
    assert second.standard_error == pytest.approx(first.standard_error or 0.0, rel=1e-12)


def test_what_cannot_be_estimated_is_refused(rows: dict[str, Any]) -> None:
    terms = {name: rows[name] for name in ("labels", "scores", "weights")}
    with pytest.raises(ParameterError, match="Did you mean 'brier'"):
        survey_estimate("brior", **terms)
    with pytest.raises(DataError, match="two or more clusters"):
        survey_estimate("auc", **terms, strata=np.arange(len(rows["labels"])))
    with pytest.raises(ParameterError, match="clusters and labels differ in length"):
        survey_estimate("auc", **terms, clusters=[1, 2])
    with pytest.raises(DataError, match="as probabilities"):
        survey_estimate("brier", [0, 1, 1], [-1.0, 2.0, 3.0], [1, 1, 1])
    assert survey_estimate("auc", [0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4]).interval is None


def population(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """4,000 clusters of 10 people in two strata that differ in risk; members of a cluster are alike."""
    clusters = np.repeat(np.arange(4_000), 10)
    stratum = (clusters < 800).astype(int)
    shared = np.repeat(rng.normal(0.0, 0.7, 4_000), 10)
    log_odds = -2.0 + 1.2 * stratum + shared + rng.normal(0.0, 0.9, clusters.size)
    labels = rng.random(clusters.size) < 1.0 / (1.0 + np.exp(-log_odds))
    seen = 1.0 / (1.0 + np.exp(-(log_odds + rng.normal(0.0, 0.6, clusters.size))))
    return {"labels": labels, "scores": np.round(seen, 2), "clusters": clusters, "strata": stratum}


@pytest.mark.long
@pytest.mark.statistical
def test_intervals_cover_the_values_of_the_population() -> None:
    """500 samples of 40 clusters from each stratum, so that people of the smaller weigh a quarter as much.

    Binomial(500, 0.95) leaves (0.915, 0.98) with probability below 1e-3. Weights taken for repetitions, without the
    design, are refused: their intervals cover less than 0.9.
    """
    rng = np.random.default_rng(12)
    people = population(rng)
    whole = ScoreCounts.from_arrays(people["labels"], people["scores"])
    truth = {"auc": auc_score(whole), "prevalence": float(people["labels"].mean())}
    hits, repeated = dict.fromkeys(truth, 0), 0
    for _ in range(500):
        drawn = np.concatenate((rng.choice(800, 40, replace=False), 800 + rng.choice(3_200, 40, replace=False)))
        chosen = (10 * drawn[:, None] + np.arange(10)).ravel()
        sample = {name: column[chosen] for name, column in people.items()}
        weights = np.where(sample["strata"] == 1, 20, 80)
        for metric, value in truth.items():
            hits[metric] += value in survey_estimate(metric, weights=weights, **sample).known_interval
        counts = ScoreCounts.from_arrays(sample["labels"], sample["scores"], weights)
        repeated += truth["auc"] in delong_interval(counts)
    assert all(0.915 < hit / 500 < 0.98 for hit in hits.values())
    assert not 0.915 < repeated / 500 < 0.98
