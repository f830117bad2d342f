"""Final of a contest: one release about all finalists, on rows that no board has used.

It is computed where the labels are, charged once, and stored: an equal request gets the same numbers at no cost.

- A shaped final measures linear forms of the labels with Gaussian noise (see `shaped_final`). Other finalists are
  another request.
- A masked final masks the labels of the final's rows. All else, also for other finalists, follows from these.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.bundles import scores_digest
from confide.contest.estimators import score_entry
from confide.contest.final_result import FinalEntry, FinalResult
from confide.contest.forms import checked_scores
from confide.contest.labels import (
    MaskedLabels,
    checked_rows,
    label_guarantee,
    labels_from_dict,
    labels_to_dict,
    masked_request,
    stored_numbers,
)
from confide.contest.ranks import goodness_variances, rank_entries
from confide.contest.shaped_final import FinalEstimates, ShapedFinal
from confide.contest.terms import ContestTerms, FinalMechanism
from confide.counts import FloatArray
from confide.errors import DataError, ParameterError
from confide.privacy.accounting import rho_for
from confide.privacy.guarantee import Guarantee
from confide.privacy.mechanisms.masked_labels import masked_labels
from confide.privacy.mechanisms.shaped_gaussian import shaped_gaussian
from confide.privacy.noise.integers import float_at_least
from confide.privacy.prepared import Part, Prepared
from confide.privacy.queries import SYSTEM_NOISE, Noise

_ENTRY = 48  # numbers for which the ledger keeps room, for one entry
_FACTS = 100  # and for all facts that are not about an entry
_CHARACTERS = 28  # that it keeps for a number


def prepare_final(
    terms: ContestTerms,
    labels: NDArray[np.bool_],
    finalists: Mapping[str, FloatArray],
    *,
    part: Part | None,
    noise: Noise = SYSTEM_NOISE,
) -> Prepared[FinalResult]:
    """Check the finalists and compute the price of a final.

    `labels` and the finalists' scores are those of the final's rows, in the public order of their ids. Everything is
    checked here, before anything is charged.
    """
    entries = _Finalists.checked(terms, labels, finalists)
    if terms.final_mechanism == FinalMechanism.SHAPED:
        return _shaped(entries, labels, part, noise)
    return _masked(entries, labels, part, noise)


def _shaped(finalists: _Finalists, labels: NDArray[np.bool_], part: Part | None, noise: Noise) -> Prepared[FinalResult]:
    terms = finalists.terms
    rho = rho_for(finalists.epsilon, terms.final_delta)
    final = ShapedFinal.of(terms.metric, [scores for _, scores in finalists.entries])
    query = shaped_gaussian(labels, final.strategy.lines, rho)
    guarantee = label_guarantee(finalists.epsilon, terms.final_delta, rho)
    scale = float_at_least(query.scales[0]) if query.scales else 0.0

    def draw(noise: Noise = noise) -> tuple[FinalResult, ...]:
        return (finalists.result(final.estimates(query.draw(noise), scale, terms.level), guarantee),)

    return Prepared(
        guarantee=guarantee,
        request={
            "metric": "contest-final",
            "mechanism": FinalMechanism.SHAPED.value,
            "contest": terms.name,
            "scored": terms.metric.to_dict(),
            "rows": int(labels.size),
            "level": terms.level,
            "finalists": [[name, scores_digest(scores)] for name, scores in finalists.entries],
        },
        draw=draw,
        read=FinalResult.from_dict,
        part=part,
        numbers=finalists.numbers,
    )


def _masked(finalists: _Finalists, labels: NDArray[np.bool_], part: Part | None, noise: Noise) -> Prepared[FinalResult]:
    """Mask the labels. Finalists are no part of the request: results follow from the stored masked labels."""
    query = masked_labels(labels, finalists.epsilon)
    guarantee = label_guarantee(finalists.epsilon)

    def draw(noise: Noise = noise) -> tuple[FinalResult, ...]:
        return (_from_masked(finalists, MaskedLabels(query.draw(noise), query.probability), guarantee),)

    def read(plain: Mapping[str, Any], guarantee: Guarantee) -> FinalResult:
        return _from_masked(finalists, labels_from_dict(plain["noise"]), guarantee)

    return Prepared(
        guarantee=guarantee,
        request=masked_request("contest-final", labels.size, query.probability),
        draw=draw,
        read=read,
        part=part,
        numbers=finalists.numbers + stored_numbers(labels.size),
    )


def _from_masked(finalists: _Finalists, labels: MaskedLabels, guarantee: Guarantee) -> FinalResult:
    """Score all finalists against masked labels, in pairs."""
    terms = finalists.terms
    scored = [score_entry(terms.metric, scores, labels, level=terms.level) for _, scores in finalists.entries]
    influence = np.vstack([score.influence for score in scored])
    estimates = FinalEstimates(
        values=tuple(score.value for score in scored),
        samples=tuple(score.sample for score in scored),
        populations=tuple(score.population for score in scored),
        covariance=influence @ influence.T / len(labels) ** 2,
        facts=labels_to_dict(labels),
    )
    return finalists.result(estimates, guarantee)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Finalists:
    """Finalists of a contest in order of names, with their scores of the final's rows."""

    terms: ContestTerms
    epsilon: Fraction
    entries: tuple[tuple[str, FloatArray], ...]

    @classmethod
    def checked(cls, terms: ContestTerms, labels: NDArray[np.bool_], finalists: Mapping[str, FloatArray]) -> _Finalists:
        """Check finalists. Messages name no label."""
        if terms.final_epsilon is None:
            raise ParameterError(f"contest {terms.name!r} has no final; make it with a `final_epsilon`")
        if not finalists:
            raise ParameterError("a final needs at least one finalist; ask the participants to submit")
        rows = terms.rows - terms.public_rows
        if checked_rows(labels).size != rows:
            raise DataError(f"the final has {rows:,} rows, and {labels.size:,} labels were given; give the same file")
        entries = tuple(
            (name, checked_scores(terms.metric, scores, rows)) for name, scores in sorted(finalists.items())
        )
        return cls(terms=terms, epsilon=terms.final_epsilon, entries=entries)

    @property
    def numbers(self) -> int:
        """Room for the result in the ledger; a public number."""
        names = sum(math.ceil(len(json.dumps(name)) / _CHARACTERS) for name, _ in self.entries)
        return _FACTS + _ENTRY * len(self.entries) + names

    def result(self, estimates: FinalEstimates, guarantee: Guarantee) -> FinalResult:
        """Rank the finalists, best first."""
        metric = self.terms.metric
        goodness = np.array([metric.goodness(value) for value in estimates.values])
        ranks = rank_entries(goodness, goodness_variances(metric, estimates.covariance), level=self.terms.level)
        entries = [
            FinalEntry(
                name=name,
                digest=scores_digest(scores),
                value=estimates.values[number],
                sample=estimates.samples[number],
                population=estimates.populations[number],
                rank=ranks[number].rank,
                rank_lowest=ranks[number].lowest,
                rank_highest=ranks[number].highest,
            )
            for number, (name, scores) in enumerate(self.entries)
        ]
        mechanism = self.terms.final_mechanism
        return FinalResult(
            contest=self.terms.name,
            metric=metric,
            mechanism=FinalMechanism.MASKED if mechanism is None else mechanism,
            rows=self.terms.rows - self.terms.public_rows,
            entries=tuple(sorted(entries, key=lambda entry: (-metric.goodness(entry.value), entry.name))),
            guarantee=guarantee,
            noise=estimates.facts,
        )
