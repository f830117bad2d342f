"""What a question will give and cost: expected accuracy, prices in accounts, and what the choice of a mode means.

The simulation uses the question and a stated number of rows. Rows with calibrated scores, a usual AUC and a usual
prevalence stand in for those of the sites. They are counted on the question's grid, and noise with the distribution
that the answer will have is added many times. No site is asked.

A question's rho is converted to epsilon at an order that the account fixed before its first charge, from its limits
`epsilon_in_all` and `delta_in_all` (see `privacy.concentration`). The conversion costs epsilon once, with the first
question. The limits of a site are its own: those of a new site and the question's delta stand in for them.

Everything here follows from public facts: the question, and the stated number of rows. Rows with calibrated scores and
a usual AUC stand in for those of the sites, as in `expected_accuracy`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import RocCurve, area_between, roc_curve
from confide.errors import ConfideError
from confide.federation.coordinator.answers import noise_parts
from confide.federation.coordinator.performance import Performance, pooled_exact, pooled_grouped
from confide.federation.modes.private import SUPPOSED_ROWS
from confide.federation.modes.registry import mode_named, mode_of
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.question import Question
from confide.federation.tables import SiteTable, disclosed
from confide.metrics.ranking import auc_score
from confide.privacy.concentration import Concentration
from confide.privacy.guarantee import shown
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.noisy_counts import NoisePart, NoisyCells
from confide.releases.counting import rebuilt_cells
from confide.releases.curve_numbers import auc_intervals, table_auc
from confide.releases.curves import drawn_counts
from confide.releases.plan import USUAL_PREVALENCE
from confide.releases.shapes import fitting_shape, shaped
from confide.releases.simulation import USUAL_AUC

REPETITIONS = 20
MOST_ROWS = 500_000
"""Most rows of a stand-in; with more rows, noise matters even less."""

_SEED = 0  # the same question must give the same numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Mean accuracy over simulated answers to a question about `rows` rows.

    `roc_area_error` is the area between the exact ROC curve of all rows and the private one, `auc_error` the absolute
    error of the AUC, and the widths those of its intervals: for these rows, and for the population.
    """

    rows: int
    prevalence: float
    auc: float
    roc_area_error: float
    auc_error: float
    auc_sample_width: float
    auc_population_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Accuracy of the pooled answer and, if sites' own results are asked for, of one site of average size."""

    pooled: Accuracy
    site: Accuracy | None
    stated: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "rows_stated": self.stated,
            "pooled": self.pooled.to_dict(),
            "site": None if self.site is None else self.site.to_dict(),
        }


