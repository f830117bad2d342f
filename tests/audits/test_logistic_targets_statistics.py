"""The audit does not refute private logistic regression, and does catch what is easily got wrong with it.

A mechanism that holds is refuted with a probability of at most 10^-4; each twin escapes with less than 10^-3.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from confide.audits.learning import logistic_targets, logistic_twins
from confide.audits.run import audit
from confide.audits.subject import Subject
from confide.features import FeatureRows
from confide.privacy.mechanisms.objective_perturbation import objective_perturbation
from confide.privacy.mechanisms.output_perturbation import output_perturbation
from confide.privacy.neighbours import Neighbours

TARGETS = tuple(logistic_targets(Fraction(1)))
TWINS = tuple(logistic_twins(Fraction(1)))


def named(subject: Subject[Any]) -> str:
    return f"{subject.name}-{subject.neighbours}"


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("target", TARGETS, ids=named)
def test_what_is_proven_is_not_refuted(target: Subject[FeatureRows]) -> None:
    assert audit(target, draws=24_000).verdict == "not refuted"


@pytest.mark.few(1)
@pytest.mark.statistical
@pytest.mark.parametrize("twin", TWINS, ids=named)
def test_what_is_broken_is_caught(twin: Subject[FeatureRows]) -> None:
    assert audit(twin, draws=80_000).lower_bound > 1.0


@pytest.mark.statistical
def test_the_audit_is_not_blind() -> None:
    """At a larger epsilon weights of neighbours can be told apart, and the bound found stays below the claim."""
    for target in logistic_targets(Fraction(5)):
        if (target.name, target.neighbours) == ("logistic-regression/objective", Neighbours.LABEL_ONLY):
            assert 1.0 < audit(target, draws=40_000).lower_bound <= 5.0


def test_every_method_is_audited_under_every_relation() -> None:
    for proven in (objective_perturbation, output_perturbation):
        assert {target.neighbours for target in TARGETS if target.proven == (proven,)} == set(Neighbours)


@pytest.mark.parametrize("subject", [*TARGETS, *TWINS], ids=named)
def test_pairs_are_neighbours(subject: Subject[FeatureRows]) -> None:
    for first, second in subject.pairs:
        ours, theirs = (rows_of(rows) for rows in (first, second))
        common = ours[: min(len(ours), len(theirs)) - (len(ours) == len(theirs))]
        assert ours[: len(common)] == theirs[: len(common)]
        changed = (len(ours) - len(common), len(theirs) - len(common))
        assert changed == ((1, 0) if subject.neighbours == Neighbours.ADD_REMOVE_ONE else (1, 1))
        if subject.neighbours == Neighbours.LABEL_ONLY:
            assert ours[-1][1] == theirs[-1][1]


def rows_of(rows: FeatureRows) -> list[tuple[bool, tuple[int, ...]]]:
    return [
        (bool(label), tuple(rows.features[start:stop].tolist()))
        for label, start, stop in zip(rows.labels, rows.starts[:-1], rows.starts[1:], strict=True)
    ]
