"""A site's policy: which questions it answers, read from `policy.toml` in its folder.

The policy is checked before the site's data are read. `policy_rules` has the rules about what leaves the site, and
`policy_template` the text of a new policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confide.errors import ParameterError, did_you_mean
from confide.federation.modes.mode import FEWEST_MASKED, MOST_EXACT_CELLS
from confide.federation.modes.registry import MODES, mode_of
from confide.federation.policy_rules import refusal
from confide.federation.question import Question
from confide.federation.site_files import check_keys, parsed, read_text
from confide.federation.term_checks import checked_names
from confide.privacy.guarantee import checked_epsilon

ANY = "any"
"""Value of `studies` and `coordinators` that allows every one of them."""

ALLOWED_BY_DEFAULT = tuple(mode.name for mode in MODES.values() if mode.allowed_by_default)
"""Modes that a policy allows unless it says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules of a site; `policy_template` explains each of them to the administrator.

    `studies` lists the studies that the site takes part in. None allows every study; it is refused together with a
    private mode, where a limit for each study would limit nothing: whoever asks could invent studies. `coordinators`
    and `peers` are None where the policy does not mention them; everybody is then allowed.

    `least_colluders` is 1 by default: a guarantee that one other site could weaken is not worth much, and a stronger
    one costs little. Questions meet it by default.
    """

    modes: tuple[str, ...] = ALLOWED_BY_DEFAULT
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
        private = [name for name in self.modes if MODES[name].private]
        if self.studies is None and private:
            raise ParameterError(
                f'studies can be "{ANY}" only where modes leave out "{private[0]}": epsilon_per_study limits nothing '
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
        """Refuse a question, or a coordinator, that the site does not allow."""
        self._check_who(question, coordinator)
        mode_of(question).check_policy(self, question)

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
