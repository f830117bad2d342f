"""Guarantees and parts of requests about features and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from confide.errors import ParameterError
from confide.privacy.guarantee import Guarantee
from confide.privacy.neighbours import Neighbours
from confide.privacy.prepared import Part
from confide.releases.terms import Terms


def feature_guarantee(terms: Terms, public: Sequence[str] = (), *, rho: Fraction | None = None) -> Guarantee:
    """Return the guarantee for rows of features; with Gaussian noise it has a delta, and `rho` for single rows.

    The list of features is public. Under label-only neighbours, the features of every row are public too.
    """
    public = ("which features there are", *public)
    guarantee = terms.guarantee(needs_delta=rho is not None, public=public, rho=rho)
    if terms.neighbours != Neighbours.LABEL_ONLY:
        return guarantee
    others = (fact for fact in guarantee.public if fact != "scores")
    return replace(guarantee, public=("features of every row", *others))


FAMILIES = ("laplace", "gaussian")


def checked_family(mechanism: object, terms: Terms) -> str:
    """Return the noise that was asked for; Gaussian noise needs a delta, and Laplace noise takes none."""
    if mechanism not in FAMILIES:
        raise ParameterError(f"mechanism must be one of {', '.join(FAMILIES)}; got {str(mechanism)[:40]!r}")
    if mechanism == "laplace" and terms.delta:
        raise ParameterError("delta is for Gaussian noise; give `mechanism` gaussian, or leave delta out")
    return str(mechanism)


def check_part(part: Part | None, terms: Terms) -> None:
    """Refuse a part of the rows under replace-one neighbours, where the guarantee would not hold for all rows.

    The caller must know that all rows of a person lie in one part.
    """
    if part is not None and terms.neighbours == Neighbours.REPLACE_ONE:
        raise ParameterError(
            "under replace-one a row may leave a part, whose number of rows is then not public; "
            "ask for add-remove-one, or for all rows"
        )
