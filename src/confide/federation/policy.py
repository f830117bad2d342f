"""What a site allows: read from `policy.toml` in its folder, and checked before its data are looked at.

A refusal says which rule it breaks, what was asked, what the site allows and what to change. It depends on the question
and the policy alone, so it tells nothing about the site's data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError, RefusedError, did_you_mean
from confide.federation.question import (
    DISCLOSURE_CONTROL,
    EXACT,
    FEWEST_MASKED,
    MASKED,
    MODES,
    MOST_EXACT_CELLS,
    PRIVATE,
    SECURE_SUM,
    Question,
    checked_names,
)
from confide.federation.site_files import check_keys, parsed, read_text, toml_value
from confide.privacy.guarantee import checked_epsilon, shown

ANY = "any"
"""What stands in a policy for every study, or every coordinator."""

_TEMPLATE = f"""\
# What this site allows. Whoever asks for more is refused, and told which of these rules it was.
# Lines that are left out have the values shown here. Changes count from the next request on.

# What may be promised to those whose data these are:
#   "disclosure-control"  exact counts leave the site, in groups of at least minimum_cell rows of a class
#   "secure-sum"          exact counts leave the site masked: only sums over all sites that take part can be read
#   "private"             differential privacy: counts with noise, masked, and charged to this site's ledger
#   "noisy-scores"        noise on scores, as in a published method, for comparisons; it promises nothing proven
modes = ["disclosure-control", "secure-sum", "private"]

# disclosure-control: a group of rows of one class that leaves the site has at least so many people in it.
minimum_cell = 5

# secure-sum: the same before masking. With 1, counts are masked as they are.
secure_sum_minimum_cell = 1

# Modes without noise: this site takes part only if it has at least so many rows of each class. Nor does it make groups
# of more rows than that: whoever asks must not learn how large a class is.
smallest_class = 5

# Modes without noise: scores are counted in at most so many cells.
most_cells = {MOST_EXACT_CELLS}

# private: how much epsilon one study may cost the people in these data, and all studies together. Write 0.5 or "1/2".
# What was spent stays spent, and is in the ledger beside this file: confide ledger show --ledger ledger.db
epsilon_per_study = 1
epsilon_in_all = 3

# private: the guarantee must stand although so many of the other sites put what they know together with the
# coordinator. With 0 it would rest on every single one of them.
least_colluders = 1

# secure-sum and private: sums over fewer sites are refused, and so are questions that allow fewer. Three is the least:
# of two, each could subtract its own.
fewest_sites = {FEWEST_MASKED}

# How many rows one person has at most. Above 1, private questions must protect persons with as many rows
# (--unit person --rows-per-person), and groups need as many times more rows.
rows_per_person = 1

# Which studies this site takes part in, by their exact names, such as ["stroke-2026", "sepsis"]. Each may cost
# epsilon_per_study, so others are refused. Without the mode private it may also be "any".
studies = @studies@

# Whose requests: "any", or a list such as ["coordinator@stroke.confide"].
coordinators = "any"

