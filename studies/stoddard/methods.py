"""The methods that are compared: how features are selected, what is trained on them, and whether that is private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from confide.privacy.mechanisms.row_limits import RowLimit
from confide.privacy.neighbours import Neighbours
from studies.stoddard.selectors import (
    Exact,
    NoisyCut,
    PublishedClusters,
    Selector,
    Sound,
    ThresholdTesting,
)


class Standing(StrEnum):
    """Privacy of a method: no noise; a proven epsilon; a claimed epsilon that does not hold."""

    EXACT = "exact"
    SOUND = "sound"
    NOT_PRIVATE = "not private"


SHORT = {"TC": "total-count", "DC": "difference-count", "PI": "purity-index", "IG": "information-gain"}
"""The paper's names of scores."""

SAMPLED, ENFORCED = 10, 20
"""Features of a row that count with the paper's sampling, and those that short texts are said to have at most."""

HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)
"""What the paper gives of epsilon to score perturbation, and to clustering and threshold testing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Select features, then train on them with what is left of epsilon.

    `share` of epsilon goes to the selection; `worth` features of a row count in the training. Without a selector all
    features are used. `joint` is confide's naive Bayes, which selects by the noisy counts that it is trained from.
    `short_only` is for texts of bounded length.
    """

    name: str
    standing: Standing
    from_paper: bool = True
    score: str | None = None
    selector: Selector | None = None
    share: Fraction = Fraction(0)
    worth: int = SAMPLED
    neighbours: Neighbours = Neighbours.ADD_REMOVE_ONE
    joint: bool = False
    short_only: bool = False

    @property
    def key(self) -> str:
        """The name with the score that is used."""
        return self.name if self.score is None else f"{self.name} {self.score}"

    def with_worth(self, worth: int | None) -> Method:
        """The same method with another number of features of a row that count, in the selection too if it samples."""
        if worth is None:
            return self
        selector = self.selector
        if isinstance(selector, Sound | PublishedClusters) and selector.most is not None:
            selector = replace(selector, most=worth)
        return replace(self, worth=worth, selector=selector)


def _exact() -> Iterator[Method]:
    yield Method(name="no privacy, all", standing=Standing.EXACT)
    for short, score in SHORT.items():
        yield Method(name="no privacy", standing=Standing.EXACT, score=short, selector=Exact(score=score))


def _perturbation() -> Iterator[Method]:
    """Purity and information gain change for every feature with a row, so a limit of features would not help them."""
    for short, score in SHORT.items():
        relation = Neighbours.REPLACE_ONE if short == "IG" else Neighbours.ADD_REMOVE_ONE
        most = SAMPLED if short in ("TC", "DC") else None
        selector = Sound(method="score-perturbation", score=score, most=most, neighbours=relation)
        yield Method(
            name="score perturbation",
            standing=Standing.SOUND,
            score=short,
            selector=selector,
            share=HALF,
            neighbours=relation,
        )


def _not_private() -> Iterator[Method]:
    broken = Standing.NOT_PRIVATE
    for short, score in SHORT.items():
        testing = ThresholdTesting(score=score)
        yield Method(name="PTT", standing=broken, score=short, selector=testing, share=FIFTH, worth=ENFORCED)
    for short in ("TC", "DC"):
        clusters = PublishedClusters(score=SHORT[short], most=SAMPLED)
        yield Method(name="clusters", standing=broken, score=short, selector=clusters, share=FIFTH)
        cut = NoisyCut(score=SHORT[short])
        yield Method(name="noisycut", standing=broken, score=short, selector=cut, share=FIFTH, worth=ENFORCED)


def _sound() -> Iterator[Method]:
    names = {
        "sparse-vector": "sparse vector",
        "peeling": "peeling",
        "permute-and-flip": "permute-and-flip",
        "clusters": "clusters of noisy scores",
    }
    for method, name in names.items():
        for short in ("TC", "DC"):
            most = SAMPLED if method == "clusters" else None
            yield Method(
                name=name,
                standing=Standing.SOUND,
                from_paper=False,
                score=short,
                selector=Sound(method=method, score=SHORT[short], most=most),
                share=HALF,
            )


JOINT = Method(name="joint naive Bayes", standing=Standing.SOUND, from_paper=False, worth=RowLimit().worth, joint=True)
ALL = Method(name="all", standing=Standing.SOUND, worth=ENFORCED, short_only=True)
ALL_SAMPLED = Method(name="all, sampling", standing=Standing.SOUND)

METHODS = {
    method.key: method for method in (*_exact(), ALL, ALL_SAMPLED, *_perturbation(), *_not_private(), *_sound(), JOINT)
}


def shown_name(key: str) -> str:
    """How a method is called in tables and pictures: what is not private says so.

    >>> shown_name("PTT TC"), shown_name("peeling DC")
    ('PTT TC (not private)', 'peeling DC')
    """
    method = METHODS[key]
    return f"{key} (not private)" if method.standing is Standing.NOT_PRIVATE else key
