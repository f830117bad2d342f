"""Question of a coordinator to its sites: public, checked once, and the same text at both ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypedDict, Unpack

from confide.errors import FederationError, ParameterError
from confide.federation.modes.registry import mode_named, mode_of, modes_that_take
from confide.federation.question_terms import (
    FEWEST_MASKED,
    check_fewest,
    check_threshold,
    checked_grid,
    checked_name,
    checked_purpose,
    checked_rows_per_person,
    checked_unit,
    checked_whole,
    with_threshold,
)
from confide.grid import Grid

PROTOCOL = 5
"""Version of the protocol. Sites and coordinators of different versions do not talk to each other."""

_MOST_VERSION = 10_000


class ModeTerms(TypedDict, total=False):
    """Terms that some modes have, and others refuse."""

    minimum_cell: int | None
    epsilon: object
    site_share: object
    colluders: int | None
    delta: object
    sensitivity: object
    edition: int | None
    rows: int | None
    noise: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question about one model, asked of several sites.

    Parameters
    ----------
    study, model
        Name of the study, which sites may allow or refuse, and the name under which each site knows the model.
    mode
        Name of the mode, see `modes`: "disclosure-control", "secure-sum", "private" or, for comparison, "noisy-scores".
    sites, fewest
        Sites that are asked, and the least number of them that must take part. Both are signed with the rest: a server
        that lists other sites, or fewer, in the second round is refused.
    grid, bins
        Public cells of scores (see `Grid.named`) and the number of calibration bins.
    minimum_cell
        Least number of rows of a class in a cell that leaves a site, in modes without noise.
    epsilon, site_share, colluders
        Private mode: the price at each site, the share of it for the site's own results, and the number of sites that
        may share everything they know with the coordinator without weakening the guarantee.
    unit, rows_per_person
        Unit that the guarantee protects: a row, or a person with at most `rows_per_person` rows.
    edition
        Number of a private question's repetition. A new edition is a new question: all sites draw fresh noise, and pay
        for it again. It is needed after a site's data changed.
    noise, delta
        Private mode: "gaussian" for discrete Gaussian noise, which has a delta; None for Laplace noise, which has none.
        See `private_noise`.
    delta, sensitivity
        Noisy-scores mode: terms of its noise, which guarantee nothing.
    purpose
        Why this is asked, for the people who approve it; no answer depends on it.
    threshold
        Masked modes: the number of sites that can take masks off together after others dropped out; 0 if a sum needs
        every site that began it. See `recovery_terms`.
    """

    study: str
    model: str
    mode: str
    sites: tuple[str, ...]
    fewest: int
    grid: str
    bins: int = 10
    minimum_cell: int | None = None
    epsilon: str | None = None
    site_share: str | None = None
    colluders: int | None = None
    unit: str = "row"
    rows_per_person: int = 1
    delta: str | None = None
    sensitivity: str | None = None
    edition: int | None = None
    purpose: str | None = None
    threshold: int | None = None
    noise: str | None = None
    protocol: int = PROTOCOL

    @classmethod
    def checked(
        cls,
        *,
        study: str,
        model: str,
        mode: str,
        sites: Sequence[str],
        fewest: int | None = None,
        grid: str | None = None,
        bins: int = 10,
        unit: str = "row",
        rows_per_person: int = 1,
        purpose: str | None = None,
        threshold: int | None = None,
        **of_mode: Unpack[ModeTerms],
    ) -> Question:
        """Check all terms and fill in defaults.

        `rows` is the approximate number of rows of all sites together, which is public. It is not part of the question;
        in the private mode it decides the number of cells if no grid is given.
        """
        chosen = mode_named(mode)
        given: dict[str, Any] = {**dict.fromkeys(ModeTerms.__annotations__), **of_mode}
        for name, value in given.items():
            if value is not None and name not in chosen.parameters:
                raise ParameterError(f"`{name}` is for {_modes(modes_that_take(name))}; leave it out")
        if isinstance(sites, str):
            raise ParameterError("`sites` must be a list of names")
        named = tuple(checked_name(site, "site") for site in sites)
        question = cls(
            study=checked_name(study, "study"),
            model=checked_name(model, "model"),
            mode=mode,
            sites=tuple(sorted(named)),
            fewest=len(named) if fewest is None else fewest,
            grid="" if grid is None else checked_grid(grid),
            bins=checked_whole(bins, "bins", 2, 100),
            unit=checked_unit(unit),
            rows_per_person=checked_rows_per_person(rows_per_person, unit),
            purpose=None if purpose is None else checked_purpose(purpose),
            **chosen.complete(given, len(named)),
        )
        question = with_threshold(question, threshold, masked=chosen.masked)
        question._check_sites()
        if grid is None:
            question = replace(question, grid=chosen.default_grid(question, given["rows"]))
        question._check()
        return question

    def _check(self) -> None:
        self._check_sites()
        mode = mode_of(self)
        if len(self.public_grid) > mode.most_cells:
            raise ParameterError(
                f"`grid` has at most {mode.most_cells:,} cells in mode {self.mode}; give a coarser one"
            )
        mode.check_question(self)

    def _check_sites(self) -> None:
        """Refuse lists of sites that the mode cannot use, and a `fewest` with which it could not go on."""
        if len(set(self.sites)) < len(self.sites):
            raise ParameterError("every site must be named once")
        needed = FEWEST_MASKED if mode_of(self).masked else 1
        if len(self.sites) < needed:
            raise ParameterError(
                f"mode {self.mode} needs at least {needed} sites: with two, each could subtract its own part from the "
                "sum; ask more sites, or use another mode"
            )
        check_fewest(self, mode_of(self).fewest_sites(self))
        check_threshold(self)

    @property
    def public_grid(self) -> Grid:
        """Cells of scores."""
        return Grid.named(self.grid)

    @property
    def honest(self) -> int:
        """Number of sites whose shares of the noise the guarantee relies on, if as few answer as were signed."""
        return self.left - (self.colluders or 0)

    @property
    def left(self) -> int:
        """Least number of answers that make a sum: all, unless masks can be taken off after sites dropped out."""
        return max(self.fewest, self.threshold) if self.threshold else len(self.sites)

    @property
    def least_sites(self) -> int:
        """Least number of sites that take part: `fewest`, or `left` where sites may drop out.

        Two disjoint lists of fewer than `left` sites could both be answered.
        """
        return self.left if self.threshold else self.fewest

    @property
    def exact_epsilon(self) -> Fraction:
        """Price at each site."""
        if self.epsilon is None:
            raise ParameterError(f"mode {self.mode} has no epsilon")
        return Fraction(self.epsilon)

    @property
    def own_epsilon(self) -> Fraction:
        """Part of epsilon for the site's own results, under Laplace noise; 0 if only the sum is released."""
        return self.exact_epsilon * Fraction(self.site_share or 0)

    @property
    def pooled_epsilon(self) -> Fraction:
        """Part of epsilon for the sum over all sites, under Laplace noise."""
        return self.exact_epsilon - self.own_epsilon

    def terms(self) -> dict[str, Any]:
        """Return the terms of a release, except epsilon."""
        return {"neighbours": "add-remove-one", "unit": self.unit, "rows_per_person": self.rows_per_person}

    def of(self, sites: tuple[str, ...]) -> Question:
        """Return the same question to those of its sites that take part; threshold and number of colluders stay."""
        strangers = sorted(set(sites) - set(self.sites))
        if strangers:
            raise ParameterError(f"site {strangers[0]!r} is not among those that the question names")
        question = replace(self, sites=tuple(sorted(sites)))
        question._check()
        return question

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = asdict(self)
        plain["sites"] = list(self.sites)
        return {name: value for name, value in plain.items() if value is not None}

    def digest(self) -> str:
        """Return a hash that identifies the question."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def lasting_digest(self) -> str:
        """Return a hash of what is asked, whatever the version of the protocol and the purpose.

        A site's memory outlives versions, and the same question for another purpose has the same answer.
        """
        left_out = {"protocol", "purpose"} | (set() if self.threshold else {"threshold"})
        asked = {name: value for name, value in self.to_dict().items() if name not in left_out}
        return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @classmethod
    def stored(cls, plain: Mapping[str, Any]) -> Question:
        """Read a question that a site stored, whatever the version of the protocol was."""
        return cls.from_dict({**plain, "protocol": PROTOCOL})

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Question:
        """Read a question that came from elsewhere, with all checks."""
        version = plain.get("protocol") if isinstance(plain, Mapping) else None
        if type(version) is not int or version != PROTOCOL:
            raise FederationError(other_version("the question", version))
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in plain.items() if name != "protocol"}
        if not set(given) <= known:
            raise FederationError("the question asks for something unknown here; install the same version everywhere")
        try:
            return cls.checked(**given)
        except TypeError:
            raise FederationError("the question is incomplete; send it with `confide validate`") from None


def _modes(names: tuple[str, ...]) -> str:
    """Return names of modes in words.

    >>> _modes(("private",)), _modes(("private", "noisy-scores"))
    ('the mode private', 'the modes private and noisy-scores')
    """
    *first, last = names
    return f"the modes {', '.join(first)} and {last}" if first else f"the mode {last}"


def other_version(what: str, version: object) -> str:
    """Return a refusal to talk to an installation that speaks another version of the protocol."""
    theirs = f"version {version}" if type(version) is int and 0 <= version < _MOST_VERSION else "an unknown version"
    return (
        f"{what} speaks {theirs} of the protocol, this installation version {PROTOCOL}; install the same version of "
        "confide at the coordinator and at every site"
    )
