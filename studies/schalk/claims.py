"""What the paper concludes from its table and figures, and whether the simulation made anew says so too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from studies.claims import Claim as PaperClaim
from studies.schalk.errors import SampleMean
from studies.schalk.published import (
    AREA,
    BINS,
    DELTAS,
    DRAWN_LIMIT,
    EDGES,
    EPSILONS,
    LIMIT,
    SENSITIVITIES,
    TURN,
    bin_name,
    written,
)

if TYPE_CHECKING:
    from studies.schalk.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(PaperClaim):
    """Sentence of the paper about one of its tables or figures."""

    where: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"where": self.where, **PaperClaim.to_dict(self)}


def claims(study: Study) -> tuple[Claim, ...]:
    """The paper's sentences that the simulation can speak to."""
    return (*_on_table_1(study), *_on_area(study), *_on_figure_5(study), *_on_figure_6(study))


def _on_table_1(study: Study) -> Iterator[Claim]:
    means = {number: study.difference(number) for number in range(BINS)}
    known = {number: mean for number, mean in means.items() if mean.count > 1}
    below = {bin_name(number): mean for number, mean in known.items() if EDGES[number + 1] <= TURN + 1e-9}
    above = {bin_name(number): _negative(mean) for number, mean in known.items() if EDGES[number] >= TURN - 1e-9}
    yield Claim(where="Table 1", sentence="Below an AUC of 0.8 the mean difference is above 0.", differences=below)
    yield Claim(where="Table 1", sentence="Above an AUC of 0.8 the mean difference is below 0.", differences=above)
    yield Claim(
        where="Table 1",
        sentence="Mean differences are below 0.01 in size from 0.5 to 0.95.",
        differences={
            bin_name(number): _size(mean).less_than(LIMIT)
            for number, mean in known.items()
            if EDGES[number + 1] <= 0.95 + 1e-9
        },
    )
    yield Claim(
        where="Table 1",
        sentence="Between 0.95 and 0.975 it is a little above 0.01.",
        differences={bin_name(18): _negative(_size(means[18]).less_than(LIMIT))},
    )


def _on_area(study: Study) -> Iterator[Claim]:
    area = study.area()
    off = SampleMean(value=abs(area.value - AREA), standard_error=area.standard_error, count=area.count)
    yield Claim(
        where="Figure 4",
        sentence="The area between the empirical curve and the ROC-GLM is 0.032 on average (to three digits, or one "
        "more).",
        differences={"0.0015 less the distance from it": off.less_than(0.0015)},
    )


def _on_figure_5(study: Study) -> Iterator[Claim]:
    for limit, which in ((LIMIT, "at the limit of 0.01"), (DRAWN_LIMIT, "at 0.05, where the picture changes colour")):
        yield _reliable(study, (0.5, 0.1, 0.1), limit, which)
        yield _reliable(study, (0.5, 0.01, 0.1), limit, which, reliable=False)
        yield _reliable(study, (0.5, 1e-5, 0.01), limit, which)
        yield _reliable(study, (10.0, 1e-5, 0.3), limit, which)
    yield Claim(
        where="Figure 5",
        sentence="The error grows with the sensitivity (epsilon 5, delta 0.001).",
        differences={
            f"{larger:g} less {smaller:g}": _gap(
                study.errors("simulated", 5.0, 1e-3, larger).overall,
                study.errors("simulated", 5.0, 1e-3, smaller).overall,
            )
            for smaller, larger in pairwise(SENSITIVITIES)
        },
    )


def _reliable(
    study: Study, setting: tuple[float, float, float], limit: float, which: str, *, reliable: bool = True
) -> Claim:
    epsilon, delta, sensitivity = map(written, setting)
    spare = study.errors("simulated", *setting).worst.less_than(limit)
    return Claim(
        where="Figure 5",
        sentence=f"With sensitivity {sensitivity}, epsilon {epsilon} and delta {delta} the AUC is "
        f"{'reliable' if reliable else 'not reliable'}, {which}.",
        differences={
            "limit less the worst bin" if reliable else "the worst bin less the limit": spare
            if reliable
            else _negative(spare)
        },
    )


def _on_figure_6(study: Study) -> Iterator[Claim]:
    """Settings that are acceptable for the AUC are acceptable for the interval, at the limit of 0.01."""
    settings = [(e, d, s) for s in SENSITIVITIES for e in EPSILONS for d in DELTAS]
    good = [setting for setting in settings if study.errors("simulated", *setting).worst.value <= LIMIT]
    yield Claim(
        where="Figure 6",
        sentence="Settings that are acceptable for the AUC in every bin are acceptable for its interval too.",
        differences={
            "epsilon {}, delta {}, sensitivity {}".format(*map(written, setting)): study.interval_errors(
                "simulated", *setting
            ).worst.less_than(LIMIT)
            for setting in good
        },
    )


def _negative(mean: SampleMean) -> SampleMean:
    return SampleMean(value=-mean.value, standard_error=mean.standard_error, count=mean.count)


def _size(mean: SampleMean) -> SampleMean:
    return SampleMean(value=abs(mean.value), standard_error=mean.standard_error, count=mean.count)


def _gap(one: SampleMean, other: SampleMean) -> SampleMean:
    """The difference, as if both were independent, although the same studies stand behind them: too wide an error."""
    error = (one.standard_error**2 + other.standard_error**2) ** 0.5
    return SampleMean(value=one.value - other.value, standard_error=error, count=min(one.count, other.count))
