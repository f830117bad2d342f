"""Study that recurs: its editions, what makes two questions editions of one series, and its privacy cost.

A folder holds the editions of one question. Beside the result of each period lies the outcome that it was derived from,
which holds what the sites released, so that a report of it can be made later. Questions are written down before they
are asked: sites may have paid for one that got no result.

Somebody whose rows are in the data of every edition is protected by all of them together: epsilons and deltas add up
(basic composition). If all editions have Gaussian noise at one price, their rho add up instead, and are converted once,
at the delta of one edition; a price that changed may have been chosen after answers were seen, for which the conversion
is not proven. What a site spent is known from its receipts. A receipt states less than the price if an answer was
stored: own counts of data that did not change are sent again, and reveal nothing more. But the receipt of an edition
that was asked twice, because the first run failed, states 0 although the site paid. And a site that dropped out may
have paid before it did. So a site counts with the full price of an edition unless a receipt states a charge for it.

A question that got no result, and was asked otherwise in the end, counts like an edition: its sites may have paid, and
what they sent may have been seen. A site whose rows changed between two attempts at one edition pays twice, which only
its own ledger knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from confide.atomic_files import replace_file
from confide.errors import FederationError, ParameterError, UsageError
from confide.federation.coordinator.performance import NoLine
from confide.federation.coordinator.validation import SCHEMA
from confide.federation.modes.registry import mode_of
from confide.federation.private_noise import GaussianNoise, noise_of
from confide.federation.protocol import Outcome
from confide.federation.question import Question
from confide.federation.question_terms import Period
from confide.intervals.interval import Estimate, Interval
from confide.privacy.accounting import epsilon_for
from confide.privacy.guarantee import Guarantee, exact_fraction

POOLED = "all sites"
MEASURES: Mapping[str, str] = {
    "auc": "AUC",
    "observed_expected": "Observed : expected",
    "calibration_slope": "Calibration slope",
}

_OUTCOMES, _ATTEMPTS = "outcomes", "attempts"
_OWNER_FOLDER = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Result of one period, as it was stored: plain data of a validation.

    `unanswered` are the other questions that were asked after the edition before this one. They got no result.
    """

    name: str
    document: Mapping[str, Any]
    unanswered: tuple[Question, ...] = ()

    def estimate(self, measure: str, site: str) -> Estimate | None:
        """Return a measure of a site, or of all sites together; None if it is not known."""
        if site == POOLED:
            return _estimate(self.document["pooled"].get(measure))
        result = self._result(site)
        return None if result is None else _estimate(result.get(measure))

    @property
    def question(self) -> Question:
        """Question as it was asked, of all sites, whichever of them took part."""
        asked = [str(site["name"]) for site in self.document["sites"]]
        return Question.stored({**self.document["question"], "sites": asked})

    @property
    def period(self) -> Period | None:
        """Period that the edition's number stands for; None if a person numbered it."""
        return Period.of_edition(self.question.edition or 1)

    @property
    def level(self) -> float:
        """Confidence level of the stored intervals."""
        return float(self.document["level"])

    def no_line(self, site: str) -> NoLine | None:
        """Return why calibration intercept or slope is missing for a site, or for all together, where it is known."""
        plain = self.document["pooled"] if site == POOLED else self._result(site)
        known = plain.get("no_line") if plain is not None else None
        return NoLine(known) if known in list(NoLine) else None

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites whose own results are known."""
        return tuple(one["name"] for one in self.document["sites"] if one.get("result") is not None)

    def _result(self, site: str) -> Mapping[str, Any] | None:
        return next((one.get("result") for one in self.document["sites"] if one["name"] == site), None)


class NoOutcomeError(FederationError):
    """The outcome behind a stored result is missing or cannot be read."""


@dataclass(frozen=True, slots=True)
class Series:
    """Folder of a study that recurs."""

    folder: Path

    def file(self, period: Period) -> Path:
        """Return the file of a period's result."""
        return self.folder / f"{period.name}.json"

    @property
    def page(self) -> Path:
        """Page that shows performance over time."""
        return self.folder / "index.html"

    def outcome_file(self, period: Period) -> Path:
        """Return the file of what the sites released in a period."""
        return self.folder / _OUTCOMES / f"{period.name}.json"

    def note_attempt(self, period: Period, question: Question) -> None:
        """Write down a question before it is asked."""
        self.folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        (self.folder / _ATTEMPTS).mkdir(mode=_OWNER_FOLDER, exist_ok=True)
        asked = {_terms(one): one for one in (*self._attempts(period.name), question)}
        text = "".join(json.dumps(one.to_dict()) + "\n" for one in asked.values())
        replace_file(self._attempt_file(period.name), text, owner_only=True)

    def _attempt_file(self, name: str) -> Path:
        return self.folder / _ATTEMPTS / f"{name}.jsonl"

    def _attempts(self, name: str) -> tuple[Question, ...]:
        path = self._attempt_file(name)
        try:
            return tuple(Question.stored(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, FederationError):
            raise FederationError(f"{path} is not a list of questions; put it back from a backup") from None

    def store(self, period: Period, document: Mapping[str, Any], outcome: Outcome) -> None:
        """Write the result of a period and the outcome behind it. Only the owner can read a folder that this makes.

        The result is written last, whole or not at all: a period that has one was asked.
        """
        self.folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        (self.folder / _OUTCOMES).mkdir(mode=_OWNER_FOLDER, exist_ok=True)
        replace_file(self.outcome_file(period), json.dumps(outcome.to_dict()) + "\n", owner_only=True)
        replace_file(self.file(period), json.dumps(document, indent=1) + "\n")

    def outcome(self, period: Period) -> Outcome:
        """Return what the sites released in a period; NoOutcomeError if that is not stored, or cannot be read."""
        path = self.outcome_file(period)
        try:
            return Outcome.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise NoOutcomeError(
                f"{self.folder} has the numbers of {period.name} and not the noisy counts behind them, which versions "
                "of confide before this one did not store"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, FederationError):
            raise NoOutcomeError(
                f"{path} cannot be read: it is damaged, or another version of confide wrote it"
            ) from None

    def editions(self) -> tuple[Edition, ...]:
        """Return all stored results, the oldest first."""
        asked = {path.stem: self._attempts(path.stem) for path in sorted((self.folder / _ATTEMPTS).glob("*.jsonl"))}
        found = []
        for path in sorted(self.folder.glob("*.json")):
            edition = _edition(path)
            questions = [one for name in [*asked] if name <= edition.name for one in asked.pop(name)]
            others = (one for one in questions if _terms(one) != _terms(edition.question))
            found.append(replace(edition, unanswered=tuple(others)))
        return tuple(found)


def series_names(editions: Sequence[Edition]) -> tuple[str, ...]:
    """Return all sites together, and each site whose own results are known in any edition."""
    return (POOLED, *dict.fromkeys(site for edition in editions for site in edition.sites))


def _terms(question: Question) -> str:
    """Write the terms that decide what is answered: the purpose is none, and the threshold follows from others."""
    return json.dumps({**question.to_dict(), "purpose": None, "threshold": None}, sort_keys=True)


def _edition(path: Path) -> Edition:
    try:
        edition = Edition(name=path.stem, document=json.loads(path.read_text(encoding="utf-8")))
        if edition.document["schema"] != SCHEMA:
            raise ValueError("another schema")
        _ = edition.question, edition.level
    except (OSError, ValueError, KeyError, TypeError, FederationError):
        raise FederationError(f"{path} is not the result of a validation; move it elsewhere") from None
    return edition


def _estimate(plain: Any) -> Estimate | None:
    if not isinstance(plain, Mapping) or plain.get("value") is None:
        return None
    interval = plain.get("interval")
    if not isinstance(interval, Mapping) or None in (interval.get("lower"), interval.get("upper")):
        return Estimate(value=float(plain["value"]))
    return Estimate(value=float(plain["value"]), interval=Interval(**interval))


_LEFT_OUT = frozenset({"edition", "purpose", "protocol", "threshold"})
"""Fields that are not compared: no answer depends on the purpose, and the threshold follows from other fields."""

_PARAMETERS = {"model": "model_name"}
_ABSENT = {"noise": "laplace"}


class OtherSeriesError(UsageError):
    """A folder holds the series of another question. `differing` has the parameters that differ."""

    def __init__(self, folder: Path, held: Edition, differing: Sequence[str], words: str) -> None:
        question = held.question
        price = f", epsilon {question.epsilon}" if question.epsilon is not None else ""
        every = "" if held.period is None else f", asked every {held.period.kind}"
        super().__init__(
            f"{folder} holds the series of model {question.model!r}, study {question.study}, mode {question.mode}"
            f"{price}{every}. This question differs in {words}. Nobody was asked. Give another folder (`series`), or "
            "ask the question that the folder holds"
        )
        self.folder = folder
        self.differing = tuple(differing)


def require_same_series(
    folder: Path, editions: Sequence[Edition], question: Question, period: Period, *, level: float
) -> None:
    """Refuse a question that is not the next edition, or a stored one, of the series in a folder.

    The question is compared with the edition of its own period, if that is stored, and else with the latest one. Its
    period must be of the kind that all editions have.
    """
    if not editions:
        return
    held = next((one for one in editions if one.name == period.name), editions[-1])
    for one in editions:
        if one.period is None or one.period.kind != period.kind:
            stated = "no period" if one.period is None else one.period.kind
            _refuse(folder, one, {"every": (stated, period.kind), **_differing(one, question, level)})
    differing = _differing(held, question, level)
    if differing:
        _refuse(folder, held, differing)


def _refuse(folder: Path, held: Edition, differing: Mapping[str, tuple[str, str]]) -> NoReturn:
    words = ", ".join(f"`{name}` ({asked} instead of {stored})" for name, (stored, asked) in differing.items())
    raise OtherSeriesError(folder, held, tuple(differing), words)


def _differing(held: Edition, question: Question, level: float) -> dict[str, tuple[str, str]]:
    """Return the parameters that differ, each with the stored value and the one asked for."""
    found = dict(_different_terms(held.question, question))
    if held.level != level:
        found["level"] = (f"{held.level:g}", f"{level:g}")
    return found


def _different_terms(stored: Question, asked: Question) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in (field.name for field in fields(Question)):
        values = getattr(stored, name), getattr(asked, name)
        if name not in _LEFT_OUT and values[0] != values[1]:
            yield _PARAMETERS.get(name, name), (_words(name, values[0]), _words(name, values[1]))


def _words(name: str, value: object) -> str:
    if value is None:
        return _ABSENT.get(name, "none")
    return " and ".join(value) if isinstance(value, tuple) else str(value)


_ROUNDING = Fraction(1, 10**9)  # receipts state floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesCost:
    """Guarantee of all editions together, and the epsilon that each site spent on them, at most.

    `unanswered` is the number of other questions that got no result. They are part of both.

    `guarantee` is None if the editions do not protect the same unit, or not under the same relation. `noise` has the
    names of the editions' noise, and `delta` is that of the sites' epsilons. `rho` is what each edition adds where rho
    add up, and None where epsilons do.
    """

    editions: int
    unanswered: int
    guarantee: Guarantee | None
    noise: tuple[str, ...]
    delta: Fraction
    rho: Fraction | None
    sites: Mapping[str, Fraction]
    promise: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "editions": self.editions,
            "unanswered": self.unanswered,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "noise": list(self.noise),
            "delta": float(self.delta),
            "spent_at_most": {name: float(spent) for name, spent in self.sites.items()},
            "promise": list(self.promise),
        }


