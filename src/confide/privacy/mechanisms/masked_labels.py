"""Masked labels: each label is flipped once with a public probability (randomised response [1]_), pure epsilon.

Everything that is computed from masked labels afterwards, however often and by whomever, costs nothing more.

Proof: masked_labels.proof.md.

References
----------
.. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias", JASA 1965.

"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from confide.errors import ConfideError, LabelError, ParameterError
from confide.privacy.noise.flips import PLACES
from confide.privacy.noise.reals import as_fraction, precisions, working_precision
from confide.privacy.queries import FlipQuery


def masked_labels(labels: NDArray[np.bool_], epsilon: Fraction) -> FlipQuery:
    """Query every label, flipped with the least probability that epsilon allows. Neighbours: label-only."""
    return FlipQuery(values=checked_labels(labels), probability=flip_probability(epsilon))


def flip_probability(epsilon: Fraction) -> Fraction:
    """Return the least multiple of 2^-64 that is not below `1 / (1 + exp(epsilon))`.

    >>> float(flip_probability(Fraction(1)))
    0.2689414213699951
    """
    exponent = as_fraction(epsilon, "epsilon")
    if exponent <= 0:
        raise ParameterError(f"epsilon must be greater than 0; got {exponent}. Usual choices are 1 to 4")
    probability = Fraction(_parts(exponent), 2**PLACES)
    if probability >= Fraction(1, 2):
        raise ParameterError("epsilon is so small that masked labels would tell nothing; give a larger epsilon")
    return probability


def checked_labels(labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return labels, refusing what is no array of true and false. They are private, so none is shown."""
    if not isinstance(labels, np.ndarray) or labels.dtype != np.bool_ or labels.ndim != 1:
        raise LabelError("labels must be an array of true and false; compare them with the positive label first")
    return labels


def _parts(epsilon: Fraction) -> int:
    """Return the least whole number that is not below `2^PLACES / (1 + exp(epsilon))`."""
    exponent = fmpq(epsilon.numerator, epsilon.denominator)
    for precision in precisions():
        with working_precision(precision):
            whole = (arb((1, PLACES)) / (1 + arb(exponent).exp())).ceil().unique_fmpz()
        if whole is not None:
            return int(whole)
    raise ConfideError("the probability of a flip cannot be told from a whole number of parts; give another epsilon")
