"""Stored results of a study that recurs: one file for each period, and performance over time per site.

A folder holds the editions of one question. Beside the result of each period lies the outcome that it was derived from,
which holds what the sites released, so that a report of it can be made later. Questions are written down before they
are asked: sites may have paid for one that got no result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confide.errors import FederationError
from confide.federation.coordinator.calibration_line import NoLine
from confide.federation.coordinator.validation import SCHEMA
from confide.federation.outcome import Outcome
from confide.federation.periods import Period
from confide.federation.question import Question
from confide.files import replace_file
from confide.intervals.interval import Estimate, Interval

POOLED = "all sites"
MEASURES: Mapping[str, str] = {
    "auc": "AUC",
    "observed_expected": "Observed : expected",
    "calibration_slope": "Calibration slope",
}

_OUTCOMES, _ATTEMPTS = "outcomes", "attempts"
_OWNER_FOLDER = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Result of one period, as it was stored: plain data of a validation.

    `unanswered` are the other questions that were asked after the edition before this one. They got no result.
    """

    name: str
    document: Mapping[str, Any]
    unanswered: tuple[Question, ...] = ()

    def estimate(self, measure: str, site: str) -> Estimate | None:
        """Return a measure of a site, or of all sites together; None if it is not known."""
        if site == POOLED:
            return _estimate(self.document["pooled"].get(measure))
        result = self._result(site)
        return None if result is None else _estimate(result.get(measure))

    @property
    def question(self) -> Question:
        """Question as it was asked, of all sites, whichever of them took part."""
        asked = [str(site["name"]) for site in self.document["sites"]]
        return Question.stored({**self.document["question"], "sites": asked})

    @property
    def period(self) -> Period | None:
        """Period that the edition's number stands for; None if a person numbered it."""
        return Period.of_edition(self.question.edition or 1)

    @property
    def level(self) -> float:
        """Confidence level of the stored intervals."""
        return float(self.document["level"])

    def no_line(self, site: str) -> NoLine | None:
        """Return why calibration intercept or slope is missing for a site, or for all together, where it is known."""
        plain = self.document["pooled"] if site == POOLED else self._result(site)
        known = plain.get("no_line") if plain is not None else None
        return NoLine(known) if known in list(NoLine) else None

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites whose own results are known."""
        return tuple(one["name"] for one in self.document["sites"] if one.get("result") is not None)

    def _result(self, site: str) -> Mapping[str, Any] | None:
        return next((one.get("result") for one in self.document["sites"] if one["name"] == site), None)


class NoOutcomeError(FederationError):
    """The outcome behind a stored result is missing or cannot be read."""


@dataclass(frozen=True, slots=True)
class Series:
    """Folder of a study that recurs."""

    folder: Path

    def file(self, period: Period) -> Path:
        """Return the file of a period's result."""
        return self.folder / f"{period.name}.json"

    @property
    def page(self) -> Path:
        """Page that shows performance over time."""
        return self.folder / "index.html"

    def outcome_file(self, period: Period) -> Path:
        """Return the file of what the sites released in a period."""
        return self.folder / _OUTCOMES / f"{period.name}.json"

    def note_attempt(self, period: Period, question: Question) -> None:
        """Write down a question before it is asked."""
        self.folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        (self.folder / _ATTEMPTS).mkdir(mode=_OWNER_FOLDER, exist_ok=True)
        asked = {_terms(one): one for one in (*self._attempts(period.name), question)}
        text = "".join(json.dumps(one.to_dict()) + "\n" for one in asked.values())
        replace_file(self._attempt_file(period.name), text, owner_only=True)

    def _attempt_file(self, name: str) -> Path:
        return self.folder / _ATTEMPTS / f"{name}.jsonl"

    def _attempts(self, name: str) -> tuple[Question, ...]:
        path = self._attempt_file(name)
        try:
            return tuple(Question.stored(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, FederationError):
            raise FederationError(f"{path} is no list of questions; put it back from a backup") from None

    def store(self, period: Period, document: Mapping[str, Any], outcome: Outcome) -> None:
        """Write the result of a period and the outcome behind it. Only the owner can read a folder that this makes.

        The result is written last, whole or not at all: a period that has one was asked.
        """
        self.folder.mkdir(mode=_OWNER_FOLDER, parents=True, exist_ok=True)
        (self.folder / _OUTCOMES).mkdir(mode=_OWNER_FOLDER, exist_ok=True)
        replace_file(self.outcome_file(period), json.dumps(outcome.to_dict()) + "\n", owner_only=True)
        replace_file(self.file(period), json.dumps(document, indent=1) + "\n")

    def outcome(self, period: Period) -> Outcome:
        """Return what the sites released in a period; NoOutcomeError if that is not stored, or cannot be read."""
        path = self.outcome_file(period)
        try:
            return Outcome.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise NoOutcomeError(
                f"{self.folder} has the numbers of {period.name} and not the noisy counts behind them, which versions "
                "of confide before this one did not store"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, FederationError):
            raise NoOutcomeError(
                f"{path} cannot be read: it is damaged, or another version of confide wrote it"
            ) from None

    def editions(self) -> tuple[Edition, ...]:
        """Return all stored results, the oldest first."""
        asked = {path.stem: self._attempts(path.stem) for path in sorted((self.folder / _ATTEMPTS).glob("*.jsonl"))}
        found = []
        for path in sorted(self.folder.glob("*.json")):
            edition = _edition(path)
            questions = [one for name in [*asked] if name <= edition.name for one in asked.pop(name)]
            others = (one for one in questions if _terms(one) != _terms(edition.question))
            found.append(replace(edition, unanswered=tuple(others)))
        return tuple(found)


def series_names(editions: Sequence[Edition]) -> tuple[str, ...]:
    """Return all sites together, and each site whose own results are known in any edition."""
    return (POOLED, *dict.fromkeys(site for edition in editions for site in edition.sites))


def _terms(question: Question) -> str:
    """Write the terms that decide what is answered: the purpose is none, and the threshold follows from others."""
    return json.dumps({**question.to_dict(), "purpose": None, "threshold": None}, sort_keys=True)


def _edition(path: Path) -> Edition:
    try:
        edition = Edition(name=path.stem, document=json.loads(path.read_text(encoding="utf-8")))
        if edition.document["schema"] != SCHEMA:
            raise ValueError("another schema")
        _ = edition.question, edition.level
    except (OSError, ValueError, KeyError, TypeError, FederationError):
        raise FederationError(f"{path} is no result of a validation; move it elsewhere") from None
    return edition


def _estimate(plain: Any) -> Estimate | None:
    if not isinstance(plain, Mapping) or plain.get("value") is None:
        return None
    interval = plain.get("interval")
    if not isinstance(interval, Mapping) or None in (interval.get("lower"), interval.get("upper")):
        return Estimate(value=float(plain["value"]))
    return Estimate(value=float(plain["value"]), interval=Interval(**interval))
