"""Conclusions of the paper from its table and figures, compared with the repeated simulation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from studies.claims import Claim, Mean
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


def claims(study: Study) -> tuple[Claim, ...]:
    """Return the paper's sentences that the simulation can test."""
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
            bin_name(number): _size(mean).below(LIMIT)
            for number, mean in known.items()
            if EDGES[number + 1] <= 0.95 + 1e-9
        },
    )
    yield Claim(
        where="Table 1",
        sentence="Between 0.95 and 0.975 it is a little above 0.01 in size (by any amount).",
        differences={bin_name(18): _negative(_size(means[18]).below(LIMIT))},
    )


def _on_area(study: Study) -> Iterator[Claim]:
    area = study.area()
    off = _size(area.less(AREA))
    yield Claim(
        where="Figure 4",
        sentence="The area between the empirical curve and the ROC-GLM is 0.032 on average (to three digits, or one "
        "more).",
        differences={"0.0015 less the distance from it": off.below(0.0015)},
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
            f"{larger:g} less {smaller:g}": study.errors("simulated", 5.0, 1e-3, larger).overall.less(
                study.errors("simulated", 5.0, 1e-3, smaller).overall
            )
            for smaller, larger in pairwise(SENSITIVITIES)
        },
    )


def _reliable(
    study: Study, setting: tuple[float, float, float], limit: float, which: str, *, reliable: bool = True
) -> Claim:
    epsilon, delta, sensitivity = map(written, setting)
    spare = study.errors("simulated", *setting).worst.below(limit)
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
    """Test that settings that are acceptable for the AUC are acceptable for the interval, at the limit of 0.01."""
    settings = [(e, d, s) for s in SENSITIVITIES for e in EPSILONS for d in DELTAS]
    good = [setting for setting in settings if study.errors("simulated", *setting).worst.value <= LIMIT]
    yield Claim(
        where="Figure 6",
        sentence="Settings that are acceptable for the AUC (mean error at most 0.01 in every bin) are acceptable for "
        "its interval too (at most 0.01 for both ends together).",
        differences={
            "epsilon {}, delta {}, sensitivity {}".format(*map(written, setting)): study.interval_errors(
                "simulated", *setting
            ).worst.below(LIMIT)
            for setting in good
        },
    )


def _negative(mean: Mean) -> Mean:
    return mean.below(0.0)


def _size(mean: Mean) -> Mean:
    return Mean(value=abs(mean.value), standard_error=mean.standard_error)
