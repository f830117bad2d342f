"""Rows of a site in tests: counts, with an identity as if each were a file of its own."""

from __future__ import annotations

from hashlib import sha256

from confide import ScoreCounts
from confide.federation.site.scored_rows import SiteRows


def held(counts: ScoreCounts) -> SiteRows:
    """Return counts as they would come from a file that holds nothing else."""
    plain = b"".join(array.tobytes() for array in (counts.scores, counts.positives, counts.negatives))
    return SiteRows(counts=counts, identity=sha256(plain).digest())
