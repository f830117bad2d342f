"""Success of finding or guessing the label of an added row from publications before and after."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.attacks.bounds import Game, finished
from confide.attacks.disclosure import MEANS, NEIGHBOURS, Publication, Window
from confide.attacks.numbers import exact_number, gap_to, released
from confide.attacks.one_row.differencing import added_row, added_term
from confide.attacks.one_row.game import check_game, check_once, right_guess
from confide.attacks.one_row.missing import label_of_score
from confide.attacks.one_row.rows import row_drawer, with_row, without_row
from confide.counts import ScoreCounts
from confide.privacy.adversary import success_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencedRows:
    """Of the rows that were tried, each as the one that was added last: labels that follow, and that were guessed."""

    published: str
    tried: int
    certain: int
    right: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "published": self.published,
            "tried": self.tried,
            "certain": self.certain,
            "right": self.right,
        }


def differenced_rows(
    counts: ScoreCounts, published: Publication, *, most: int, rng: np.random.Generator, positives_known: bool = False
) -> DifferencedRows:
    """Publish a metric without and with a row, for up to `most` random rows, and look for the row's label.

    Of the AUC the adversary has both numbers, the number of rows and which class is rarer (with `positives_known` the
    number of positives), of means over rows the row's score too; average precision also takes the other rows. Where
    both labels are as likely, a coin guesses.
    """
    check_game(counts, published, most)
    ends = np.cumsum(np.concatenate((counts.positives, counts.negatives)))
    chosen = rng.permutation(int(ends[-1]))[:most]
    certain = right = 0
    for found in np.searchsorted(ends, chosen, "right").tolist():
        at, positive = found % len(counts), found < len(counts)
        guess, sure = _differenced(counts, published, at, positive, positives_known)
        certain += sure
        right += guess == positive if guess is not None else int(rng.integers(2))
    return DifferencedRows(published=published.spec, tried=chosen.size, certain=certain, right=right)


def _differenced(
    counts: ScoreCounts, published: Publication, at: int, positive: bool, positives_known: bool
) -> tuple[bool | None, bool]:
    old, metric = without_row(counts, at, positive), published.metric
    before, after = (published.window(exact_number(each, metric)) for each in (old, counts))
    rows = int(old.total_positives + old.total_negatives)
    if metric == "auc":
        row = added_row(before, after, rows=rows, positives=_known_positives(old, rows, positives_known))
        return row.positive, row.certain
    score = float(counts.scores[at])
    if metric in MEANS:
        found = added_term(metric, before, after, rows=rows, score=score).guess
        assert found is not None  # noqa: S101  # the score was given
    else:
        found = label_of_score(old, score, metric, after)
    return found.positive, found.certain


def _known_positives(old: ScoreCounts, rows: int, exactly: bool) -> int | range:
    """Return the number of positives, or only that it is at most, or at least, half the rows."""
    positives = int(old.total_positives)
    if exactly:
        return positives
    return range(1, rows // 2 + 1) if 2 * positives <= rows else range((rows + 1) // 2, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencingGame:
    """Success of guessing the added row's label, a fair coin, from the change between two publications.

    The game's bound is for two releases, at twice epsilon. Only the second depends on the label, so the bound of one,
    `label_bound`, holds as well; None where there is no guarantee.
    """

    game: Game
    label_bound: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.game.to_dict(), "label_bound": self.label_bound}


def differencing_game(
    counts: ScoreCounts,
    published: Publication,
    *,
    trials: int,
    rng: np.random.Generator,
    neighbours: str = NEIGHBOURS,
    mechanism: str = "auto",
    delta: object = 0,
    level: float = 0.95,
) -> DifferencingGame:
    """Publish a number before and after a row with a fair coin for its label is added, and guess the coin.

    The adversary knows by how much either label would have changed the exact number, and guesses the one that is
    nearer to the published change. Rows and coins come from `rng`, noise from the system.
    """
    check_game(counts, published, trials)
    check_once(published)
    terms: dict[str, Any] = {
        "epsilon": published.epsilon,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "delta": delta,
    }
    target, hits, guarantee = row_drawer(counts, rng), 0, None
    for _ in range(trials):
        at, positive = target()
        old = without_row(counts, at, positive)
        truth = bool(rng.integers(2))
        worlds = [with_row(old, float(counts.scores[at]), label) for label in (truth, not truth)]
        values = [exact_number(each, published.metric) for each in (old, *worlds)]
        if published.private:
            (first,), guarantee = released(old, published.metric, **terms)
            (second,), _ = released(worlds[0], published.metric, **terms)
            change = Fraction(second.value) - Fraction(first.value)
            window = Window(lower=change, upper=change)
        else:
            before, after = published.window(values[0]), published.window(values[1])
            window = Window(lower=after.lower - before.upper, upper=after.upper - before.lower)
        costs = [float(gap_to(value - values[0], window)) for value in values[1:]]
        hits += right_guess(costs[0], costs[1], rng)
    game = finished(published, hits, trials, level=level, guarantee=guarantee, times=2)
    one = None if game.epsilon is None else success_bound(game.epsilon / 2.0, game.delta / 2.0)
    return DifferencingGame(game=game, label_bound=one)
