"""Sites with real folders, files, policies and ledgers in this process, joined by a channel of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.counts import ScoreCounts
from confide.federation.coordinator.rounds import validate
from confide.federation.policy import default_policy
from confide.federation.protocol import Message, Outcome
from confide.federation.question import Question
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from confide.federation.site.site import Site
from tests.federation.certificates import DAY, Authority
from tests.federation.settled_channel import SettledChannel

MODEL = "risk"
MODES = ("disclosure-control", "secure-sum", "private")
"""Modes that the sites of tests allow; a new site allows only the last of them."""

Rows = tuple[NDArray[np.int64], NDArray[np.float64]]


def drawn_rows(seed: int, rows: int, share: float = 0.35) -> Rows:
    """Labels and scores of a site: scores of positives are higher, some are equal, some are exactly 0."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(rows) < share).astype(np.int64)
    labels[:2] = 0, 1
    scores = np.round(rng.beta(1.5 + labels, 3.0 - labels), 3)
    scores[5] = 0.0
    return labels, scores


def _policy(rules: str) -> str:
    if not rules:
        return default_policy(studies=("trial",), modes=MODES)
    return ("" if rules.startswith("modes") else f"modes = {list(MODES)}\n") + rules + 'studies = ["trial"]\n'


@dataclass(frozen=True)
class Network:
    """Some sites, their rows and their folders."""

    authority: Authority
    rows: Mapping[str, Rows]
    sites: Mapping[str, Site]

    @classmethod
    def build(cls, folder: Path, sizes: Mapping[str, int], policy: str = "") -> Network:
        """Set sites up; the rules of `policy` stand before the study that all of them take part in."""
        from datetime import UTC, datetime

        authority = Authority.fresh()
        rows = {name: drawn_rows(number, size) for number, (name, size) in enumerate(sizes.items())}
        sites = {}
        now = datetime.now(UTC)
        for name, (labels, scores) in rows.items():
            place = SiteFolder(folder / name)
            place.path.mkdir(parents=True)
            lines = "\n".join(
                f"{label},{score!r}" for label, score in zip(labels.tolist(), scores.tolist(), strict=True)
            )
            (place.path / "rows.csv").write_text(f"outcome,risk\n{lines}\n")
            model = SiteModel(data="rows.csv", label="outcome", score="risk")
            SiteConfig(name=name, models={MODEL: model}).write(place.path)
            place.policy.write_text(_policy(policy))
            SiteRecords(place).begin()
            identity = authority.site(name, since=now - DAY, until=now + DAY)
            sites[name] = Site.open(place.path, identity, coordinator="coordinator@confide.local")
        return cls(authority, rows, sites)

    def reopened(self) -> Network:
        """Return the same sites after a restart."""
        sites = {
            name: Site.open(site.folder.path, site.identity, coordinator=site.coordinator)
            for name, site in self.sites.items()
        }
        return replace(self, sites=sites)

    def pooled(self, *names: str) -> ScoreCounts:
        """All rows of some sites, or of all, in one place: what must come out."""
        chosen = [self.rows[name] for name in names or self.rows]
        return ScoreCounts.from_arrays(
            np.concatenate([labels for labels, _ in chosen]), np.concatenate([scores for _, scores in chosen])
        )

    def channel(self, **replaced: Callable[[str, Message], Message]) -> SettledChannel:
        """All sites, some of them behaving otherwise."""
        return SettledChannel({**{name: site.reply for name, site in self.sites.items()}, **replaced})

    def question(self, mode: str, **terms: Any) -> Question:
        given: dict[str, Any] = {"study": "trial", "model": MODEL, "sites": tuple(self.sites), "mode": mode, **terms}
        return Question.checked(**given)

    def run(
        self,
        question: Question,
        *,
        replaced: Mapping[str, Callable[[str, Message], Message]] | None = None,
        timeout: float = 120.0,
    ) -> Outcome:
        """Run a question, and wait for sites whose replies the coordinator did not need."""
        channel = self.channel(**(replaced or {}))
        try:
            return validate(question, channel, root=self.authority.root, timeout=timeout)
        finally:
            channel.settle()

    def spent(self, name: str) -> float:
        """What a site's ledger says was spent."""
        from confide.ledger.ledger import Ledger

        with Ledger(self.sites[name].folder.database) as ledger:
            return float(sum(account.spent.epsilon for account in ledger.accounts()))