def series_cost(editions: Sequence[Edition]) -> SeriesCost:
    """Return the cost of stored editions, one at least, of a private question. The promise is that of the last one."""
    answered = [Question.stored(edition.document["question"]) for edition in editions]
    failed = [question for edition in editions for question in edition.unanswered]
    questions = [*failed, *answered]
    law = _one_gaussian(questions)
    unit = "epsilon" if law is None else "rho"
    spent: dict[str, Fraction] = {}

    def price_of(question: Question) -> Fraction:
        return Fraction(mode_of(question).price(question) or 0) if law is None else law.rho

    for question in failed:
        for name in question.sites:
            spent[name] = spent.get(name, Fraction(0)) + price_of(question)
    for edition, question in zip(editions, answered, strict=True):
        price = price_of(question)
        for site in edition.document["sites"]:
            name = str(site["name"])
            spent[name] = spent.get(name, Fraction(0)) + _at_most(site.get("receipt"), price, unit)
    return SeriesCost(
        editions=len(editions),
        unanswered=len(failed),
        guarantee=_together(questions) if law is None else _of_many(law, len(questions)),
        noise=tuple(dict.fromkeys(noise_of(question).family for question in questions)),
        delta=sum((Fraction(question.delta or 0) for question in questions), Fraction(0)) if law is None else law.delta,
        rho=None if law is None else law.rho,
        sites=spent if law is None else {name: _epsilon(law, rho) for name, rho in spent.items()},
        promise=mode_of(questions[-1]).promise(questions[-1]),
    )