def expected_accuracy(
    question: Question, *, rows: int | None = None, level: float = 0.95, repetitions: int = REPETITIONS
) -> Expected:
    """Simulate answers to a private question; without `rows`, each site is assumed to have 1,000."""
    sites = len(question.sites)
    stated = SUPPOSED_ROWS * sites if rows is None else rows
    pooled, own = noise_parts(question)
    each = max(stated // sites, 2)
    return Expected(
        pooled=simulated(question, stand_in(stated), pooled, level=level, repetitions=repetitions),
        site=simulated(question, stand_in(each), own, level=level, repetitions=repetitions) if own else None,
        stated=rows is not None,
    )


def stand_in(rows: int, prevalence: float = USUAL_PREVALENCE, auc: float = USUAL_AUC) -> ScoreCounts:
    """Return rows with normal scores in both classes, as calibrated probabilities; at least one row of each class."""
    from scipy.special import expit, ndtri

    size = min(max(rows, 2), MOST_ROWS)
    generator = np.random.default_rng(_SEED)
    positives = min(max(round(size * prevalence), 1), size - 1)
    labels = np.arange(size) < positives
    apart = float(np.sqrt(2.0) * ndtri(auc))
    latent = generator.standard_normal(size) + apart * labels
    odds = np.log(positives / (size - positives))
    return ScoreCounts.from_arrays(labels, expit(odds + apart * (latent - apart / 2.0)))


def simulated(
    question: Question, counts: ScoreCounts, parts: tuple[NoisePart, ...], *, level: float, repetitions: int
) -> Accuracy:
    """Release the counts `repetitions` times with noise from a fixed seed, and average the errors."""
    generator = np.random.default_rng(_SEED)
    exact, truth = _points(roc_curve(counts)), auc_score(counts)
    grid, strategy = question.public_grid, noise_of(question).strategy
    integers = strategy.measure(cells_on(counts, grid)).astype(np.float64)
    noise = noisy_table(question, integers, parts).noise(generator)
    found = []
    for _ in range(repetitions):
        added = sum(part.weight * part.draw(generator, integers.shape) for part in parts)
        noisy = noisy_table(question, integers + added, parts)
        table = shaped(noisy, fitting_shape(noisy, noise))
        curve = _points(roc_curve(drawn_counts(table, grid)))
        both = auc_intervals(
            agreed=noisy.agreed(), noise=noise, table=table, grid=grid, level=level, generator=generator
        )
        error = abs(table_auc(table) - truth)
        found.append((area_between(exact, curve), error, both.sample.width, both.population.width))
    area, error, sample, population = (float(mean) for mean in np.mean(found, axis=0))
    return Accuracy(
        rows=int(counts.total_positives + counts.total_negatives),
        prevalence=counts.prevalence,
        auc=truth,
        roc_area_error=area,
        auc_error=error,
        auc_sample_width=sample,
        auc_population_width=population,
    )


def noisy_table(question: Question, integers: FloatArray, parts: tuple[NoisePart, ...]) -> NoisyCells:
    """Return noisy counts as the coordinator rebuilds them from the integers of both classes."""
    return rebuilt_cells(
        integers.ravel(),
        cells=len(question.public_grid),
        strategy=noise_of(question).strategy,
        scale=parts[0].scale,
        gaussian=parts[0].gaussian,
        rows=None,
        cell_rows=None,
        parts=parts,
    )


def _points(curve: RocCurve) -> tuple[FloatArray, FloatArray]:
    return curve.false_positive_rate, curve.true_positive_rate


MANY = 20
"""Number of questions whose price together is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPrice:
    """Price of questions of one rho in an account with these limits."""

    rho: Fraction
    epsilon_in_all: Fraction
    delta_in_all: Fraction

    @classmethod
    def of(cls, question: Question) -> AccountPrice | None:
        """Return the price of a question with Gaussian noise; None for other questions.

        The account has the epsilon of a new site, or as much as the question has, and the question's delta.

        >>> terms = {"study": "s", "model": "m", "mode": "private", "sites": ("a", "b", "c")}
        >>> price = AccountPrice.of(Question.checked(**terms, epsilon="1/2", noise="gaussian", delta="1e-6"))
        >>> [round(float(each), 2) for each in (price.first, price.later, price.of_many(20))]
        [1.39, 0.04, 2.15]
        """
        noise = noise_of(question) if question.noise is not None else None
        if not isinstance(noise, GaussianNoise):
            return None
        from confide.federation.policy import Policy  # brings the ledger with it

        limit = max(Policy().epsilon_in_all, Fraction(math.ceil(question.exact_epsilon)))
        return cls(rho=noise.rho, epsilon_in_all=limit, delta_in_all=noise.delta)

    @property
    def conversion(self) -> Concentration:
        """Order and delta at which the account converts rho."""
        return Concentration.for_account(self.epsilon_in_all, self.delta_in_all)

    @property
    def first(self) -> Fraction:
        """Epsilon that the first question with Gaussian noise costs."""
        return self.of_many(1)

    @property
    def later(self) -> Fraction:
        """Epsilon that each later question costs."""
        return self.conversion.order * self.rho

    def of_many(self, questions: int) -> Fraction:
        """Return the epsilon of so many questions together."""
        return self.conversion.epsilon_of(questions * self.rho)

    def in_words(self) -> str:
        """Return the prices, and the limits of the account that they hold for."""
        return (
            f"The first Gaussian question costs epsilon {cents(self.first)} in a site's account, each later one like "
            f"this about {cents(self.later)}: the account adds up rho, and converts it to epsilon. "
            f"{self.account_words()}"
        )

    def account_words(self) -> str:
        """Return the limits of the account."""
        return (
            f"This holds for an account with epsilon_in_all = {shown(self.epsilon_in_all)} and delta_in_all = "
            f"{shown(self.delta_in_all)}, which converts rho at delta {shown(self.conversion.delta)}; with other "
            "limits the prices differ."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "epsilon_in_all": float(self.epsilon_in_all),
            "delta_in_all": float(self.delta_in_all),
            "rho": float(self.rho),
            "epsilon_first": float(self.first),
            "epsilon_later": float(self.later),
            f"epsilon_of_{MANY}": float(self.of_many(MANY)),
        }


def cents(epsilon: Fraction) -> str:
    """Write an epsilon with two decimals, rounded up, or with four digits if it is smaller."""
    if epsilon < Fraction(1, 100):
        return shown(epsilon, up=True)
    return f"{math.ceil(epsilon * 100) / 100:.2f}"


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
