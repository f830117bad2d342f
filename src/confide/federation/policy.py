"""A site's policy: what it answers, and the text of a new one.

The policy is checked before the site's data are read. `policy_rules` has the rules about what leaves the site.


The text is a template, and not written from values: its comments explain each rule to the administrator, and a change
must keep every other line as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError, did_you_mean
from confide.federation.modes.mode import MOST_EXACT_CELLS
from confide.federation.modes.registry import MODES, mode_of
from confide.federation.policy_rules import refusal
from confide.federation.private_noise import NOISES, checked_small_delta
from confide.federation.question import Question
from confide.federation.question_terms import FEWEST_MASKED, checked_names, checked_period
from confide.federation.site_files import check_keys, parsed, plain_fingerprint, read_text, toml_value
from confide.ledger.account_terms import Composition
from confide.ledger.question import folded_name
from confide.privacy.guarantee import checked_epsilon
from confide.releases.shared_counts import GAUSSIAN, LAPLACE

AUTOMATIC, MANUAL = "automatic", "manual"
"""Values of `approval`: rules decide alone, or a person says yes to each question that they allow."""

ANY = "any"
"""Value of `studies` and `coordinators` that allows every one of them."""

ALLOWED_BY_DEFAULT = tuple(mode.name for mode in MODES.values() if mode.allowed_by_default)
"""Modes that a policy allows unless it says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Most epsilon that private questions may cost in each period: a month, a quarter or a year."""

    period: str
    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules of a site; the text of a new policy explains each of them to the administrator.

    `studies` lists the studies that the site takes part in. None allows every study; it is refused together with a
    private mode, where a limit for each study would limit nothing: whoever asks could invent studies. `coordinators`
    and `peers` are None where the policy does not mention them; everybody is then allowed.

    `least_colluders` is 1 by default: a guarantee that one other site could weaken is not worth much, and a stronger
    one costs little. Questions meet it by default.

    `composition` and `delta_in_all` say how the site's ledger adds prices up: epsilons, or rho as well (zCDP). Gaussian
    noise, if `noise` allows it, has a rho and needs the latter.
    """

    modes: tuple[str, ...] = ALLOWED_BY_DEFAULT
    minimum_cell: int = 5
    secure_sum_minimum_cell: int = 1
    smallest_class: int = 5
    most_cells: int = MOST_EXACT_CELLS
    epsilon_per_study: Fraction = Fraction(1)
    epsilon_in_all: Fraction = Fraction(3)
    noise: tuple[str, ...] = (LAPLACE,)
    composition: str = Composition.ADDITION.value
    delta_in_all: Fraction = Fraction(0)
    least_colluders: int = 1
    fewest_sites: int = FEWEST_MASKED
    rows_per_person: int = 1
    studies: tuple[str, ...] | None = ()
    coordinators: tuple[str, ...] | None = None
    peers: Mapping[str, str] | None = None
    approval: str = AUTOMATIC
    allowance: Allowance | None = None
    require_confinement: bool = False

    def __post_init__(self) -> None:
        private = [name for name in self.modes if MODES[name].private]
        if self.studies is None and private:
            raise ParameterError(
                f'studies can be "{ANY}" only where modes leave out "{private[0]}": epsilon_per_study limits nothing '
                'while whoever asks names the studies. Name those that this site takes part in, such as ["stroke-2026"]'
            )
        if self.concentrated and not self.delta_in_all:
            raise ParameterError('composition = "zcdp" needs delta_in_all, far below 1 / rows, such as "1e-6"')
        if GAUSSIAN in self.noise and not self.concentrated:
            raise ParameterError(
                'noise "gaussian" needs composition = "zcdp" and a delta_in_all, such as "1e-6": a ledger that adds '
                "epsilons up has no use for it"
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
        """Refuse a question, or a coordinator, that the site does not allow."""
        self._check_who(question, coordinator)
        mode_of(question).check_policy(self, question)

    @property
    def concentrated(self) -> bool:
        """True if the site's ledger adds up rho."""
        return self.composition == Composition.ZCDP

    @property
    def allows_exact(self) -> bool:
        """True if the policy allows any mode without noise."""
        return any(not MODES[name].private for name in self.modes)

    def _check_who(self, question: Question, coordinator: str | None) -> None:
        if self.coordinators is not None and coordinator not in self.coordinators:
            raise refusal(
                "coordinators",
                f"{coordinator!r} asked" if coordinator else "nobody known asked",
                "takes requests only from coordinators that its policy names",
                "ask its administrator to add you",
            )
        if self.studies is not None and question.study not in self.studies:
            raise refusal(
                "studies",
                f"study {question.study!r} was asked for",
                "takes part only in studies that its policy names",
                "check the name in `study`, or ask its administrator to add it to studies in policy.toml",
            )
        if question.mode not in self.modes:
            allowed = " or ".join(self.modes)
            raise refusal(
                "modes",
                f"mode {question.mode} was asked for",
                f"allows {allowed or 'no mode at present'}",
                f"ask with `mode={self.modes[0]}`" if self.modes else "ask its administrator",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with exact fractions as text."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _plain(value) for name, value in plain.items()}


def checked_modes(value: object, name: str) -> tuple[str, ...]:
    """Return the modes that a list names, each once; refuse anything else."""
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


def _truth(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be true or false, without quotes; got {value!r}")
    return value


def _epsilon(value: object, name: str) -> Fraction:
    try:
        return checked_epsilon(value)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _noise(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not set(map(str, value)) <= set(NOISES):
        raise ParameterError(f'{name} must be a list of "{LAPLACE}" and "{GAUSSIAN}", or of one of them; got {value!r}')
    return tuple(one for one in NOISES if one in value)


def _composition(value: object, name: str) -> str:
    try:
        return Composition.parse(value).value
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _delta(value: object, name: str) -> Fraction:
    try:
        return checked_small_delta(value)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _names(value: object, name: str) -> tuple[str, ...] | None:
    if value == ANY:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ParameterError(f'{name} must be "{ANY}" or a list of names; got {value!r}')
    try:
        names = checked_names(value, {"studies": "study"}.get(name.rpartition(": ")[2], "coordinator"))
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None
    if len(set(map(folded_name, names))) < len(set(names)):
        raise ParameterError(f"{name} has two names that differ in case or spaces alone; keep one of them")
    return names


def _approval(value: object, name: str) -> str:
    if value not in (AUTOMATIC, MANUAL):
        raise ParameterError(f'{name} must be "{AUTOMATIC}" or "{MANUAL}"; got {value!r}')
    return str(value)


def _allowance(value: object, name: str) -> Allowance:
    if not isinstance(value, Mapping) or set(value) != {"period", "epsilon"}:
        raise ParameterError(f'{name} must be a table of a period and an epsilon, such as period = "year", epsilon = 2')
    try:
        return Allowance(period=checked_period(value["period"]), epsilon=checked_epsilon(value["epsilon"]))
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None


def _peers(value: object, name: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping) or not value:
        raise ParameterError(f'{name} must be a table of fingerprints, for example "site-a" = "0f3c..."; or left out')
    found = {site: plain_fingerprint(str(fingerprint)) for site, fingerprint in value.items()}
    for site, fingerprint in found.items():
        if not re.fullmatch("[0-9a-f]{64}", fingerprint):
            raise ParameterError(
                f"{name}: the fingerprint of {site!r} must be 64 hexadecimal digits, with or without colons or "
                "spaces; `confide site status` shows it at that site"
            )
    return MappingProxyType(found)


_READERS: Mapping[str, Callable[[object, str], Any]] = {
    "modes": checked_modes,
    "minimum_cell": _whole(1, 10_000),
    "secure_sum_minimum_cell": _whole(1, 10_000),
    "smallest_class": _whole(1, 10**9),
    "most_cells": _whole(1, MOST_EXACT_CELLS),
    "epsilon_per_study": _epsilon,
    "epsilon_in_all": _epsilon,
    "noise": _noise,
    "composition": _composition,
    "delta_in_all": _delta,
    "least_colluders": _whole(0, 1_000),
    "fewest_sites": _whole(FEWEST_MASKED, 1_000),
    "rows_per_person": _whole(1, 10_000),
    "studies": _names,
    "coordinators": _names,
    "peers": _peers,
    "require_confinement": _truth,
    "approval": _approval,
    "allowance": _allowance,
}


def _plain(value: object) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Allowance):
        return {"period": value.period, "epsilon": str(value.epsilon)}
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


_TEMPLATE = f"""\
# Rules of this site. A request that breaks one is refused, and the reply names the rule.
# A rule that is left out has the value shown here. Changes hold from the next request on.

# Modes in which this site answers, by what each promises to the people in its data. Exact answers are given only if
# their mode is named here:
@modes@
modes = @allowed@

# disclosure-control: least number of people in a group of rows of one class that leaves the site.
minimum_cell = 5

# secure-sum: least number of people in such a group before masking. With 1, counts are masked as they are.
secure_sum_minimum_cell = 1

# Modes without noise: least number of rows of each class that this site must have to take part. Groups of more rows
# than that are refused: a coordinator must not learn how large a class is.
smallest_class = 5

# Modes without noise: largest number of cells that scores are counted in.
most_cells = {MOST_EXACT_CELLS}

# private: most epsilon that one study, and all studies together, may spend. Write 0.5 or "1/2". Spent epsilon does not
# come back. The ledger beside this file lists it: confide ledger show --ledger site.db
epsilon_per_study = 1
epsilon_in_all = 3

# private: noise that answers may have. "laplace" has a pure guarantee. "gaussian" also has a small delta, and costs
# less where many questions are asked: it needs composition = "zcdp".
noise = ["laplace"]

# private: how prices of questions add up. "addition": epsilons add up. "zcdp": the rho of questions adds up, and is
# converted to epsilon at a delta of at most delta_in_all, which then must be far below 1 / rows, such as "1e-6". Decide
# before the first private answer: composition cannot change after it was charged.
composition = "addition"
delta_in_all = 0

# private: number of other sites that may share everything they know with the coordinator without weakening the
# guarantee. With 0 it would depend on every single one of them.
least_colluders = 1

# secure-sum and private: least number of sites in a sum. Questions that allow fewer are refused, too. The value is at
# least 3: with two sites, each could subtract its own part.
fewest_sites = {FEWEST_MASKED}

# Most rows that one person has. Above 1, private questions must protect persons with as many rows (unit = person,
# rows_per_person), and groups need as many times more rows.
rows_per_person = 1

# Studies that this site takes part in, by their exact names, such as ["stroke-2026", "sepsis"]. Others are refused, as
# each study may spend epsilon_per_study. Without the mode private the value may also be "any".
studies = @studies@

# "automatic": questions that these rules allow are answered. "manual": a person must also say yes to each question,
# before anything is read, charged or sent: confide site pending, approve and refuse.
approval = "automatic"

# true: the site neither starts nor answers where the kernel cannot hold its engine to the site's folder and its data
# (Landlock, Linux 5.13 and later). false: it runs unconfined there, and `confide site status` says so.
require_confinement = false

# Coordinators whose requests are answered: "any", or a list such as ["coordinator@stroke.confide"].
coordinators = "any"

# private: most epsilon that all studies together may cost in each calendar month, quarter or year. epsilon_in_all and
# epsilon_per_study limit the whole: raise them for studies that recur for years, as spent epsilon does not come back.
# [allowance]
# period = "year"
# epsilon = 2

# secure-sum and private: SHA-256 fingerprints of the sites' own keys (`confide site status` shows each there). Compare
# them by telephone or on paper. Then nobody can pose as one of these sites, not even the coordinator, who signs
# certificates. With none listed, you trust the coordinator in this. If you list any, list all sites that take
# part, this one too.
# [peers]
# "hospital-a" = "0f3c..."
"""


def default_policy(*, studies: Sequence[str] = (), modes: Sequence[str] = ALLOWED_BY_DEFAULT) -> str:
    """Return the text of a new site's policy, for its administrator to read and change."""
    width = max(len(name) for name in MODES) + 2
    values = {
        "@modes@": "\n".join(f"#   {toml_value(mode.name):<{width}}  {mode.summary}" for mode in MODES.values()),
        "@allowed@": toml_value(tuple(modes)),
        "@studies@": toml_value(checked_names(list(studies), "study")),
    }
    text = _TEMPLATE
    for place, value in values.items():
        text = text.replace(place, value)
    return text


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
