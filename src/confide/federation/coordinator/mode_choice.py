"""What the choice of a mode means, before anybody is asked: what it rules out later, how wide intervals will be, time.

Everything here follows from public facts: the question, and the stated number of rows. Rows with calibrated scores and
a usual AUC stand in for those of the sites, as in `expected_accuracy`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from confide.counts import ScoreCounts
from confide.errors import ConfideError
from confide.federation.account_price import MANY, AccountPrice, cents
from confide.federation.coordinator.expected_accuracy import Expected, expected_accuracy, stand_in
from confide.federation.coordinator.performance import Performance, pooled_exact, pooled_grouped
from confide.federation.grouped_tables import disclosed
from confide.federation.modes.private import SUPPOSED_ROWS
from confide.federation.modes.registry import mode_named, mode_of
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.federation.tables import SiteTable
from confide.privacy.guarantee import shown

COMPARED = ("disclosure-control", "secure-sum", "private")
USUAL_SECONDS = (10, 20)
"""Seconds that a run of up to ten sites with files takes on free machines, most of them to start and end processes."""

_COMPARED_EPSILON = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeWidth:
    """Expected width of the pooled AUC's interval for the population in a mode; None if the mode cannot be used.

    `epsilon` and `noise` are those of a private question.
    """

    mode: str
    auc_population_width: float | None
    epsilon: str | None = None
    noise: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def consequences(question: Question) -> tuple[str, ...]:
    """Return what an answer to a question makes impossible, or costs, later; a sentence each."""
    mode, model = mode_of(question), repr(question.model)
    if mode.private:
        return (
            *_of_many(question),
            "Another epsilon, other sites or other cells are another question at the full price. After data changed, "
            "ask a new edition, which is paid for again.",
            "No mode is ruled out by this answer. An exact answer about the same rows, in whatever mode, undoes what "
            "the noise hides.",
        )
    others = [name for name in ("disclosure-control", "secure-sum") if mode_named(name) is not mode]
    common = (
        f"Each site answers one question without noise about {model}. After this one it refuses mode "
        f"{' and '.join(others)} for {model}, other cells, bins or groups, and the same question after its data "
        "changed. Only its administrator can lift that (`confide site forget`), and must not if anybody saw the "
        "answer, unless the data were replaced completely. Mode private stays possible."
    )
    if mode.masked:
        return (
            common,
            "It also refuses sums of this model over other sites: choose the sites now. A site that joins later cannot "
            "be added to this sum.",
        )
    return (common,)


def expected_widths(
    question: Question, *, rows: int | None = None, level: float = 0.95, expected: Expected | None = None
) -> tuple[ModeWidth, ...]:
    """Return the width of the pooled AUC's interval that each mode would give for the stated rows.

    A private question that is not the one asked has epsilon 1 and spends all of it on the sum. Beside a question with
    Gaussian noise stands the same with Laplace noise. `expected` is the accuracy of the question itself, if it was
    simulated already.
    """
    stated = SUPPOSED_ROWS * len(question.sites) if rows is None else rows
    every = tuple(_width(question, name, stated, level, expected) for name in COMPARED)
    if question.noise is None:
        return every
    return (*every, _private_width(replace(question, noise=None, delta=None), stated, level, None))


def _of_many(question: Question) -> tuple[str, ...]:
    """Return what many questions with Gaussian noise cost together."""
    price = AccountPrice.of(question)
    if price is None:
        return ()
    return (
        f"{MANY} questions like this one cost epsilon {cents(price.of_many(MANY))} together in a site's account, and "
        f"not {shown(MANY * question.exact_epsilon)}: rho adds up. For a single question Laplace noise of the same "
        "epsilon is smaller, and has no delta.",
    )


def _width(question: Question, name: str, rows: int, level: float, expected: Expected | None) -> ModeWidth:
    asked = question if mode_of(question) is mode_named(name) else _other(question, name, rows)
    if asked is None:
        return ModeWidth(mode=name, auc_population_width=None)
    if mode_of(asked).private:
        return _private_width(asked, rows, level, expected if asked is question else None)
    found = _exact(asked, rows, level).auc.interval
    return ModeWidth(mode=name, auc_population_width=None if found is None else found.width)


def _private_width(asked: Question, rows: int, level: float, expected: Expected | None) -> ModeWidth:
    known = expected or expected_accuracy(asked, rows=rows, level=level)
    return ModeWidth(
        mode=asked.mode,
        auc_population_width=known.pooled.auc_population_width,
        epsilon=asked.epsilon,
        noise=noise_of(asked).family,
    )


def _other(question: Question, name: str, rows: int) -> Question | None:
    """Return the question that would be asked in another mode; None if that mode cannot have it."""
    private = {"epsilon": _COMPARED_EPSILON, "site_share": 0, "rows": rows} if mode_named(name).private else {}
    given: dict[str, Any] = {"study": question.study, "model": question.model, "sites": question.sites, **private}
    try:
        return Question.checked(mode=name, **given)
    except ConfideError:
        return None


def _exact(question: Question, rows: int, level: float) -> Performance:
    counts = stand_in(rows)
    if mode_of(question).masked:
        return pooled_exact(SiteTable.of(counts, question.public_grid, question.bins), level=level)
    parts = _divided(counts, len(question.sites))
    tables = [disclosed(part, question.public_grid, question.minimum_cell or 1) for part in parts]
    return pooled_grouped(tables, level=level)


def _divided(counts: ScoreCounts, sites: int) -> list[ScoreCounts]:
    """Return rows that are divided among sites in turn."""
    labels = np.repeat([1, 0], [int(counts.total_positives), int(counts.total_negatives)])
    scores = np.concatenate([np.repeat(counts.scores, counts.positives), np.repeat(counts.scores, counts.negatives)])
    return [ScoreCounts.from_arrays(labels[site::sites], scores[site::sites]) for site in range(sites)]
