"""Guarantees and parts of requests about features and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms


def feature_guarantee(terms: Terms, public: Sequence[str] = ()) -> Guarantee:
    """Return the guarantee for rows of features.

    The list of features is public. Under label-only neighbours, the features of every row are public too.
    """
    guarantee = terms.guarantee(public=("which features there are", *public))
    if terms.neighbours != Neighbours.LABEL_ONLY:
        return guarantee
    others = (fact for fact in guarantee.public if fact != "scores")
    return replace(guarantee, public=("features of every row", *others))


def check_part(part: Part | None, terms: Terms) -> None:
    """Refuse a part of the rows under replace-one neighbours, where the guarantee would not hold for all rows.

    The caller must know that all rows of a person lie in one part.
    """
    if part is not None and terms.neighbours == Neighbours.REPLACE_ONE:
        raise ParameterError(
            "under replace-one a row may leave a part, whose number of rows is then not public; "
            "ask for add-remove-one, or for all rows"
        )
