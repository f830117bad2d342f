"""AUC with noise at the scale of the data at hand: the smaller class, whatever its size, sets the scale.

Proof: local_auc.proof.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.privacy.mechanisms.auc_sensitivity import exact_auc
from confide.privacy.mechanisms.class_sizes import counted_rows
from confide.privacy.neighbours import Neighbours
from confide.privacy.noise.pareto import ParetoShape
from confide.privacy.queries import CutQuery

LEAST = 5
"""Without a guess, the least class size that is not held up is this over epsilon."""

MOST_LEAST = 20
"""With a guess of the prevalence, the least class size is at most this over epsilon."""

CENTRE = Fraction(3, 4)
"""AUC towards which small classes are shrunk, where the proof allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalParameters:
    """Public parameters of the mechanism, refused unless the proof's conditions hold.

    `least` (n0) is the size that the smaller class counts as at least; `centre` (A0) the AUC towards which smaller
    classes are shrunk. `rows` is the number of rows where it is public, None under add-remove-one.
    """

    epsilon: Fraction
    neighbours: Neighbours
    rows: int | None
    least: int
    centre: Fraction

    def __post_init__(self) -> None:
        if self.least * self.epsilon <= 1:
            raise ParameterError("least must be above 1 / epsilon")
        if not 0 <= self.centre <= 1:
            raise ParameterError("centre must lie in [0, 1]")
        if (self.rows is None) != (self.neighbours == Neighbours.ADD_REMOVE_ONE):
            raise ParameterError("rows is the number of rows, unless neighbours is add-remove-one")
        if self.rows is not None and not _centre_allowed(self.rows, self.least, self.centre):
            raise ParameterError("least is too large for so few rows, or centre too far from 1/2")
        self.shape  # noqa: B018 - refuses a tail without a mean

    @property
    def shape(self) -> ParetoShape:
        """Return the shape of the noise: a core of `1/(n0 epsilon)`, and `2/(N epsilon)` as tail if N is public."""
        tail = Fraction(0) if self.rows is None else 2 / (self.rows * self.epsilon)
        return ParetoShape.symmetric(core=1 / (self.least * self.epsilon), tail=tail)


def local_parameters(
    epsilon: Fraction, neighbours: Neighbours, rows: int | None, prevalence_guess: float | None = None
) -> LocalParameters | None:
    """Choose the parameters from public facts; None where there are too few rows for any."""
    least = max(math.ceil(LEAST / epsilon), 1)
    if rows is None:
        return LocalParameters(epsilon=epsilon, neighbours=neighbours, rows=None, least=least, centre=CENTRE)
    if prevalence_guess is not None:
        guessed = rows * min(prevalence_guess, 1.0 - prevalence_guess)
        least = max(least, min(int(guessed / 2.0), math.floor(MOST_LEAST / epsilon)))
    centre = min(CENTRE, 1 - Fraction(least - 1, max(rows - least + 1, 1)))
    if centre < Fraction(1, 2):
        least, centre = rows // 3 + 1, Fraction(1, 2)
    if least * epsilon <= 1 or rows * epsilon <= 2:
        return None
    return LocalParameters(epsilon=epsilon, neighbours=neighbours, rows=rows, least=least, centre=centre)


def local_auc(counts: ScoreCounts, parameters: LocalParameters) -> CutQuery:
    """Query AUC, shrunk towards the centre where the smaller class is below the least size.

    With `q` the size of the smaller class and `size = max(q, n0)`, the value is `A0 + (q / size) (AUC - A0)` and the
    scale `1 / (epsilon size)`. Without rows of one class the value is `A0`.
    """
    positives, negatives = counted_rows(counts)
    if parameters.rows is not None and positives + negatives != parameters.rows:
        raise ParameterError("the parameters are for another number of rows")
    smaller = min(positives, negatives)
    size = max(smaller, parameters.least)
    value = parameters.centre + Fraction(smaller, size) * (exact_auc(counts) - parameters.centre)
    return CutQuery(value=value, scale=1 / (parameters.epsilon * size), shape=parameters.shape)


def _centre_allowed(rows: int, least: int, centre: Fraction) -> bool:
    """Return whether `max(A0, 1 - A0) + (n0 - 1) / (N - n0 + 1) <= 1`."""
    return least <= rows and max(centre, 1 - centre) + Fraction(least - 1, rows - least + 1) <= 1
