"""A file of labels with a ledger, and contests made from it, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from confide import Ledger
from confide.contest.bundles import Finalist, ServerBundle, choose
from confide.counts import FloatArray
from confide.privacy.queries import Noise
from confide.tasks.contest import NewContest, make_contest

POSITIVE, NEGATIVE = "deceased-xyz", "discharged-abc"
ROWS = 120
LABELS = np.random.default_rng(5).random(ROWS) < 0.4
IDS = tuple(f"p{row:03d}" for row in np.random.default_rng(6).permutation(ROWS))


def write_labels(path: Path, labels: Any = LABELS, ids: Any = IDS) -> Path:
    """Write ids and labels in words that occur nowhere else; both words have different lengths."""
    words = [POSITIVE if label else NEGATIVE for label in labels]
    lines = [f"{one},{word},{row}" for row, (one, word) in enumerate(zip(ids, words, strict=True))]
    path.write_text("\n".join(["id,died,age", *lines]) + "\n", encoding="utf-8")
    return path


@dataclass
class Holder:
    """A data holder: a folder with labels, a ledger and an account for them."""

    folder: Path
    labels: Any = field(default_factory=lambda: LABELS)
    noise: Noise | None = None
    file: Path = field(init=False)
    book: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.file = write_labels(self.folder / "labels.csv", self.labels)
        self.book = self.folder / "ledger.sqlite"
        self.open_account()

    def ledger(self) -> Ledger:
        return Ledger(self.book, padding=0, noise=self.noise)

    def open_account(self, name: str = "trial", **terms: Any) -> None:
        given: dict[str, Any] = {"epsilon": 3, "delta": "1e-5", "neighbours": "label-only", **terms}
        if given["neighbours"] == "label-only":
            given |= {"label": "died", "positive": POSITIVE, "data": [self.file.read_bytes()]}
        with self.ledger() as ledger:
            ledger.open_account(name, **given)

    def spent(self, name: str = "trial") -> tuple[float, float]:
        with self.ledger() as ledger:
            spent = ledger.account(name).spent
        return float(spent.epsilon), float(spent.delta)

    def make(self, name: str = "heart", **options: Any) -> NewContest:
        with self.ledger() as ledger:
            return make_contest(name, self.file, **{**self.options(), "ledger": ledger, **options})

    def options(self) -> dict[str, Any]:
        return {
            "label": "died",
            "positive": POSITIVE,
            "epsilon": 2,
            "final_epsilon": 1,
            "account": "trial",
            "out": self.folder,
        }

    def bundle(self, name: str = "heart") -> ServerBundle:
        return ServerBundle.from_bytes((self.folder / name / "server.zip").read_bytes())

    def finalists(self, name: str = "heart", entries: int = 3) -> Path:
        """Write scores of some participants, each better than the one before."""
        bundle = self.bundle(name)
        truth = dict(zip(IDS, self.labels, strict=True))
        labels = np.array([truth[one] for one in bundle.template.ids])
        chosen = [
            Finalist(participant=f"team {number}", submission=f"s{number}", scores=scores_for(labels, number))
            for number in range(entries)
        ]
        path = self.folder / "finalists.zip"
        path.write_bytes(choose(chosen, contest=name, template=bundle.template.digest).to_bytes())
        return path


def scores_for(labels: Any, quality: float) -> FloatArray:
    """Return scores between 0 and 1 that are better the higher the quality."""
    noise = np.random.default_rng(int(10 * quality)).normal(size=labels.size)
    scores: FloatArray = 1.0 / (1.0 + np.exp(-(quality * (labels - 0.5) + noise)))
    return scores
