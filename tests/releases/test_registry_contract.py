"""Everything that can be released passes one suite: every metric, by every mechanism, under every relation."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import confide
from confide import Grid, Release, ScoreCounts
from confide.errors import ParameterError
from confide.metrics.threshold import MEASURES
from confide.releases import RELEASE_METRICS, auc, average_precision, brier, confusion, curves
from confide.releases.confusion import CONFUSION_METRICS
from confide.releases.curves_release import CURVES
from confide.releases.registry import RELEASABLE, prepare
from confide.releases.symmetric import SYMMETRIC
from tests.noises import FORBIDDEN, RELATIONS, SILENT, WAYS, Way, seeded

pytestmark = [pytest.mark.usefixtures("few_simulated_tables")]  # about form, not about widths

SIGNED = ("matthews_correlation", "youden")
UNBOUNDED = (
    "true_positives",
    "false_positives",
    "false_negatives",
    "true_negatives",
    "positive_likelihood_ratio",
    "negative_likelihood_ratio",
    "calibration",
    "counts",
    "observed_expected",
)
KEYS = ["schema", "metric", "value", "intervals", "guarantee", "mechanism", "parts", "options"]
every_way = pytest.mark.parametrize("way", WAYS, ids=str)


def drawn_rows(rows: int = 150, prevalence: float = 0.3, seed: int = 0) -> ScoreCounts:
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < prevalence
    return ScoreCounts.from_arrays(labels, np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0.0, 1.0))


COUNTS = drawn_rows()


def few_measures(way: Way) -> dict[str, Any]:
    """All measures of a matrix are looked at once; for the rest some will do."""
    return {"measures": ("recall", "true_positives")} if way.metric == "confusion" else {}


def released(way: Way, counts: ScoreCounts = COUNTS, **terms: Any) -> tuple[Release, ...]:
    return way.released(counts, **few_measures(way), **terms)


def test_nothing_was_forgotten() -> None:
    mechanisms = {
        "auc": auc.MECHANISMS,
        "average_precision": average_precision.MECHANISMS,
        "brier": brier.MECHANISMS,
        "prevalence": ("laplace",),
        "confusion": confusion.MECHANISMS,
        "curves": curves.MECHANISMS,
    }
    assert {name: entry.mechanisms for name, entry in RELEASABLE.items()} == mechanisms
    assert set(RELEASE_METRICS) == {*RELEASABLE, *CURVES, "observed_expected", *CONFUSION_METRICS}
    assert len(set(RELEASE_METRICS)) == len(RELEASE_METRICS)
    assert set(MEASURES) <= set(CONFUSION_METRICS)
    assert {way.metric for way in WAYS} == set(RELEASABLE)
    assert len(WAYS) == 3 * sum(len(each) for each in mechanisms.values()) - 1
    for metric in RELEASABLE:
        assert callable(getattr(confide.releases, f"release_{metric}")), metric


def test_the_only_way_without_a_proof_is_refused() -> None:
    with pytest.raises(ParameterError, match="use mechanism='local', or neighbours='replace-one'"):
        Way("auc", "rank-sum", "add-remove-one").prepare(COUNTS, noise=FORBIDDEN)


@every_way
def test_preparing_draws_nothing_and_says_the_price(way: Way) -> None:
    prepared = way.prepare(COUNTS, epsilon="1/3", unit="person", noise=FORBIDDEN)
    guarantee = prepared.guarantee
    assert guarantee.epsilon == Fraction(1, 3)
    assert guarantee.delta == (Fraction(1, 10**6) if way.mechanism in ("published-laplace", "gaussian") else 0)
    assert (guarantee.neighbours, guarantee.unit) == (way.relation, "person")
    assert prepared.request["metric"] == ("roc" if way.mechanism == SYMMETRIC else way.metric)
    assert prepared.request["mechanism"] == way.mechanism
    json.dumps(dict(prepared.request), allow_nan=False)


@every_way
def test_what_is_public_is_named(way: Way) -> None:
    public = {"replace-one": ["number of rows"], "add-remove-one": [], "label-only": ["number of rows", "scores"]}
    on_grids = {name: ["grid of scores"] for name in ("private-counts", "laplace-per-point", "fixed-space")}
    own = {"confusion": ["threshold"], **on_grids}
    expected = public[way.relation] + own.get(way.metric, []) + own.get(way.mechanism, [])
    if way.mechanism == SYMMETRIC:
        expected = public[way.relation]
    assert list(way.prepare(COUNTS).guarantee.public) == expected


@pytest.mark.few(20)
@every_way
def test_releases_are_frozen_plain_and_come_back(way: Way) -> None:
    for release in released(way):
        plain = release.to_dict()
        assert list(plain) == [*KEYS, *(["curve"] if release.curve else []), *(["noisy"] if release.noisy else [])]
        assert plain["schema"] == "confide.release/1"
        assert set(plain["intervals"]) == {"sample", "population"}
        for interval in plain["intervals"].values():
            assert list(interval) == ["lower", "upper", "level", "method"]
        read = json.loads(json.dumps(plain, allow_nan=False))
        again = Release.from_dict(read, release.guarantee)
        assert again.to_dict() == plain
        assert again == release or math.isnan(release.value)
        assert pickle.loads(pickle.dumps(release)).to_dict() == plain  # noqa: S301  # our own bytes
        with pytest.raises(dataclasses.FrozenInstanceError):
            release.value = 0.5  # type: ignore[misc]
        assert release.guarantee == way.prepare(COUNTS).guarantee
        assert release.mechanism == way.mechanism


def test_what_a_release_holds_cannot_be_changed() -> None:
    for way in WAYS:
        release = way.prepare(COUNTS, **few_measures(way)).draw()[0]
        for mapping in (release.parts, release.options):
            with pytest.raises((TypeError, AttributeError)):
                mapping["value"] = 0.5  # type: ignore[index]


@pytest.mark.few(23)
@every_way
def test_the_same_noise_gives_the_same_release(way: Way) -> None:
    first, second = (released(way, noise=seeded(3)) for _ in range(2))
    assert [one.to_dict() for one in first] == [one.to_dict() for one in second]


def possible(metric: str) -> tuple[float, float]:
    return -1.0 if metric in SIGNED else 0.0, math.inf if metric in UNBOUNDED else 1.0


def check_numbers(release: Release, where: object) -> None:
    low, high = possible(release.metric)
    sample, population = release.intervals.sample, release.intervals.population
    for number in (release.value, sample.lower, sample.upper, population.lower, population.upper):
        assert low <= number <= high or math.isnan(release.value), (release.metric, where, number)
    assert sample.lower <= sample.upper, (release.metric, where)
    assert population.lower <= population.upper, (release.metric, where)


@pytest.mark.few(12)
@every_way
def test_numbers_stay_in_their_range(way: Way) -> None:
    measures = {"measures": ("matthews_correlation", "negative_likelihood_ratio")} if way.metric == "confusion" else {}
    for seed, (rows, prevalence, epsilon) in enumerate([(6, 0.5, "0.1"), (40, 0.1, 1), (40, 0.9, 5), (400, 0.5, 1)]):
        counts = drawn_rows(rows, prevalence, seed + 10)
        if way.metric == "auc" and way.mechanism == "local" and rows == 6 and way.relation != "add-remove-one":
            with pytest.raises(ParameterError, match="too few rows"):  # their number is public
                way.prepare(counts, epsilon=epsilon)
            continue
        for release in way.released(counts, epsilon=epsilon, noise=seeded(seed), **measures):
            check_numbers(release, (rows, prevalence, epsilon))


@pytest.mark.few(13)
@pytest.mark.parametrize("level", [0.95, 0.999])
@every_way
def test_the_population_is_never_better_known_than_the_sample(way: Way, level: float) -> None:
    """Whoever knows the population's value within something knows no less of the sample's."""
    for seed, (rows, prevalence, epsilon) in enumerate([(20, 0.3, 10), (150, 0.3, 5), (600, 0.05, 10)]):
        counts = drawn_rows(rows, prevalence, seed + 20)
        for release in released(way, counts, epsilon=epsilon, level=level, noise=seeded(seed)):
            sample, population = release.intervals.sample, release.intervals.population
            assert sample.level == population.level == level
            if math.isfinite(sample.upper):
                assert population.width >= sample.width - 1e-9, (release.metric, rows, epsilon, sample, population)


@pytest.mark.few(19)
@every_way
def test_intervals_hold_the_released_value(way: Way) -> None:
    """By construction where one number is released; from private counts and sizes at a usual level."""
    for seed in range(2):
        counts = drawn_rows(100 * (seed + 1), 0.3, seed)
        for release in released(way, counts, epsilon=2, level=0.95, noise=seeded(seed)):
            if not math.isnan(release.value):
                assert release.value in release.intervals.sample, (release.metric, seed)
                assert release.value in release.intervals.population, (release.metric, seed)


@pytest.mark.few(11)
@every_way
def test_a_higher_level_is_wider_and_more_epsilon_narrower(way: Way) -> None:
    def widths(**terms: Any) -> list[float]:
        found = [release.intervals for release in released(way, noise=SILENT, **terms)]
        return [round(interval.width, 9) for pair in found for interval in (pair.sample, pair.population)]

    nothing_or_all = (0.0, 1.0, math.inf)  # the number of rows where it is public, and numbers nobody can know
    for narrow, wide in zip(widths(level=0.8), widths(level=0.99), strict=True):
        assert narrow < wide or narrow == wide in nothing_or_all
    for much, little in zip(widths(epsilon=20), widths(epsilon="0.2"), strict=True):
        assert much < little or much == little in nothing_or_all


def test_every_measure_follows_from_one_matrix() -> None:
    prepared = prepare("confusion", COUNTS, epsilon=1, threshold=0.45)
    (single,) = prepared
    releases = single.draw()
    assert [release.metric for release in releases] == list(CONFUSION_METRICS)
    assert len({tuple(release.parts.items()) for release in releases}) == 1
    for release in releases:
        check_numbers(release, "all measures")
        assert release.value == pytest.approx(_measure(release), nan_ok=True), release.metric


def _measure(release: Release) -> float:
    found: float = getattr(confide.metrics.ConfusionMatrix(**release.parts), release.metric)
    return found


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_confusion_release_shows_matrix_and_measures(relation: str) -> None:
    found = confide.release_confusion(COUNTS, 0.45, epsilon=1, neighbours=relation)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["schema"] == "confide.release/1"
    assert plain["options"] == {"threshold": 0.45}
    assert set(plain["intervals"]) == set(plain["measures"]) == set(CONFUSION_METRICS)
    assert plain["value"] == {cell: plain["measures"][cell] for cell in plain["value"]}
    assert found["recall"].value == pytest.approx(found.value.recall)
    with pytest.raises(ParameterError, match="choose from"):
        found["sharpness"]


@every_way
def test_text_never_shows_private_numbers(way: Way) -> None:
    """Class sizes, rows and scores of 4 to 9 digits that nothing else could bring about."""
    scores = np.array([0.123456789, 0.567891234, 0.987654321])
    counts = ScoreCounts(scores, np.array([1013, 2027, 3041]), np.array([5051, 4049, 1019]))
    prepared = way.prepare(counts, noise=FORBIDDEN, **few_measures(way))
    private = re.compile(r"0\.1234|0\.5678|0\.9876|\b(1013|2027|3041|5051|4049|1019|6081|10119|16200)\b")
    shown = f"{prepared} {prepared!r} {prepared.counts!r} {prepared.guarantee.in_words()} {dict(prepared.request)}"
    assert not private.search(shown)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)) as caught:  # what draws does not travel
        pickle.dumps(prepared)
    assert not private.search(str(caught.value))


@pytest.mark.parametrize("way", [way for way in WAYS if way.relation == "add-remove-one"], ids=str)
def test_the_number_of_rows_is_not_shown_where_it_is_private(way: Way) -> None:
    """With seeds, and not in each of three releases: a noisy number of rows is now and then the number of rows."""
    for several in zip(*(released(way, noise=seeded(seed)) for seed in range(3)), strict=True):
        release = several[0]
        texts = [json.dumps(one.to_dict()).replace(json.dumps(dict(one.parts)), "") for one in several]
        assert not all(re.search(r"\b150(\.0)?\b", text) for text in texts), release.metric
        if "rows" in release.parts:
            values = {way.prepare(COUNTS).draw()[0].parts["rows"] for _ in range(12)}
            assert len(values) > 1, "the number of rows has no noise"


def test_queries_have_no_text_of_their_own() -> None:
    from confide.privacy.mechanisms.auc_sensitivity import smooth_auc
    from confide.privacy.mechanisms.class_sizes import class_sizes
    from confide.privacy.mechanisms.smooth_sensitivity import published_cauchy
    from confide.privacy.neighbours import Neighbours

    counts = ScoreCounts(np.array([0.25, 0.75]), np.array([1013, 3041]), np.array([5051, 4049]))
    integers = class_sizes(counts, Fraction(1), Neighbours.ADD_REMOVE_ONE)
    reals = smooth_auc(counts, published_cauchy(Fraction(1)))
    for query in (integers, reals):
        assert not re.search(r"\d{4}", f"{query} {query!r}")


def test_weighted_rows_are_refused() -> None:
    counts = ScoreCounts.from_arrays([0, 1, 1], [0.1, 0.4, 0.7], [1.0, 2.0, 1.0])
    for way in WAYS:
        with pytest.raises(ParameterError, match="give one row each"):
            way.prepare(counts, noise=FORBIDDEN)


def test_shapes_people_look_at() -> None:
    release = confide.release_auc(COUNTS, epsilon=1)
    assert str(release).startswith(("AUC 0.", "AUC 1."))
    assert "epsilon 1, replace-one" in str(release)
    html = release._repr_html_()
    assert "<table" in html
    assert "<script" not in html
    assert "<table" in confide.release_confusion(COUNTS, 0.5, epsilon=1)._repr_html_()


@pytest.mark.parametrize("metric", ["auc", "recall", "youden", "true_positives", "positive_likelihood_ratio"])
def test_every_release_can_be_drawn(metric: str) -> None:
    import matplotlib.pyplot as plt

    (prepared,) = prepare(metric, COUNTS, epsilon=1)
    figure = prepared.draw()[0].plot()
    try:
        assert figure.axes
    finally:
        plt.close(figure)


class TestSeveralAtOnce:
    def test_epsilon_and_delta_are_divided_exactly(self) -> None:
        asked = ["auc", "brier", "recall", "precision", "prevalence"]
        prepared = prepare(asked, COUNTS, epsilon="0.1", noise=FORBIDDEN)
        assert [part.guarantee.epsilon for part in prepared] == [Fraction(1, 40)] * 4
        assert sum(part.guarantee.epsilon for part in prepared) == Fraction(1, 10)
        parts = prepare(["confusion"], COUNTS, epsilon=1, delta="1e-6", mechanism="gaussian")
        assert [part.guarantee.delta for part in parts] == [Fraction(1, 10**6)]

    def test_measures_of_one_matrix_share_one_price(self) -> None:
        (single,) = prepare(["recall", "precision", "f1"], COUNTS, epsilon=1, noise=SILENT)
        assert single.guarantee.epsilon == 1
        assert [release.metric for release in single.chosen(single.draw())] == ["recall", "precision", "f1"]

    def test_another_measure_of_the_same_matrix_is_the_same_request(self) -> None:
        (recall,), (precision,) = (prepare(name, COUNTS, epsilon=1, threshold=0.4) for name in ("recall", "precision"))
        assert recall.request == precision.request
        assert recall.guarantee == precision.guarantee

    def test_confusion_stands_for_all_of_them(self) -> None:
        (single,) = prepare(["recall", "confusion"], COUNTS, epsilon=1, noise=SILENT)
        assert single.requested == CONFUSION_METRICS

    def test_asking_twice_for_one_is_asking_once(self) -> None:
        assert len(prepare(["auc", "auc"], COUNTS, epsilon=1, noise=FORBIDDEN)) == 1

    def test_another_grid_or_threshold_is_another_request(self) -> None:
        def request(**options: Any) -> Any:
            terms: dict[str, Any] = {"mechanism": "private-counts"} if "grid" in options else {}
            metric = "average_precision" if "grid" in options else "recall"
            return prepare(metric, COUNTS, epsilon=1, **terms, **options)[0].request

        assert request(threshold=0.4) != request(threshold=0.5)
        assert request(grid=Grid.uniform(8)) != request(grid=Grid.uniform(9))
        assert request(threshold=0.4) == request(threshold=0.4)
        assert request(level=0.9, threshold=0.4) == request(threshold=0.4)


class TestPersonsWithSeveralRows:
    @every_way
    def test_what_is_promised_is_what_was_asked(self, way: Way) -> None:
        guarantee = way.prepare(COUNTS, unit="person", rows_per_person=3, epsilon="1/2").guarantee
        assert guarantee.epsilon == Fraction(1, 2)
        assert guarantee.unit == "person"
        assert (guarantee.rho is not None) == (way.mechanism == "gaussian")
        assert any("3 rows" in fact for fact in guarantee.public)

    def test_noise_grows_with_the_rows_that_a_person_may_have(self) -> None:
        def scales(rows: int) -> list[Fraction]:
            heard: list[Fraction] = []

            def listen(values: Any, scale: Fraction) -> list[int]:
                heard.append(scale)
                return list(values)

            noise = dataclasses.replace(SILENT, discrete_laplace=listen)
            Way("prevalence", "laplace", "replace-one").prepare(
                COUNTS, unit="person", rows_per_person=rows, noise=noise
            ).draw()
            return heard

        assert scales(3) == [3 * scale for scale in scales(1)]

    @pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2", None])
    def test_a_number_of_rows_is_a_whole_number(self, rows: Any) -> None:
        with pytest.raises(ParameterError, match="whole number of at least 1"):
            prepare("auc", COUNTS, epsilon=1, unit="person", rows_per_person=rows, noise=FORBIDDEN)

    def test_rows_have_no_rows(self) -> None:
        with pytest.raises(ParameterError, match="`unit` person"):
            prepare("auc", COUNTS, epsilon=1, rows_per_person=2, noise=FORBIDDEN)
