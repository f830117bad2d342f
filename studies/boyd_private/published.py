"""Settings and numbers that the dissertation and the paper print.

Neither prints numbers of its error curves, and the text of both has no readings of their figures. What is compared
are the printed numbers and the sentences.
"""

from __future__ import annotations

from fractions import Fraction

SIZES = (30, 100, 300, 1_000)
"""Positives, and as many negatives, of Figures 5, 5.4 and 5.5."""

DELTAS = (Fraction(0), Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100))
"""With delta 0 noise is Cauchy, otherwise Laplace."""

DIGITS = (2, 3, 4, 5, 6, 7)
"""Digits of the AUC in Figure 2."""

MOST_ROWS = 2_500
"""Right end of Figure 2."""

BETAS = (0.0, 0.001, 0.01, 0.1)
"""Of Figure 3, besides infinity."""

SENSITIVITY_ROWS = 1_000
DISSERTATION_ROWS = (100, 1_000, 10_000)
"""Database sizes of Figures 3 and 5.3."""

HISTOGRAM_SIZES = (100, 1_000)
HISTOGRAM_EPSILON, HISTOGRAM_DELTA = Fraction(1), Fraction(1, 100)
"""Of Figures 4 and 5.6."""

DIABETES_AVERAGE_PRECISION = 0.75
"""Of the diabetes data with n = m = 100, section 4: "the correct AP of about 0.75"."""

CURVE_SIZE = 1_000
CURVE_EPSILON, CURVE_DELTA = Fraction(1, 10), Fraction(1, 100)
CURVE_QUANTILES = (0.025, 0.5, 0.975)
"""Of Figure 6."""

NEIGHBOUR_SIZES = ((15, 15), (16, 14))
NEIGHBOUR_AUCS = (0.796, 0.772)
"""Positives and negatives, and AUC, of D and D' in Figure 1."""

LEAST_AVERAGE_PRECISION = 0.3
"""Smallest average precision with n = m, section 3.3: "about 0.3"."""

ENOUGH_EPSILON = Fraction(1, 4)
"""Section 5.6: with 1,000 rows of each class AUC is reasonably accurate above this epsilon."""
