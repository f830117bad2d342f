"""Terms of a question whose sum survives dropouts: the threshold, how few sites may be left, and the noise for that.

A question that allows fewer sites than it names (`fewest`) states a threshold t. Of n sites, any t can together take
the masks off a sum after others dropped out (`crypto.recovery`). It is the smallest number with 2t > n + colluders: a
dishonest server with so many colluding sites can then neither take apart an answer nor get two sums out of a question.
A sum needs `left` = max(fewest, t) answers. In private mode shares of the noise are sized for `left` sites: they are
enough whoever drops out.

With `fewest` equal to the number of sites there is no threshold: a sum needs all of them, and the masks hold against
any number of colluders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from confide.errors import ParameterError
from confide.federation.term_checks import checked_whole

if TYPE_CHECKING:
    from confide.federation.question import Question


def default_colluders(sites: int) -> int:
    """Return the largest number that is fewer than half of the sites."""
    return max((sites - 1) // 2, 0)


def with_threshold(question: Question, given: int | None, *, masked: bool) -> Question:
    """Return the question with its threshold: the one that was given, or the smallest that is safe."""
    if not masked:
        if given is not None:
            raise ParameterError(f"`threshold` is for modes that mask; leave it out in mode {question.mode}")
        return question
    sites, fewest = len(question.sites), question.fewest
    if given is not None:
        return replace(question, threshold=checked_whole(given, "threshold", 0, sites))
    if not isinstance(fewest, int) or fewest >= sites:
        return replace(question, threshold=0)
    colluders = question.colluders
    if colluders is None:  # two honest sites must be left in an exact sum
        colluders = min(default_colluders(sites), max(fewest - 2, 0))
    least = (sites + colluders) // 2 + 1 if isinstance(colluders, int) else sites
    if max(least, fewest) >= sites:
        return replace(question, threshold=0)
    return replace(question, threshold=least, colluders=colluders)


def check_fewest(question: Question, least: int) -> None:
    """Refuse a `fewest` with which a mode that needs at least `least` sites could not go on."""
    fewest, sites = question.fewest, len(question.sites)
    if isinstance(fewest, int) and not isinstance(fewest, bool) and least <= fewest <= sites:
        return
    if least < sites:
        raise ParameterError(
            f"mode {question.mode} can go on with {least} to {sites} of these sites; got {fewest!r} for `fewest`"
        )
    needed = f"all {sites} of these sites" if least == sites else f"at least {least} sites, not {sites}"
    raise ParameterError(
        f"mode {question.mode} needs {needed}; got {fewest!r} for `fewest`. Leave it out, or ask more sites"
    )


def check_threshold(question: Question) -> None:
    """Refuse a threshold at which a dishonest server could take answers apart, or one that no sum could reach."""
    threshold, sites = question.threshold, len(question.sites)
    if threshold and not (sites + (question.colluders or 0) < 2 * threshold <= 2 * sites):
        raise ParameterError(
            f"`threshold` must be more than half of {sites} sites and {question.colluders or 0} colluders together, "
            f"and at most {sites}; got {threshold}"
        )


def recovery_terms(question: Question) -> dict[str, Any]:
    """Return the terms of recovery that a sum depends on; none if it needs every site."""
    if not question.threshold:
        return {}
    return {"threshold": question.threshold, "left": question.left, "colluders": question.colluders}


def in_words(question: Question) -> tuple[str, ...]:
    """Return what sites that drop out change about the promise, in sentences."""
    if not question.threshold:
        return ()
    return (
        f"The sum is still read if sites drop out, over at least {question.left} of them: any {question.threshold} can "
        f"then take masks off together. Masks hold against {colluding_sites(question.colluders or 0)}, not against "
        "more.",
    )


def colluding_sites(number: int) -> str:
    """Return a number of sites that collude, in words.

    >>> colluding_sites(1), colluding_sites(2)
    ('1 colluding site', '2 colluding sites')
    """
    return f"{number} colluding site{'' if number == 1 else 's'}"