# secure-sum and private: fingerprints of the sites' own keys, compared by telephone or on paper, so that nobody can
# pose as one of them, not even the coordinator, who made their certificates and kits. With none listed, you trust the
# coordinator in this. If you list any, list all sites that take part, this one too. Each is the SHA-256 fingerprint
# that `confide site status` shows there.
# [peers]
# "hospital-a" = "0f3c..."
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A site's rules; see `default_policy` for what each means.

    `studies` are those that the site takes part in; None stands for any, which goes without the mode private only, for
    a limit on each study limits nothing where whoever asks invents studies. `coordinators` and `peers` are None where
    nothing is said of them: everybody is allowed then.

    A guarantee that one other site could weaken is not worth much, and it costs little to ask for more: so
    `least_colluders` is 1 unless a site says otherwise. Questions stand against that by default.
    """

    modes: tuple[str, ...] = (DISCLOSURE_CONTROL, SECURE_SUM, PRIVATE)
    minimum_cell: int = 5
    secure_sum_minimum_cell: int = 1
    smallest_class: int = 5
    most_cells: int = MOST_EXACT_CELLS
    epsilon_per_study: Fraction = Fraction(1)
    epsilon_in_all: Fraction = Fraction(3)
    least_colluders: int = 1
    fewest_sites: int = FEWEST_MASKED
    rows_per_person: int = 1
    studies: tuple[str, ...] | None = ()
    coordinators: tuple[str, ...] | None = None
    peers: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.studies is None and PRIVATE in self.modes:
            raise ParameterError(
                f'studies can be "{ANY}" only where modes leave out "{PRIVATE}": epsilon_per_study limits nothing '
                'while whoever asks names the studies. Name those that this site takes part in, such as ["stroke-2026"]'
            )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy's file."""
        return cls.from_toml(read_text(Path(path), "policy"), str(path))

    @classmethod
    def from_toml(cls, text: str, source: str = "the policy") -> Policy:
        """Read a policy's text, refusing keys that are unknown and values that break their rule."""
        given = parsed(text, source)
        check_keys(given, _READERS, source)
        read = {key: _READERS[key](value, f"{source}: {key}") for key, value in given.items()}
        try:
            return cls(**read)
        except ParameterError as error:
            raise ParameterError(f"{source}: {error}") from None

    def check(self, question: Question, *, coordinator: str | None = None) -> None:
        """Refuse a question, or whoever asks it, that the site does not allow."""
        self._check_who(question, coordinator)
        self._check_sites(question)
        if question.mode == PRIVATE:
            self._check_private(question)
        if question.mode in EXACT:
            self._check_exact(question)

    def least_cell(self, mode: str) -> int:
        """How many rows a group must have in a mode without noise, if each person in it may have several."""
        people = self.secure_sum_minimum_cell if mode == SECURE_SUM else self.minimum_cell
        return people if people == 1 else people * self.rows_per_person

    def least_class(self, mode: str) -> int:
        """How many rows of each class the site must have in a mode without noise: at least those of one group."""
        return max(self.smallest_class, self.least_cell(mode))

    def _check_who(self, question: Question, coordinator: str | None) -> None:
        if self.coordinators is not None and coordinator not in self.coordinators:
            raise _refused(
                "coordinators",
                f"{coordinator!r} asked" if coordinator else "nobody known asked",
                "takes requests only from coordinators that its policy names",
                "ask its administrator to add you",
            )
        if self.studies is not None and question.study not in self.studies:
            raise _refused(
                "studies",
                f"study {question.study!r} was asked for",
                "takes part only in studies that its policy names",
                "check the study's name (--study), or ask its administrator to add it to studies in policy.toml",
            )
        if question.mode not in self.modes:
            allowed = " or ".join(self.modes)
            raise _refused(
                "modes",
                f"mode {question.mode} was asked for",
                f"allows {allowed or 'no mode at present'}",
                f"ask with --mode {self.modes[0]}" if self.modes else "ask its administrator",
            )

    def _check_sites(self, question: Question) -> None:
        if question.mode not in MASKED:
            return
        if len(question.sites) < self.fewest_sites:
            raise _refused(
                "fewest_sites",
                f"a sum over {len(question.sites)} sites was asked for",
                f"takes part only in sums over at least {self.fewest_sites}",
                "ask more sites",
            )
        if question.fewest < self.fewest_sites:
            raise _refused(
                "fewest_sites",
                f"a sum over as few as {question.fewest} sites was asked for",
                f"takes part only in sums over at least {self.fewest_sites}",
                f"ask with --fewest {self.fewest_sites}",
            )
        strangers = [site for site in question.sites if self.peers is not None and site not in self.peers]
        if strangers:
            raise _refused(
                "peers",
                f"a sum with site {strangers[0]!r} was asked for",
                "adds up only with sites whose fingerprints its policy lists",
                "leave that site out, or ask the administrator to add its fingerprint",
            )

    def _check_private(self, question: Question) -> None:
        if question.exact_epsilon > self.epsilon_per_study:
            raise _refused(
                "epsilon_per_study",
                f"epsilon {shown(question.exact_epsilon)} was asked for",
                f"grants a study at most {shown(self.epsilon_per_study)}",
                f"ask with --epsilon {self.epsilon_per_study} or less",
            )
        if (question.colluders or 0) < self.least_colluders:
            raise _refused(
                "least_colluders",
                f"a guarantee against {question.colluders} colluding sites was offered",
                f"asks for one against at least {self.least_colluders}",
                f"ask with --colluders {self.least_colluders}",
            )
        if question.rows_per_person < self.rows_per_person:
            raise _refused(
                "rows_per_person",
                f"a guarantee for at most {question.rows_per_person} row of a person was offered"
                if question.rows_per_person == 1
                else f"a guarantee for at most {question.rows_per_person} rows of a person was offered",
                f"has up to {self.rows_per_person} rows of a person",
                f"ask with --unit person --rows-per-person {self.rows_per_person}",
            )

    def _check_exact(self, question: Question) -> None:
        least = self.least_cell(question.mode)
        if (question.minimum_cell or 1) < least:
            rule = "secure_sum_minimum_cell" if question.mode == SECURE_SUM else "minimum_cell"
            raise _refused(
                rule,
                f"cells of at least {question.minimum_cell or 1} rows were asked for",
                f"sends cells of at least {least} rows in mode {question.mode}",
                f"ask with --minimum-cell {least}",
            )
        most = self.least_class(question.mode)
        if (question.minimum_cell or 1) > most:
            raise _refused(
                "smallest_class",
                f"cells of at least {question.minimum_cell} rows were asked for",
                f"makes cells of at most {most} rows: whether a class has more is not to be asked",
                f"ask with --minimum-cell {most} or less",
            )
        cells = len(question.public_grid)
        if cells > self.most_cells:
            raise _refused(
                "most_cells",
                f"a grid of {cells:,} cells was asked for",
                f"counts in at most {self.most_cells:,} cells",
                f"ask with a coarser one, for example --grid uniform:{self.most_cells}",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with exact fractions as text."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _plain(value) for name, value in plain.items()}


def default_policy(*, studies: Sequence[str] = ()) -> str:
    """Return the text of a new site's policy, for its administrator to read and change."""
    return _TEMPLATE.replace("@studies@", toml_value(tuple(checked_names(list(studies), "study"))))


def with_studies(text: str, studies: Sequence[str]) -> str:
    """Return a policy's text with more studies, leaving everything else as it was written."""
    named = Policy.from_toml(text).studies
    if named is None:
        return text
    wanted = tuple(dict.fromkeys((*named, *checked_names(list(studies), "study"))))
    changed, found = re.subn(r"^studies = .*$", lambda _: f"studies = {toml_value(wanted)}", text, flags=re.MULTILINE)
    try:
        done = found == 1 and Policy.from_toml(changed).studies == wanted
    except ParameterError:
        done = False
    if not done:
        raise ParameterError("the policy's list of studies is not on one line; add the study there by hand")
    return changed


def _refused(rule: str, asked: str, allows: str, change: str) -> RefusedError:
    return RefusedError(f"{asked}, but this site {allows} ({rule} in its policy): {change}")


def _modes(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(mode, str) for mode in value):
        raise ParameterError(f'{name} must be a list of modes, for example ["secure-sum", "private"]; got {value!r}')
    for mode in value:
        if mode not in MODES:
            raise ParameterError(f"{name}: no mode {mode!r}. {did_you_mean(mode, MODES)}Modes are {', '.join(MODES)}")
    return tuple(dict.fromkeys(value))


def _whole(least: int, most: int) -> Callable[[object, str], int]:
    def read(value: object, name: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ParameterError(f"{name} must be a whole number from {least:,} to {most:,}; got {value!r}")
        return value

    return read


def _epsilon(value: object, name: str) -> Fraction:
    try:
        return checked_epsilon(value)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _names(value: object, name: str) -> tuple[str, ...] | None:
    if value == ANY:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ParameterError(f'{name} must be "{ANY}" or a list of names; got {value!r}')
    try:
        return checked_names(value, {"studies": "study"}.get(name.rpartition(": ")[2], "coordinator"))
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _peers(value: object, name: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not value:
        raise ParameterError(f'{name} must be a table of fingerprints, for example "site-a" = "0f3c..."; or left out')
    found = {site: str(fingerprint).replace(":", "").strip().lower() for site, fingerprint in value.items()}
    for site, fingerprint in found.items():
        if not re.fullmatch("[0-9a-f]{64}", fingerprint):
            raise ParameterError(
                f"{name}: the fingerprint of {site!r} must be 64 hexadecimal digits, with or without colons; "
                "`confide site status` shows it at that site"
            )
    return MappingProxyType(found)


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "modes": _modes,
    "minimum_cell": _whole(1, 10_000),
    "secure_sum_minimum_cell": _whole(1, 10_000),
    "smallest_class": _whole(1, 10**9),
    "most_cells": _whole(1, MOST_EXACT_CELLS),
    "epsilon_per_study": _epsilon,
    "epsilon_in_all": _epsilon,
    "least_colluders": _whole(0, 1_000),
    "fewest_sites": _whole(FEWEST_MASKED, 1_000),
    "rows_per_person": _whole(1, 10_000),
    "studies": _names,
    "coordinators": _names,
    "peers": _peers,
}


def _plain(value: object) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
