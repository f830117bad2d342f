"""Answer submissions one by one from true labels, each charged to an account: for vendors with few questions.

Every answer is a release with label-only neighbours about the public rows. The same scores of these rows get the same
answer at no further cost. The labels lie beside the server, so only the data holder can serve such a contest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.contest.bundles import ServerBundle
from confide.contest.metric import KINDS, ContestMetric
from confide.contest.terms import Mode
from confide.counts import FloatArray, ScoreCounts
from confide.errors import DataError, ParameterError
from confide.intervals.interval import Interval
from confide.ledger.payer import FileSubject, LedgerPlace, Payer, open_ledger
from confide.ledger.question import score_digest
from confide.ledger.receipts import Receipt
from confide.ledger.spending import Budget
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.registry import RELEASE_METRICS, prepare
from confide.releases.release import Release
from confide.sources.digests import raw_bytes
from confide.tasks.contest_folder import PUBLIC, identify_data, read_split

ANSWERED = tuple(name for name in KINDS if name in RELEASE_METRICS)
"""Metrics that can be charged answer by answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestAnswer:
    """Answer to one submission, its intervals, and what it cost."""

    value: float
    sample: Interval
    population: Interval
    charged: Budget
    remaining: Budget
    reused: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "value": self.value,
            "sample": self.sample.to_dict(),
            "population": self.population.to_dict(),
            "charged": self.charged.to_dict(),
            "remaining": self.remaining.to_dict(),
            "reused": self.reused,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answerer:
    """Answers submissions to a contest. Call it with the scores of all rows, in the order of the template."""

    bundle: ServerBundle
    payer: Payer
    labels: NDArray[np.bool_]
    part: Part

    def __call__(self, scores: FloatArray) -> ContestAnswer:
        """Charge one answer and draw its noise. Raises BudgetError if the account cannot pay."""
        terms = self.bundle.terms
        rows = np.ascontiguousarray(scores, dtype=np.float64)[self.bundle.public]
        (prepared,) = prepare(
            terms.metric.name,
            ScoreCounts.from_arrays(self.labels, rows, one_class=True),
            epsilon=terms.epsilon,
            neighbours=Neighbours.LABEL_ONLY,
            level=terms.level,
            threshold=terms.metric.threshold,
        )
        receipt: Receipt[Release] = self._payer(rows).pay(replace(prepared, part=self.part))
        answer = receipt.releases[0]
        return ContestAnswer(
            value=answer.value,
            sample=answer.intervals.sample,
            population=answer.intervals.population,
            charged=receipt.charged,
            remaining=receipt.remaining,
            reused=receipt.reused,
        )

    def _payer(self, rows: FloatArray) -> Payer:
        subject = self.payer.subject
        if not isinstance(subject, FileSubject):
            raise TypeError("the labels of a contest are a file")
        details = {**subject.details, "scores": score_digest(rows)}
        return replace(self.payer, subject=replace(subject, details=details))


def answerer(
    bundle: ServerBundle, labels_file: str | Path, *, account: str | None = None, ledger: LedgerPlace = None
) -> Answerer:
    """Read the labels of a contest that charges each answer, and return what answers its submissions.

    `labels_file` and `ledger` are those that the contest was made with. The account names the column of labels and the
    positive one.
    """
    terms = bundle.terms
    if terms.mode != Mode.PER_ANSWER:
        raise ParameterError(f"contest {terms.name!r} answers from masked labels; leave the file of labels out")
    file = Path(labels_file)
    subject = FileSubject(
        file=file, **_labels(file, account, ledger), details={"contest": "answer", "id": terms.id_column}
    )
    payer, _, _ = identify_data(Payer(subject=subject, ledger=ledger, account=account))
    labels = read_split(subject, ledger, id_column=terms.id_column, share=terms.public_share)
    if labels.rows.ids != bundle.template.ids or not np.array_equal(labels.places(PUBLIC), bundle.public):
        raise DataError(
            "the file of labels or the ledger is not the one that the contest was made with; give those, or make the "
            "contest again"
        )
    return Answerer(bundle, payer, labels.labels(PUBLIC), labels.split.part(PUBLIC))


def _labels(file: Path, account: str | None, ledger: LedgerPlace) -> dict[str, Any]:
    """Return the column of labels and the positive one, as the account has them."""
    with open_ledger(ledger) as book:
        found = book.find_account(account, data=book.identify(raw_bytes(file)))
    if found.neighbours != Neighbours.LABEL_ONLY or found.terms.label is None:
        raise ParameterError(
            f"account {found.name!r} does not have label-only neighbours; name the account that the contest was made "
            "with (`account`)"
        )
    return {"label": found.terms.label, "positive": found.terms.positive}


def require_answered(metric: ContestMetric) -> None:
    """Refuse a metric that cannot be charged answer by answer."""
    if metric.name not in ANSWERED:
        raise ParameterError(
            f"{metric.title} cannot be charged answer by answer; mask the labels instead (without `per_answer`), or "
            f"choose from {', '.join(ANSWERED)}"
        )
