"""What a coordinator asks of every site, all of it public: checked once, and the same text at both ends."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from confide.errors import FederationError, ParameterError, did_you_mean
from confide.grid import Grid
from confide.privacy.guarantee import UNITS, checked_epsilon, exact_fraction
from confide.privacy.mechanisms.strategies import MOST_CELLS

PROTOCOL = 2
"""Sites and coordinators of other versions do not talk to each other."""

DISCLOSURE_CONTROL, SECURE_SUM, PRIVATE, NOISY_SCORES = "disclosure-control", "secure-sum", "private", "noisy-scores"
MODES = (DISCLOSURE_CONTROL, SECURE_SUM, PRIVATE, NOISY_SCORES)
MASKED = (SECURE_SUM, PRIVATE)
"""Modes in which only sums over at least three sites are seen."""

EXACT = (DISCLOSURE_CONTROL, SECURE_SUM, NOISY_SCORES)
"""Modes without a proven guarantee: what leaves a site is exact, or as good as exact."""

FEWEST_MASKED = 3
SUPPOSED_ROWS = 1_000
"""How many rows a site is supposed to have where nobody states how many all sites have."""

DEFAULT_GRIDS: Mapping[str, str] = {
    DISCLOSURE_CONTROL: "uniform:100",
    SECURE_SUM: "uniform:65536",
    NOISY_SCORES: "uniform:65536",
}
"""Cells of the modes without noise; those of the private mode follow from public facts, see `default_cells`."""

MOST_EXACT_CELLS = 2**20
MOST_STATED_ROWS = 10**9
DEFAULT_MINIMUM: Mapping[str, int] = {DISCLOSURE_CONTROL: 5, SECURE_SUM: 1, NOISY_SCORES: 5}

_LONGEST = 200
_LONGEST_EDGES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A model's validation as it is asked of sites.

    Parameters
    ----------
    study, model
        The study's name, which sites may allow or not, and the name under which each site knows the model.
    mode
        What is promised: "disclosure-control", "secure-sum", "private" or, for comparison only, "noisy-scores".
    sites, fewest
        The sites that are asked, and how many of them must take part at least. Both are signed with the rest, so that a
        server that lists others, or fewer, in the second round is refused.
    grid, bins
        Public cells of scores (see `Grid.named`) and the number of calibration bins.
    minimum_cell
        The least number of rows of a class in a cell that leaves a site; every exact mode has one.
    epsilon, site_share, colluders
        Of the private mode: the price at each site, the share of it that is spent on the site's own results, and how
        many sites may put their knowledge together with the coordinator without weakening the guarantee.
    unit, rows_per_person
        Whom the guarantee protects: a row, or a person with at most so many rows.
    edition
        Which time a private question is asked: after a site's data changed, a new edition is a new question about the
        sum, with fresh shares of the noise at every site, and paid for again.
    delta, sensitivity
        Of the noisy-scores mode, which promises nothing that they stand for.
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
        minimum_cell: int | None = None,
        epsilon: object = None,
        site_share: object = None,
        colluders: int | None = None,
        unit: str = "row",
        rows_per_person: int = 1,
        delta: object = None,
        sensitivity: object = None,
        edition: int | None = None,
        rows: int | None = None,
    ) -> Question:
        """Check everything that is asked and fill in what was left out.

        `rows` is about how many rows all sites together have, as they state publicly. It is no part of the question:
        in the private mode it decides the cells, where no grid is given.
        """
        if mode not in MODES:
            raise ParameterError(
                f"mode must be one of {', '.join(MODES)}; got {mode!r}. {did_you_mean(mode, MODES)}".rstrip()
            )
        private, noisy = mode == PRIVATE, mode == NOISY_SCORES
        _only(private or noisy, epsilon=epsilon, where="the modes private and noisy-scores")
        _only(private, site_share=site_share, colluders=colluders, edition=edition, rows=rows, where="the mode private")
        _only(noisy, delta=delta, sensitivity=sensitivity, where="the mode noisy-scores")
        _only(not private, minimum_cell=minimum_cell, where="modes without noise; private counts need none")
        if isinstance(sites, str):
            raise ParameterError("sites must be a list of names")
        named = tuple(_checked_name(site, "site") for site in sites)
        question = cls(
            study=_checked_name(study, "study"),
            model=_checked_name(model, "model"),
            mode=mode,
            sites=tuple(sorted(named)),
            fewest=len(named) if fewest is None else fewest,
            grid=DEFAULT_GRIDS.get(mode, "") if grid is None else _checked_grid(grid),
            bins=_checked_whole(bins, "bins", 2, 100),
            minimum_cell=None if private else _checked_minimum(minimum_cell, mode),
            epsilon=_written(checked_epsilon(epsilon)) if private or noisy else None,
            site_share=_written(_checked_share(site_share)) if private else None,
            colluders=_default_colluders(len(named)) if private and colluders is None else colluders,
            unit=_checked_unit(unit),
            rows_per_person=_checked_rows(rows_per_person, unit),
            delta=None if delta is None else _written(exact_fraction(delta, "delta")),
            sensitivity=None if sensitivity is None else _written(exact_fraction(sensitivity, "sensitivity")),
            edition=(1 if edition is None else _checked_whole(edition, "edition", 1, 10**6)) if private else None,
        )
        if private and grid is None:
            question._check_sites()
            stated = SUPPOSED_ROWS * len(named) if rows is None else rows
            question = replace(question, grid=f"arcsine:{default_cells(question, stated)}")
        question._check()
        return question

    def _check_sites(self) -> None:
        if len(set(self.sites)) < len(self.sites):
            raise ParameterError("every site must be named once")
        least = FEWEST_MASKED if self.mode in MASKED else 1
        if len(self.sites) < least:
            raise ParameterError(
                f"mode {self.mode} needs at least {least} sites: with two, each could subtract its own part from the "
                "sum; ask more sites, or use another mode"
            )
        self._check_fewest()

    def _check(self) -> None:
        self._check_sites()
        most = MOST_CELLS if self.mode == PRIVATE else MOST_EXACT_CELLS
        if len(self.public_grid) > most:
            raise ParameterError(f"a grid has at most {most:,} cells in mode {self.mode}; give a coarser one")
        if self.mode == PRIVATE:
            self._check_parts()
        if self.mode == NOISY_SCORES:
            if self.delta is None or self.sensitivity is None:
                raise ParameterError("noisy-scores needs delta and the model's sensitivity (--delta, --sensitivity)")
            if not 0 < Fraction(self.delta) < 1 or Fraction(self.sensitivity) <= 0:
                raise ParameterError("delta must lie between 0 and 1, and the sensitivity be above 0")

    def _check_fewest(self) -> None:
        """Refuse to go on with as many sites as may collude, or with fewer than a sum needs."""
        if self.mode == PRIVATE:
            _checked_whole(self.colluders, "colluders", 0, len(self.sites) - 1)
        least = max(FEWEST_MASKED, (self.colluders or 0) + 1) if self.mode in MASKED else 1
        whole = isinstance(self.fewest, int) and not isinstance(self.fewest, bool)
        if not whole or not least <= self.fewest <= len(self.sites):
            raise ParameterError(
                f"mode {self.mode} can go on with {least} to {len(self.sites)} of these sites; got {self.fewest!r}"
            )

    def _check_parts(self) -> None:
        """Refuse parts of epsilon that no release could have."""
        from confide.releases.terms import Terms

        for part in (self.own_epsilon, self.pooled_epsilon):
            if part:
                Terms.checked(epsilon=part, **self.terms())

    @property
    def public_grid(self) -> Grid:
        """The cells."""
        return Grid.named(self.grid)

    @property
    def honest(self) -> int:
        """How many sites' shares of noise the guarantee rests on."""
        return len(self.sites) - (self.colluders or 0)

    @property
    def exact_epsilon(self) -> Fraction:
        """The price at each site."""
        if self.epsilon is None:
            raise ParameterError(f"mode {self.mode} has no epsilon")
        return Fraction(self.epsilon)

    @property
    def own_epsilon(self) -> Fraction:
        """What is spent on the site's own results; 0 where only the sum is released."""
        return self.exact_epsilon * Fraction(self.site_share or 0)

    @property
    def pooled_epsilon(self) -> Fraction:
        """What is spent on the sum over all sites."""
        return self.exact_epsilon - self.own_epsilon

    @property
    def worth_epsilon(self) -> float:
        """The epsilon at which one trusted curator's noise would be as large as that on the pooled counts.

        The sum has noise worth `sites / honest` shares; the sites' own counts, which are averaged in, have one each.
        """
        pooled, own = float(self.pooled_epsilon), float(self.own_epsilon)
        return math.sqrt((self.honest * pooled**2 + own**2) / len(self.sites)) / self.rows_per_person

    def terms(self) -> dict[str, Any]:
        """The terms of a release, whatever epsilon it has."""
        return {"neighbours": "add-remove-one", "unit": self.unit, "rows_per_person": self.rows_per_person}

    def of(self, sites: tuple[str, ...]) -> Question:
        """Return the same question to those of its sites that take part; as many may collude as before."""
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
        """A hash that tells it from every other question."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Question:
        """Read a question that came from elsewhere, checking it as if it were asked here."""
        version = plain.get("protocol") if isinstance(plain, Mapping) else None
        if type(version) is not int or version != PROTOCOL:
            raise FederationError(
                f"the question speaks version {_version(version)} of the protocol, this installation version "
                f"{PROTOCOL}; install the same version of confide at the coordinator and at every site"
            )
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in plain.items() if name != "protocol"}
        if not set(given) <= known:
            raise FederationError("the question asks for something unknown here; install the same version everywhere")
        try:
            return cls.checked(**given)
        except TypeError:
            raise FederationError("the question is incomplete; send it with `confide validate`") from None


def default_cells(question: Question, rows: object) -> int:
    """The number of cells of a private question to sites that together have about so many rows: from public facts."""
    from confide.releases.grids import cells_for_curves

    return cells_for_curves(_checked_whole(rows, "rows", 1, MOST_STATED_ROWS), question.worth_epsilon)


def checked_names(names: Mapping[str, object] | tuple[str, ...] | list[str], what: str) -> tuple[str, ...]:
    """Refuse names that could not be a site's, a study's or a model's."""
    return tuple(_checked_name(name, what) for name in names)


