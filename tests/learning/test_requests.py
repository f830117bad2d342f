"""What a request for a selection says, refuses and promises, before and after noise is drawn."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from confide.errors import ParameterError
from confide.features import FeatureRows
from confide.learning import METHODS, Selection, prepare_selection
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from tests.learning.data import random_rows, read
from tests.noises import FORBIDDEN, Deaf, seeded

ROWS = read(*random_rows(0))
EMPTY = FeatureRows.from_matrix(np.zeros((0, 12), dtype=np.int64), np.zeros(0, dtype=np.bool_))

WANTED: dict[str, dict[str, Any]] = {
    "score-perturbation": {"k": 3},
    "sparse-vector": {"k": 3, "threshold": 100},
    "peeling": {"k": 3},
    "permute-and-flip": {"k": 3},
    "clusters": {"threshold": 100},
}


class Untouchable:
    """Data that nobody may look at yet."""

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"the data were looked at: {name}")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"method": "peel", "k": 3}, "Did you mean 'peeling'"),
    ({"method": None, "k": 3}, "method must be one of"),
    ({"method": "peeling", "k": 3, "score": "total-cout"}, "Did you mean 'total-count'"),
    ({"method": "peeling"}, "peeling needs k, the number of features"),
    ({"method": "permute-and-flip"}, "permute-and-flip needs k"),
    ({"method": "peeling", "k": 3, "threshold": 5}, "takes no threshold; leave it out, or choose .* sparse-vector"),
    ({"method": "peeling", "k": 3, "clusters": 5}, "takes no clusters; leave it out, or choose .* clusters"),
    ({"method": "score-perturbation"}, "give exactly one"),
    ({"method": "score-perturbation", "k": 3, "threshold": 5}, "give exactly one"),
    ({"method": "sparse-vector", "k": 3}, "needs threshold, the score that a feature must reach"),
    ({"method": "sparse-vector", "threshold": 3}, "needs k"),
    ({"method": "clusters"}, "needs threshold"),
    ({"method": "clusters", "threshold": 5, "k": 3}, "takes no k"),
    ({"method": "clusters", "threshold": 5, "clusters": 0}, "clusters must be a whole number"),
    *(({"method": "peeling", "k": k}, "k must be a whole number") for k in (0, -1, 2.5, "3", True)),
    *(
        ({"method": "clusters", "threshold": threshold}, "threshold must be a number within")
        for threshold in (float("nan"), float("inf"), "5", True, 10**400, 1e13)
    ),
    ({"method": "score-perturbation", "k": 3, "most_features": 0}, "most_features must be a whole number"),
    ({"method": "peeling", "k": 3, "epsilon": 0}, "greater than 0"),
    ({"method": "peeling", "k": 3, "neighbours": "everybody"}, "replace-one, add-remove-one, label-only"),
    ({"method": "peeling", "k": 3, "unit": "family"}, "row, person"),
    ({"method": "peeling", "k": 3, "rows_per_person": 2}, "`unit` person"),
    ({"method": "peeling", "k": 3, "part": Part("a", "b"), "neighbours": "replace-one"}, "may leave a part"),
]


@pytest.mark.parametrize(("wrong", "hint"), WRONG)
def test_wrong_parameters_are_refused_before_the_data_are_looked_at(wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        prepare_selection(Untouchable(), **{"epsilon": 1, "noise": FORBIDDEN, **wrong})  # type: ignore[arg-type]


def test_rows_must_be_rows_and_have_as_many_features_as_are_asked_for() -> None:
    with pytest.raises(ParameterError, match=r"FeatureRows\.from_matrix"):
        prepare_selection([[0, 1]], method="peeling", k=1, epsilon=1, noise=FORBIDDEN)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at most the number of features, 12"):
        prepare_selection(ROWS, method="peeling", k=13, epsilon=1, noise=FORBIDDEN)


@pytest.mark.parametrize("method", METHODS)
def test_information_gain_needs_a_public_number_of_rows(method: str) -> None:
    wanted = {"method": method, "score": "information-gain", "epsilon": 1, "noise": FORBIDDEN, **WANTED[method]}
    with pytest.raises(ParameterError, match="replace-one"):
        prepare_selection(ROWS, **wanted)
    prepare_selection(ROWS, neighbours="replace-one", **wanted)


@pytest.mark.parametrize("neighbours", ["add-remove-one", "label-only"])
def test_a_request_may_be_about_one_part_of_the_rows(neighbours: str) -> None:
    part = Part("halves by a hash", "first")
    assert prepare_selection(ROWS, method="peeling", k=3, epsilon=1, neighbours=neighbours, part=part).part == part


@pytest.mark.parametrize("method", METHODS)
def test_no_noise_is_drawn_before_it_is_paid(method: str) -> None:
    prepared = prepare_selection(ROWS, method=method, epsilon=1, noise=FORBIDDEN, **WANTED[method])
    with pytest.raises(pytest.fail.Exception, match="noise was drawn"):
        prepared.draw()


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("method", METHODS)
def test_the_answer_is_rebuilt_exactly(method: str, neighbours: Neighbours) -> None:
    score = "difference-count"
    prepared = prepare_selection(
        ROWS, method=method, score=score, epsilon="1/3", neighbours=neighbours, noise=seeded(1), **WANTED[method]
    )
    (drawn,) = prepared.draw()
    stored = json.loads(json.dumps(drawn.to_dict(), allow_nan=False))
    assert prepared.read(stored, prepared.guarantee) == drawn
    assert pickle.loads(pickle.dumps(drawn)) == drawn  # noqa: S301
    assert (drawn.method, drawn.score, drawn.width) == (method, score, 12)
    assert drawn.guarantee == prepared.guarantee
    assert drawn.guarantee.epsilon == Fraction(1, 3)
    assert drawn.guarantee.delta == 0
    assert np.flatnonzero(drawn.support).tolist() == list(drawn.features)


@pytest.mark.parametrize("method", METHODS)
def test_the_request_says_all_that_the_answer_depends_on(method: str) -> None:
    def request(**more: Any) -> str:
        given = {"epsilon": 1, "most_features": 5, **WANTED[method], **more}
        return json.dumps(dict(prepare_selection(ROWS, method=method, **given).request), sort_keys=True)

    others = [{name: value + 1} for name, value in WANTED[method].items()]
    others += [{"score": "purity-index"}, {"most_features": 6}]
    others += [{"clusters": 3}] if method == "clusters" else []
    assert len({request(), *(request(**other) for other in others)}) == 1 + len(others)
    assert request() == request()


def test_rows_are_limited_only_where_that_lessens_the_noise() -> None:
    limits = {
        (method, score): prepare_selection(
            ROWS, method=method, score=score, epsilon=1, neighbours="replace-one", **WANTED[method]
        ).request.get("most_features")
        for method in METHODS
        for score in ("total-count", "difference-count", "purity-index", "information-gain")
    }
    helped = {case for case, limit in limits.items() if limit == 10}
    assert helped == {
        (method, score)
        for method in ("score-perturbation", "clusters")
        for score in ("total-count", "difference-count")
    }
    assert {limit for case, limit in limits.items() if case not in helped} == {None}


def test_what_is_not_hidden_is_said() -> None:
    def public(**more: Any) -> tuple[str, ...]:
        return prepare_selection(ROWS, epsilon=1, score="difference-count", **more).guarantee.public

    assert public(method="peeling", k=1) == ("which features there are",)
    assert public(method="clusters", threshold=1) == ("which features there are", "threshold")
    assert "number of rows" in public(method="peeling", k=1, neighbours="replace-one")
    labels_only = public(method="peeling", k=1, neighbours="label-only")
    assert {"features of every row", "number of rows"} <= set(labels_only)
    assert "scores" not in labels_only


@pytest.mark.parametrize("method", METHODS)
def test_answers_depend_on_the_rows_through_noise_alone(method: str) -> None:
    """Noise that is deaf to the data gives the same answer whatever they are; its scales are the same in any case.

    The sparse vector compares scores with noise added to them here, so its answer is not drowned.
    """
    drawn = []
    for rows in (ROWS, read(*random_rows(1, rows=37)), EMPTY):
        deaf = Deaf(level=95)
        prepared = prepare_selection(rows, method=method, epsilon=1, noise=deaf.noise(), **WANTED[method])
        answer = prepared.draw()
        drowned = None if method == "sparse-vector" else answer
        drawn.append((drowned, tuple(deaf.heard), prepared.request, prepared.guarantee))
    assert drawn[0] == drawn[1] == drawn[2]


def test_a_person_with_several_rows_gets_more_noise() -> None:
    heard = []
    for rows_per_person in (1, 3):
        deaf = Deaf()
        prepare_selection(
            ROWS,
            method="score-perturbation",
            k=2,
            epsilon=1,
            unit="person",
            rows_per_person=rows_per_person,
            noise=deaf.noise(),
        ).draw()
        heard.append(deaf.heard)
    assert heard == [[("laplace", 12, Fraction(10))], [("laplace", 12, Fraction(30))]]


def test_nothing_may_be_found() -> None:
    for method in ("score-perturbation", "sparse-vector", "clusters"):
        more: dict[str, Any] = {"k": 3} if method == "sparse-vector" else {}
        (drawn,) = prepare_selection(ROWS, method=method, epsilon=10**6, threshold=10**6, **more).draw()
        assert drawn.features == ()
        assert not drawn.support.any()
        assert str(drawn) == f"0 of 12 features by {method} on total-count (epsilon = 1e+06)"


def test_a_selection_checks_itself() -> None:
    guarantee = Guarantee(epsilon=Fraction(1), neighbours=Neighbours.ADD_REMOVE_ONE)
    given: dict[str, Any] = {"width": 4, "method": "peeling", "score": "total-count", "guarantee": guarantee}
    for features in ((1, 0), (1, 1), (-1,), (4,)):
        with pytest.raises(ParameterError, match="ascending"):
            Selection(features=features, **given)
    with pytest.raises(ParameterError, match="one number for each"):
        Selection(features=(1, 2), scores=(1.0,), **given)
    with pytest.raises(ParameterError, match=r"confide\.selection/1"):
        Selection.from_dict({"schema": "confide.release/1"}, guarantee)
