"""What requests about features and models have in common: which facts are public, and which parts they may be about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms


def feature_guarantee(terms: Terms, public: Sequence[str] = ()) -> Guarantee:
    """What is promised to rows of features; which features there are is public, and under label-only who has which."""
    guarantee = terms.guarantee(public=("which features there are", *public))
    if terms.neighbours != Neighbours.LABEL_ONLY:
        return guarantee
    others = (fact for fact in guarantee.public if fact != "scores")
    return replace(guarantee, public=("features of every row", *others))


def check_part(part: Part | None, terms: Terms) -> None:
    """Refuse a part where what is promised about its rows would not hold about all.

    Whether all rows of a person lie in one part, only who made the partition can know.
    """
    if part is not None and terms.neighbours == Neighbours.REPLACE_ONE:
        raise ParameterError(
            "under replace-one a row may leave a part, whose number of rows is then not public; "
            "ask for add-remove-one, or for all rows"
        )