def _one_gaussian(questions: Sequence[Question]) -> GaussianNoise | None:
    """Return the noise of all editions if it is Gaussian and has one price and unit; None otherwise."""
    law = noise_of(questions[0])
    terms = {(one.noise, one.epsilon, one.delta, one.unit, one.rows_per_person) for one in questions}
    return law if isinstance(law, GaussianNoise) and len(terms) == 1 else None


def _of_many(law: GaussianNoise, editions: int) -> Guarantee | None:
    """Return the guarantee of so many editions with one rho; None where epsilon is beyond all limits."""
    rho = editions * law.rho
    try:
        return replace(law.guarantee(), epsilon=_epsilon(law, rho), rho=rho)
    except ParameterError:
        return None


def _epsilon(law: GaussianNoise, rho: Fraction) -> Fraction:
    """Return the epsilon of a sum of rho at the question's delta; of one edition it is the question's."""
    return law.question.exact_epsilon if rho == law.rho else epsilon_for(rho, law.delta)


def _together(questions: Sequence[Question]) -> Guarantee | None:
    """Return the sum of the guarantees; None where they do not add up to one."""
    total: Guarantee | None = None
    for question in questions:
        one = mode_of(question).guarantee(question)
        if one is None:
            return None
        try:
            total = one if total is None else _sum(total, one)
        except ParameterError:  # delta reached 1
            return None
        if total is None:
            return None
    return total


def _sum(first: Guarantee, second: Guarantee) -> Guarantee | None:
    if (first.neighbours, first.unit) != (second.neighbours, second.unit):
        return None
    return replace(
        first,
        epsilon=first.epsilon + second.epsilon,
        delta=first.delta + second.delta,
        rho=None if first.rho is None or second.rho is None else first.rho + second.rho,
        rows_per_person=min(first.rows_per_person, second.rows_per_person),
        public=tuple(dict.fromkeys((*first.public, *second.public))),
    )


def _at_most(receipt: object, price: Fraction, unit: str) -> Fraction:
    """Return the epsilon or rho that a site was charged for an edition, at most.

    Receipts come from sites and may hold anything. Beside a rho, the epsilon of a receipt is that of all questions.
    """
    charged = receipt.get("charged") if isinstance(receipt, Mapping) else None
    if not isinstance(receipt, Mapping) or not isinstance(charged, Mapping):
        return price
    if receipt.get("reused") is not False or (unit == "epsilon" and charged.get("rho")):
        return price
    try:
        stated = exact_fraction(charged.get(unit), unit)
    except ParameterError:
        return price
    return stated if 0 < stated < price * (1 - _ROUNDING) else price
