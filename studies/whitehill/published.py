"""Printed numbers of the paper."""

from __future__ import annotations

EXAMPLE = (11, "17/24", 8)
"""Rows, AUC and positives of Table 1 and Figure 3."""

TABLE_1 = (
    *("1100101111", "1011001111", "1010110111", "0111010111"),
    *("1001111011", "0110111011", "0101111101", "0011111110"),
)
"""Rows a to h of Table 1: the first ten of eleven labels; the last column is missing in the paper."""

GROWTH_AUC = "1387/1440"
GROWTH = {76: 657_488, 77: 654_344, 78: 650_822, 84: 622_952, 92: 572_728, 98: 529_382, 106: 468_686}
"""Number of labelings by the number of rows."""

GROWTH_SIZES = {76: (36, 40), 77: (32, 45), 78: (30, 48), 84: (24, 60), 92: (20, 72), 98: (18, 80), 106: (16, 90)}
"""Possible numbers of positives by the number of rows."""

EXAMPLE_QUERIES, EXAMPLE_DEPTH = 9, 4
LARGE_QUERIES, LARGE_ROWS = 71, 106

THOUSAND = (1_000, "450/479", (42, 479, 521, 958))
"""Rows, AUC and possible numbers of positives of the introduction's example."""

CONTEST_ROWS, CONTEST_NEGATIVES, CONTEST_POSITIVES, CONTEST_WINS = 172, 100, 72, 6_500
CONTEST_POSSIBLE = 18
"""Contest of the discussion: class sizes, well placed pairs, and the possibilities that the paper counts."""

SWAP_BEFORE, SWAP_AFTER = "0010010111", "0010100111"
"""Labels of Figure 1 before and after a left-swap."""
SWAP_PAIRS = (4, 5)
"""Misplaced pairs that Figure 1 states for both."""
