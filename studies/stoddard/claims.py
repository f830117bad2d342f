"""Conclusions of the paper from its figures, compared with the repeated figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from studies.claims import Claim, Mean
from studies.stoddard.methods import ALL, ALL_SAMPLED, HALF, METHODS, SAMPLED, shown_name
from studies.stoddard.plan import TUNED, fits

if TYPE_CHECKING:
    from studies.stoddard.study import Study


def claims(study: Study) -> tuple[Claim, ...]:
    """Return the claims that a study's datasets and settings can speak to."""
    every = (
        *_on_selecting(study),
        *_on_logistic(study),
        *_on_features_found(study),
        *_on_epsilon(study),
        *_on_tuning(study),
    )
    return tuple(claim for claim in every if claim.differences)


def _on_selecting(study: Study) -> Iterator[Claim]:
    ptt, clusters = shown_name("PTT TC"), shown_name("clusters TC")
    for sentence, better, worse in (
        (
            "Without privacy, selecting by information gain helps a little (by any amount).",
            "no privacy IG",
            "no privacy, all",
        ),
        ("With noise, sampling helps, though it throws data away.", ALL_SAMPLED.key, ALL.key),
        ("Score perturbation TC beats all features with sampling.", "score perturbation TC", ALL_SAMPLED.key),
        (f"Selecting by {clusters} beats all features with sampling.", "clusters TC", ALL_SAMPLED.key),
        (f"{ptt} beats all features with sampling.", "PTT TC", ALL_SAMPLED.key),
        ("Score perturbation IG does worse than all features with sampling.", ALL_SAMPLED.key, "score perturbation IG"),
        (f"{ptt} is more accurate than {clusters}.", "PTT TC", "clusters TC"),
        (
            f"Selecting by {clusters} is more accurate than by score perturbation TC.",
            "clusters TC",
            "score perturbation TC",
        ),
    ):
        yield Claim(where="Figure 1", sentence=sentence, differences=_by_dataset(study, better, worse))


def _by_dataset(study: Study, better: str, worse: str) -> dict[str, Mean]:
    return {
        held.corpus.name: study.best(dataset, better).less(study.best(dataset, worse))
        for dataset, held in study.datasets.items()
        if fits(METHODS[better], dataset) and fits(METHODS[worse], dataset)
    }


def _on_features_found(study: Study) -> Iterator[Claim]:
    if "sms" not in study.datasets:
        return
    lines = study.overlaps()
    for other in ("noisycut TC", "score perturbation TC", "clusters TC"):
        yield Claim(
            where="Figure 3",
            sentence=f"{shown_name('PTT TC')} finds the features better than {shown_name(other)} at every threshold.",
            differences={
                f"at {ours.trial.threshold:g}": ours.less(theirs)
                for ours, theirs in zip(lines["PTT TC"], lines[other], strict=True)
            },
        )
    for key in ("noisycut TC", "score perturbation TC"):
        ends = {"highest less lowest threshold": lines[key][-1].less(lines[key][0])}
        yield Claim(
            where="Figure 3", sentence=f"As the threshold falls, {shown_name(key)} gets worse.", differences=ends
        )
    ends = {"lowest less highest threshold": lines["clusters TC"][0].less(lines["clusters TC"][-1])}
    yield Claim(
        where="Figure 3", sentence=f"As the threshold falls, {shown_name('clusters TC')} gets better.", differences=ends
    )


def _on_logistic(study: Study) -> Iterator[Claim]:
    if "sms" not in study.datasets:
        return
    _, private = study.logistic()
    yield Claim(
        where="Figure 2",
        sentence="Naive Bayes is more accurate than logistic regression.",
        differences={
            shown_name(outcome.trial.method): study.best("sms", outcome.trial.method).less(outcome)
            for outcome in private
            if METHODS[outcome.trial.method].from_paper
        },
    )


def _on_epsilon(study: Study) -> Iterator[Claim]:
    if len(study.settings.epsilons) < 2:
        return
    for family in ("score perturbation", "clusters (not private)", "PTT (not private)"):
        lines = {held.corpus.name: study.budgets(dataset)[family] for dataset, held in study.datasets.items()}
        yield Claim(
            where="Figure 4",
            sentence=f"{family[0].upper()}{family[1:]} loses accuracy from the largest epsilon to the smallest.",
            differences={name: line[0].less(line[-1]) for name, line in lines.items()},
        )


def _on_tuning(study: Study) -> Iterator[Claim]:
    shares, rates = study.settings.shares, study.settings.rates
    for dataset, held in study.datasets.items():
        name = held.corpus.name
        splits = dict(zip(shares, study.splits(dataset), strict=True))
        yield Claim(
            where="Figure 5",
            sentence=f"{name}: selection and training do best with half of epsilon each (better than with the least "
            "and the greatest share tried).",
            differences={
                f"less {float(end):g}": splits[HALF].less(splits[end])
                for end in (shares[0], shares[-1])
                if HALF in splits
            },
        )
        sampled = dict(zip(rates, study.rates(dataset)[TUNED], strict=True))
        yield Claim(
            where="Figure 5",
            sentence=f"{name}: a moderate sampling rate does best (of {SAMPLED} words of a row; better than the lowest "
            "and the highest tried).",
            differences={
                f"{SAMPLED} less {end}": sampled[SAMPLED].less(sampled[end])
                for end in (rates[0], rates[-1])
                if SAMPLED in sampled
            },
        )
