"""Lines of text about the labelings that an AUC leaves possible."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from confide.attacks.from_auc.labeling_count import LabelingCount

_LISTED = 12


def labelings_lines(done: LabelingCount) -> Iterator[str]:
    """Yield the number of labelings, the possible numbers of positives, and the number of submissions."""
    known = done.labelings.positives
    every = f"2^{done.rows}" if known is None else _large(comb(done.rows, known))
    yield f"{_large(done.count)} of {every} labelings have an AUC of {done.auc}"
    if not done.positives:
        yield "so this is not the AUC of so many rows: check both, and whether scores tie (--ties)"
    else:
        listed = ", ".join(map(str, done.positives[:_LISTED]))
        more = f", ... ({len(done.positives)} numbers)" if len(done.positives) > _LISTED else ""
        yield f"positives: {listed}{more}"
        triples = sum(high - low + 1 for low, high in done.labelings.spans().values())
        yield f"possible (negatives, positives, misplaced pairs): {triples:,}"
    if done.queries is not None:
        yield f"submissions that find the true one: at most {done.queries}"


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"
