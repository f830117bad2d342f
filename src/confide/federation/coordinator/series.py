"""Stored results of a study that recurs: one file for each period, and performance over time per site."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import FederationError
from confide.federation.coordinator.validation import SCHEMA
from confide.federation.periods import Period
from confide.files import replace_file
from confide.intervals.interval import Estimate, Interval

POOLED = "all sites"
MEASURES: Mapping[str, str] = {
    "auc": "AUC",
    "observed_expected": "Observed : expected",
    "calibration_slope": "Calibration slope",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """Result of one period, as it was stored: plain data of a validation."""

    name: str
    document: Mapping[str, Any]

    def estimate(self, measure: str, site: str) -> Estimate | None:
        """Return a measure of a site, or of all sites together; None if it is not known."""
        if site == POOLED:
            return _estimate(self.document["pooled"].get(measure))
        for one in self.document["sites"]:
            if one["name"] == site and one.get("result") is not None:
                return _estimate(one["result"].get(measure))
        return None

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites whose own results are known."""
        return tuple(one["name"] for one in self.document["sites"] if one.get("result") is not None)


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

    def store(self, period: Period, document: Mapping[str, Any]) -> None:
        """Write the result of a period, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.file(period), json.dumps(document, indent=1) + "\n")

    def editions(self) -> tuple[Edition, ...]:
        """Return all stored results, the oldest first."""
        return tuple(_edition(path) for path in sorted(self.folder.glob("*.json")))


def series_names(editions: Sequence[Edition]) -> tuple[str, ...]:
    """Return all sites together, and each site whose own results are known in any edition."""
    return (POOLED, *dict.fromkeys(site for edition in editions for site in edition.sites))


def _edition(path: Path) -> Edition:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError("another schema")
    except (OSError, ValueError, KeyError, TypeError):
        raise FederationError(f"{path} is no result of a validation; move it elsewhere") from None
    return Edition(name=path.stem, document=document)


def _estimate(plain: Any) -> Estimate | None:
    if not isinstance(plain, Mapping) or plain.get("value") is None:
        return None
    interval = plain.get("interval")
    if not isinstance(interval, Mapping) or None in (interval.get("lower"), interval.get("upper")):
        return Estimate(value=float(plain["value"]))
    return Estimate(value=float(plain["value"]), interval=Interval(**interval))
