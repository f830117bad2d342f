"""The audit knows every mechanism, draws what a release draws, and compares datasets that are neighbours."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide.audits.subject import DELTA, Query, Subject
from confide.audits.targets import GRID, THRESHOLD, targets
from confide.audits.twins import twins
from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.grid import Grid
from confide.privacy import mechanisms
from confide.privacy.accounting import rho_for
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import (
    ExactReal,
    as_real,
    lower_bound,
    lower_exponential,
    upper_bound,
    upper_exponential,
)
from confide.privacy.queries import GRID as REAL_GRID
from confide.privacy.queries import (
    CutQuery,
    FlipQuery,
    FollowedQuery,
    IntegerQuery,
    Noise,
    RealQuery,
    ThresholdQuery,
    TopQuery,
)
from confide.releases.counting import FAMILIES, PUBLISHED
from confide.releases.grids import Automatic, PrivateQuantiles, RecursiveMedians, grid_source
from confide.releases.registry import RELEASABLE
from tests.selection_odds import largest_loss

EPSILON = Fraction(3, 4)
TARGETS = targets(EPSILON)

WITHOUT_RELEASE = {"contest", "features", "learning", "logistic-regression", "shares"}
"""What is drawn to select features and to learn, by steps of their own, what several sites draw together, and what a
contest draws."""

GAUSSIAN_WITHOUT_RELEASE = ("contest/shaped-gaussian", "features/gaussian-scores", "learning/gaussian-counts")


def named(subject: Subject[Any]) -> str:
    return f"{subject.name}-{subject.neighbours}"


every_target = pytest.mark.parametrize("target", TARGETS, ids=named)


def proven_functions() -> set[Callable[..., Any]]:
    """Every public function under `privacy/mechanisms` that says which noise is added to what, or draws it itself."""
    found: set[Callable[..., Any]] = set()
    for module in pkgutil.iter_modules(mechanisms.__path__, f"{mechanisms.__name__}."):
        loaded = importlib.import_module(module.name)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            own = function.__module__ == module.name and not name.startswith("_")
            types = function.__annotations__
            if own and (types.get("return", "").endswith(("Query", "Calibration")) or types.get("noise") == "Noise"):
                found.add(function)
    return found


def test_every_mechanism_is_audited() -> None:
    assert proven_functions() == {function for target in TARGETS for function in target.proven}


def test_every_release_is_audited_under_every_relation_that_it_supports() -> None:
    audited = {(target.release, target.neighbours) for target in TARGETS}
    assert len({(target.name, target.neighbours) for target in TARGETS}) == len(TARGETS)
    for metric, releasable in RELEASABLE.items():
        for mechanism in releasable.mechanisms:
            for neighbours in Neighbours:
                supported = True
                try:
                    prepared(metric, mechanism, neighbours, TARGETS[0].pairs[0][0])
                except ParameterError:
                    supported = False
                assert (((metric, mechanism), neighbours) in audited) is supported, (metric, mechanism, neighbours)


def test_every_strategy_and_every_way_to_find_a_grid_is_audited() -> None:
    """One release of curves can be asked for in many ways: each kind of noise has each strategy."""
    options = [
        (target.release, target.neighbours, target.options.get("strategy"))
        for target in TARGETS
        if isinstance(target.options.get("grid"), Grid)
    ]
    for mechanism in FAMILIES:
        for strategy in ("flat", "tree:2", "haar"):
            for neighbours in Neighbours:
                assert (("curves", mechanism), neighbours, strategy) in options
    found = {(type(grid_source(target.options.get("grid"))), target.neighbours) for target in TARGETS if target.steps}
    private = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ONE)
    assert found == {
        (source, neighbours) for source in (Automatic, PrivateQuantiles, RecursiveMedians) for neighbours in private
    }


def test_an_auc_beside_counts_is_audited_under_every_relation() -> None:
    """By the rank sum, where one row strains both, and at the local scale, where the number of rows is private."""
    beside = {target.neighbours: target for target in TARGETS if target.options.get("with_auc")}
    assert set(beside) == set(Neighbours)
    for neighbours, target in beside.items():
        assert target.queries is not None
        asked = target.queries(target.pairs[0][0])
        local = neighbours == Neighbours.ADD_REMOVE_ONE
        assert any(isinstance(query, FollowedQuery) for query in asked) == local


def prepared(
    metric: str,
    mechanism: str,
    neighbours: Neighbours,
    counts: ScoreCounts,
    noise: Noise | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    given = dict(options or {})
    if (metric, mechanism) == ("average_precision", "private-counts"):
        given["grid"] = GRID
    if metric == "confusion":
        given |= {"threshold": THRESHOLD, "measures": ("accuracy",)}
    drawn = {} if noise is None else {"noise": noise}
    return RELEASABLE[metric].prepare(
        counts,
        epsilon=EPSILON,
        delta=DELTA if mechanism in ("gaussian", "published-laplace") else 0,
        mechanism=mechanism,
        neighbours=neighbours,
        **given,
        **drawn,
    )


Call = tuple[str, tuple[Fraction, ...], Fraction]


def recording(calls: list[Call]) -> Noise:
    """Noise that adds nothing and writes down what it was asked for."""

    def integers(family: str) -> Callable[[Sequence[int], Fraction], list[int]]:
        def add(values: Sequence[int], scale: Fraction) -> list[int]:
            calls.extend((family, (Fraction(value),), scale) for value in values)
            return list(values)

        return add

    def reals(family: str) -> Callable[..., int]:
        def add(value: Fraction, scale: ExactReal | Fraction, grid: Fraction, **shape: Any) -> int:
            calls.append((f"{family} {shape}", (value,), middle(scale)))
            return round(value / grid)

        return add

    def choose(costs: Sequence[int], rate: Fraction) -> int:
        calls.append(("choice", tuple(Fraction(int(cost)) for cost in costs), rate))
        return int(np.argmin(costs))

    return Noise(
        discrete_laplace=integers("laplace"),
        discrete_gaussian=integers("gaussian"),
        laplace=reals("laplace"),
        cauchy=reals("cauchy"),
        student_t=reals("student-t"),
        pareto=reals("pareto"),
        pareto_between=reals("pareto, cut"),
        exponential_choice=choose,
    )


def middle(scale: ExactReal | Fraction) -> Fraction:
    real = as_real(scale)
    return (lower_bound(real) + upper_bound(real)) / 2


def asked(queries: Sequence[Query]) -> list[Call]:
    calls: list[Call] = []
    for query in queries:
        if isinstance(query, FollowedQuery):
            # Without noise, the number is its value on the grid; what follows is asked for after it.
            following = query.then(round(query.first.value / REAL_GRID) * REAL_GRID)
            calls += asked([query.first]) + asked([] if following is None else [following])
        elif isinstance(query, IntegerQuery):
            pairs = zip(query.values, query.scales, strict=True)
            calls.extend((query.family, (Fraction(value),), scale) for value, scale in pairs)
        elif isinstance(query, CutQuery):
            shape: dict[str, object] = {"shape": query.shape, "lowest": 0, "highest": int(1 / REAL_GRID)}
            calls.append((f"pareto, cut {shape}", (query.value,), middle(query.scale)))
        elif isinstance(query, RealQuery):
            if query.family == "student-t":
                shape = {"degrees_of_freedom": query.degrees_of_freedom}
            else:
                shape = {} if query.shape is None else {"shape": query.shape}
            calls.append((f"{query.family} {shape}", (query.value,), middle(query.scale)))
    return calls


def drawn(target: Subject[Any], counts: ScoreCounts) -> list[Call]:
    if target.queries is not None:
        return asked(target.queries(counts))
    calls: list[Call] = []
    assert target.steps is not None
    target.steps.sample(counts, 1, recording(calls))
    return calls


def test_only_selection_learning_and_sums_over_sites_have_no_release_of_a_metric() -> None:
    assert {target.name.split("/")[0] for target in TARGETS if target.release is None} == WITHOUT_RELEASE


@pytest.mark.parametrize("target", [target for target in TARGETS if target.release], ids=named)
def test_the_audit_draws_what_the_release_draws(target: Subject[Any]) -> None:
    assert target.release is not None
    for counts in (counts for pair in target.pairs for counts in pair):
        if not counts.total_positives + counts.total_negatives:
            continue
        calls: list[Call] = []
        release = prepared(*target.release, target.neighbours, counts, recording(calls), target.options)
        release.draw()
        assert calls == drawn(target, counts)
        assert release.guarantee.epsilon == target.epsilon
        assert release.guarantee.delta == target.delta


def test_what_follows_auc_is_audited() -> None:
    """One pair of neighbours under each relation is followed by an integer that differs."""
    local = [target for target in TARGETS if target.name == "auc/local"]
    assert len(local) == 3
    for target in local:
        assert target.queries is not None
        asked_last = [asked(target.queries(counts)[:1])[-1] for counts in target.pairs[-1]]
        assert {family for family, _, _ in asked_last} == {"laplace"}
        assert asked_last[0][1:] != asked_last[1][1:]


Row = tuple[int, object]
"""A label, and a score, the features or the place of the row."""


Dataset = ScoreCounts | FeatureRows | tuple[bool, ...]
"""What a mechanism takes; labels alone belong to rows of public places."""


def rows(data: Dataset) -> Counter[Row]:
    found: Counter[Row] = Counter()
    if isinstance(data, tuple):
        return Counter((int(label), place) for place, label in enumerate(data))
    if isinstance(data, FeatureRows):
        ends = zip(data.labels, data.starts[:-1], data.starts[1:], strict=True)
        return Counter((int(label), tuple(data.features[start:stop].tolist())) for label, start, stop in ends)
    for score, positives, negatives in zip(data.scores, data.positives, data.negatives, strict=True):
        found.update({(1, float(score)): int(positives), (0, float(score)): int(negatives)})
    return +found


def are_neighbours(first: Dataset, second: Dataset, neighbours: Neighbours) -> bool:
    gone, come = rows(first) - rows(second), rows(second) - rows(first)
    sizes = (gone.total(), come.total())
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        return sizes in ((0, 1), (1, 0))
    if neighbours == Neighbours.LABEL_ONLY and sizes == (1, 1):
        return next(iter(gone))[1] == next(iter(come))[1]
    return neighbours == Neighbours.REPLACE_ONE and sizes == (1, 1)


@pytest.mark.parametrize("subject", [*TARGETS, *twins(EPSILON)], ids=named)
def test_pairs_are_neighbours(subject: Subject[Any]) -> None:
    assert subject.pairs
    for first, second in subject.pairs:
        assert are_neighbours(first, second, subject.neighbours)


@every_target
def test_integers_with_laplace_noise_are_strained_to_their_epsilon(target: Subject[Any]) -> None:
    """Every pair attains the sensitivity exactly, so that a bound near the claim can be expected.

    The papers' curves spend a part of epsilon alone.
    """
    from tests.audits.exhaustive import loss

    assert (target.spent < 1) == (target.release is not None and target.release[1] in PUBLISHED and not target.steps)
    for first, second in target.pairs if target.queries else ():
        assert target.queries is not None
        ours, theirs = target.queries(first), target.queries(second)
        if target.delta or not all(isinstance(query, IntegerQuery) for query in (*ours, *theirs)):
            continue
        assert sum(map(loss, ours, theirs)) == target.epsilon * target.spent  # type: ignore[arg-type]


@every_target
def test_integers_with_gaussian_noise_are_strained_to_their_rho(target: Subject[Any]) -> None:
    from tests.audits.exhaustive import concentrated_loss

    rho = rho_for(target.epsilon, DELTA)
    released = target.release is not None and target.release[1] == "gaussian"
    for first, second in target.pairs if released or target.name in GAUSSIAN_WITHOUT_RELEASE else ():
        assert target.queries is not None
        (ours,), (theirs,) = target.queries(first), target.queries(second)
        assert isinstance(ours, IntegerQuery)
        assert isinstance(theirs, IntegerQuery)
        assert rho * (1 - Fraction(1, 2**50)) < concentrated_loss(ours, theirs) <= rho


def test_masked_labels_are_strained_to_their_epsilon() -> None:
    """The loss is within 2^-60 of the claim, and never above it; with a flip less in 2^64 it would be."""
    (target,) = (target for target in TARGETS if target.name == "contest/masked-labels")
    assert target.queries is not None
    for data in target.pairs[0]:
        (query,) = target.queries(data)
        assert isinstance(query, FlipQuery)
        odds = (1 - query.probability) / query.probability
        assert odds <= lower_exponential(EPSILON)
        assert odds * (1 + Fraction(1, 2**60)) > upper_exponential(EPSILON)
        scarce = query.probability - Fraction(1, 2**64)
        assert (1 - scarce) / scarce > upper_exponential(EPSILON)


def selecting(target: Subject[Any]) -> tuple[ThresholdQuery | TopQuery, ThresholdQuery | TopQuery] | None:
    """What is asked of both datasets, if features are selected."""
    asked = [query for data in target.pairs[0] for query in (target.queries(data) if target.queries else ())]
    first, second = asked if len(asked) == 2 else (None, None)
    if isinstance(first, ThresholdQuery | TopQuery) and isinstance(second, ThresholdQuery | TopQuery):
        return first, second
    return None


@pytest.mark.parametrize("target", [target for target in TARGETS if selecting(target)], ids=named)
def test_selections_are_strained_and_hold(target: Subject[Any]) -> None:
    """By the probability of every selection: most of epsilon is lost, and with half of the noise more than all."""
    pair = selecting(target)
    assert pair is not None
    lost = largest_loss(*pair)
    assert Fraction(1, 2) * target.epsilon < lost <= target.epsilon * (1 + Fraction(1, 10**9))
    assert largest_loss(*map(with_half_of_the_noise, pair)) > target.epsilon


def with_half_of_the_noise(query: ThresholdQuery | TopQuery) -> ThresholdQuery | TopQuery:
    if isinstance(query, TopQuery):
        return replace(query, rate=2 * query.rate)
    return replace(query, threshold_scale=query.threshold_scale / 2, value_scale=query.value_scale / 2)


@pytest.mark.parametrize("target", [target for target in TARGETS if target.steps], ids=lambda target: target.name)
def test_a_release_in_steps_shows_the_grid_and_the_integers(target: Subject[Any]) -> None:
    assert target.steps is not None
    for counts in target.pairs[0]:
        calls: list[Call] = []
        (shown,) = target.steps.sample(counts, 1, recording(calls))
        cells = int(shown[0])
        integers = [float(value) for family, (value, *_), _ in calls[-2 * cells :]]
        edges, first, second = np.split(shown[1:], np.cumsum([target.steps.edges, target.steps.integers]))
        assert (np.diff(edges[: cells - 1]) > 0).all()
        assert not edges[cells - 1 :].any()
        if cells <= target.steps.integers:
            assert [*first[:cells], *second[:cells]] == integers
            assert not first[cells:].any()
            assert not second[cells:].any()


def test_every_twin_says_what_is_wrong() -> None:
    every = twins(EPSILON)
    assert all(twin.wrong for twin in every)
    assert not any(target.wrong for target in TARGETS)
    assert len({twin.name for twin in every} | {target.name for target in TARGETS}) == len(every) + len(
        {target.name for target in TARGETS}
    )
