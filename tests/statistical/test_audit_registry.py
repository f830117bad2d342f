"""The audit knows every mechanism, draws what a release draws, and compares datasets that are neighbours."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from confide.audit.subject import Query, Subject
from confide.audit.targets import DELTA, GRID, THRESHOLD, targets
from confide.audit.twins import twins
from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.privacy import mechanisms
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.reals import ExactReal, as_real, lower_bound, upper_bound
from confide.privacy.queries import IntegerQuery, Noise
from confide.releases.registry import RELEASABLE

EPSILON = Fraction(3, 4)
TARGETS = targets(EPSILON)
MADE_OF_NOISE = ("IntegerQuery", "RealQuery", "Calibration")

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.name}-{target.neighbours}")


def proven_functions() -> set[Callable[..., Any]]:
    """Every public function under `privacy/mechanisms` that says which noise is added to what."""
    found: set[Callable[..., Any]] = set()
    for module in pkgutil.iter_modules(mechanisms.__path__, f"{mechanisms.__name__}."):
        loaded = importlib.import_module(module.name)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            own = function.__module__ == module.name and not name.startswith("_")
            if own and function.__annotations__.get("return") in MADE_OF_NOISE:
                found.add(function)
    return found


def test_every_mechanism_is_audited() -> None:
    assert proven_functions() == {function for target in TARGETS for function in target.proven}


def test_every_release_is_audited_under_every_relation_that_it_supports() -> None:
    audited = {(target.release, target.neighbours) for target in TARGETS}
    assert len(audited) == len(TARGETS)
    for metric, releasable in RELEASABLE.items():
        for mechanism in releasable.mechanisms:
            for neighbours in Neighbours:
                supported = True
                try:
                    prepared(metric, mechanism, neighbours, TARGETS[0].pairs[0][0])
                except ParameterError:
                    supported = False
                assert (((metric, mechanism), neighbours) in audited) is supported, (metric, mechanism, neighbours)


def prepared(
    metric: str, mechanism: str, neighbours: Neighbours, counts: ScoreCounts, noise: Noise | None = None
) -> Any:
    options = {"grid": GRID} if (metric, mechanism) == ("average_precision", "private-counts") else {}
    threshold = {"threshold": THRESHOLD, "measures": ("accuracy",)} if metric == "confusion" else {}
    drawn = {} if noise is None else {"noise": noise}
    return RELEASABLE[metric].prepare(
        counts,
        epsilon=EPSILON,
        delta=DELTA if mechanism in ("gaussian", "published-laplace") else 0,
        mechanism=mechanism,
        neighbours=neighbours,
        **options,
        **threshold,
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
        def add(value: Fraction, scale: ExactReal, grid: Fraction, **shape: int) -> int:
            calls.append((f"{family} {shape}", (value,), middle(scale)))
            return round(value / grid)

        return add

    return Noise(
        discrete_laplace=integers("laplace"),
        discrete_gaussian=integers("gaussian"),
        laplace=reals("laplace"),
        cauchy=reals("cauchy"),
        student_t=reals("student-t"),
    )


def middle(scale: ExactReal | Fraction) -> Fraction:
    real = as_real(scale)
    return (lower_bound(real) + upper_bound(real)) / 2


def asked(queries: Sequence[Query]) -> list[Call]:
    calls: list[Call] = []
    for query in queries:
        if isinstance(query, IntegerQuery):
            pairs = zip(query.values, query.scales, strict=True)
            calls.extend((query.family, (Fraction(value),), scale) for value, scale in pairs)
        else:
            shape = {"degrees_of_freedom": query.degrees_of_freedom} if query.family == "student-t" else {}
            calls.append((f"{query.family} {shape}", (query.value,), middle(query.scale)))
    return calls


@every_target
def test_the_audit_draws_what_the_release_draws(target: Subject) -> None:
    assert target.release is not None
    assert target.queries is not None
    for counts in target.pairs[0]:
        if not counts.total_positives + counts.total_negatives:
            continue
        calls: list[Call] = []
        release = prepared(*target.release, target.neighbours, counts, recording(calls))
        release.draw()
        assert calls == asked(target.queries(counts))
        assert release.guarantee.epsilon == target.epsilon
        assert release.guarantee.delta == target.delta


def rows(counts: ScoreCounts) -> Counter[tuple[int, float]]:
    found: Counter[tuple[int, float]] = Counter()
    for score, positives, negatives in zip(counts.scores, counts.positives, counts.negatives, strict=True):
        found.update({(1, float(score)): int(positives), (0, float(score)): int(negatives)})
    return +found


def are_neighbours(first: ScoreCounts, second: ScoreCounts, neighbours: Neighbours) -> bool:
    gone, come = rows(first) - rows(second), rows(second) - rows(first)
    sizes = (gone.total(), come.total())
    if neighbours == Neighbours.ADD_REMOVE_ONE:
        return sizes in ((0, 1), (1, 0))
    if neighbours == Neighbours.LABEL_ONLY and sizes == (1, 1):
        return next(iter(gone))[1] == next(iter(come))[1]
    return neighbours == Neighbours.REPLACE_ONE and sizes == (1, 1)


@pytest.mark.parametrize(
    "subject", [*TARGETS, *twins(EPSILON)], ids=lambda target: f"{target.name}-{target.neighbours}"
)
def test_pairs_are_neighbours(subject: Subject) -> None:
    assert subject.pairs
    for first, second in subject.pairs:
        assert are_neighbours(first, second, subject.neighbours)


@every_target
def test_integers_with_laplace_noise_are_strained_to_their_epsilon(target: Subject) -> None:
    """Every pair attains the sensitivity exactly, so that a bound near the claim can be expected."""
    from confide.audit.exhaustive import loss

    assert target.queries is not None
    for first, second in target.pairs:
        ours, theirs = target.queries(first), target.queries(second)
        if target.delta or not all(isinstance(query, IntegerQuery) for query in (*ours, *theirs)):
            continue
        assert sum(map(loss, ours, theirs)) == target.epsilon  # type: ignore[arg-type]


def test_every_twin_says_what_is_wrong() -> None:
    every = twins(EPSILON)
    assert all(twin.wrong for twin in every)
    assert not any(target.wrong for target in TARGETS)
    assert len({twin.name for twin in every} | {target.name for target in TARGETS}) == len(every) + len(
        {target.name for target in TARGETS}
    )
