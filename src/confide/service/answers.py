"""Answers that are paid one by one, for contests whose labels lie beside the server."""

from __future__ import annotations

from pathlib import Path

from confide.contest.bundle import ServerBundle
from confide.counts import FloatArray
from confide.errors import BudgetError, LedgerError
from confide.intervals.interval import Interval, normal_quantile
from confide.service.problems import LOG, Kind, Refused
from confide.service.scoring import Scored, Scorer
from confide.tasks.contest_answer import answerer


def answer_scorer(bundle: ServerBundle, *, labels: Path, ledger: str | None, account: str | None) -> Scorer:
    """Return the scorer of a contest that charges each answer. The same question again costs nothing."""
    answer = answerer(bundle, labels, ledger=ledger, account=account)
    metric = bundle.terms.metric

    def score(scores: FloatArray) -> Scored:
        try:
            found = answer(scores)
        except BudgetError:
            raise Refused(
                Kind.BUDGET_SPENT,
                "the budget for answers is spent; nothing was charged or counted",
                "ask the organiser whether the contest will get a larger budget",
            ) from None
        except LedgerError as error:
            LOG.error("the ledger cannot be charged: %s", error)
            raise Refused(
                Kind.BUSY, "the ledger cannot be charged now", "send the file again in a minute", retry_after=30
            ) from None
        return Scored(
            value=found.value,
            goodness=metric.goodness(found.value),
            standard_error=_standard_error(found.population),
            detail={"sample": found.sample.to_dict(), "population": found.population.to_dict()},
            influence=None,
        )

    return score


def _standard_error(interval: Interval) -> float:
    return interval.width / (2.0 * normal_quantile(interval.level))
