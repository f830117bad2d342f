"""Privacy cost of a study that recurs: the guarantee of all editions together, and what each site spent at most.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from confide.errors import ParameterError
from confide.federation.coordinator.series import Edition
from confide.federation.gaussian_noise import GaussianNoise
from confide.federation.modes.registry import mode_of
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.privacy.accounting import epsilon_for
from confide.privacy.guarantee import Guarantee, exact_fraction

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