def _checked_name(name: object, what: str) -> str:
    text = str(name)
    allowed = all(letter.isalnum() or letter in "-_. @" for letter in text)
    tidy = bool(text.strip()) and text == text.strip() and not text.startswith(".") and len(text) <= _LONGEST
    if not isinstance(name, str) or not tidy or not allowed:
        raise ParameterError(
            f"the name of a {what} is 1 to {_LONGEST} letters, digits, spaces or any of - _ . @, the first no point; "
            "give another one"
        )
    return text


def _checked_whole(value: object, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ParameterError(f"{name} must be a whole number from {least} to {most}; got {value!r}")
    return value


def _checked_minimum(minimum: int | None, mode: str) -> int:
    return DEFAULT_MINIMUM[mode] if minimum is None else _checked_whole(minimum, "minimum_cell", 1, 10_000)


def _checked_grid(grid: object) -> str:
    """Refuse a grid that is too large before it is made: a site must not be made to build it."""
    text = str(grid)
    kind, _, rest = text.partition(":")
    cells = rest.partition(":")[0]
    if kind == "edges":
        fine = len(text) <= _LONGEST_EDGES
    else:
        fine = (
            len(text) <= _LONGEST and re.fullmatch("[0-9]{1,7}", cells) is not None and int(cells) <= MOST_EXACT_CELLS
        )
    if not fine:
        raise ParameterError(
            f"grid must look like arcsine:32, uniform:16:-4:4 or edges:0,0.1,1, with at most {MOST_EXACT_CELLS:,} cells"
        )
    return text


def _checked_unit(unit: object) -> str:
    if unit not in UNITS:
        raise ParameterError(f"unit must be one of {', '.join(UNITS)}; got {unit!r}")
    return str(unit)


def _checked_rows(rows: object, unit: str) -> int:
    found = _checked_whole(rows, "rows_per_person", 1, 10_000)
    if found > 1 and unit != "person":
        raise ParameterError("rows per person are for protecting persons; give unit person with it (--unit person)")
    return found


def _checked_share(share: object) -> Fraction:
    fraction = Fraction(1, 2) if share is None else exact_fraction(share, "site_share")
    if not 0 <= fraction < 1:
        raise ParameterError(f"site_share must lie between 0 (the sum alone) and 1; got {share!r}")
    return fraction


def _default_colluders(sites: int) -> int:
    """Fewer than half of the sites."""
    return max((sites - 1) // 2, 0)


def _only(here: bool, *, where: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None and not here:
            raise ParameterError(f"{name} is for {where}; leave it out")


def _written(value: Fraction) -> str:
    return str(value)


def _version(version: object) -> str:
    return str(version) if isinstance(version, int) else "an unknown"
