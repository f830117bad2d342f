"""How often all sites are asked for a whole validation: ours, and the reference's order of requests on the same rows.

The reference is the R package dsBinVal as its demonstration uses it. Only its order of requests is followed, on arrays,
without its noise and without its errors, so that both sides find the same. Where its versions differ the fewer
requests are taken: the numbers of rows and of positives are asked for at once. Both counts are of requests that went
out. Its sensitivity needs features; a gap between scores stands for it, as nothing here depends on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from benchmarks.federated_fit import Rows, drawn_sites, fisher_scoring
from benchmarks.federated_sites import MODEL, identity, open_site
from benchmarks.federated_work import MODES
from benchmarks.shared import shared_file
from benchmarks.timing import table
from confide.counts import FloatArray
from confide.curves.roc_glm import equidistant_thresholds
from confide.federation.coordinator.rounds import validate
from confide.federation.coordinator.validation import derive
from confide.federation.modes.noisy_scores import share_above
from confide.federation.protocol import InProcess, Message, Patience, Silence
from confide.federation.question import Question
from confide.federation.site.config import SiteModel

_STEP_BYTES = 6 * 20
"""Bytes of a reply in Fisher scoring: a gradient of two numbers and four of second derivatives."""

GBSG2 = "gbsg2_federated_scores.csv.gz"

Result = TypeVar("Result")


@dataclass(slots=True)
class Asking:
    """Requests to all sites at once, counted, with the bytes of the replies as text."""

    sites: Sequence[Rows]
    times: int = 0
    bytes: int = 0

    def __call__(self, part: Callable[[Rows], Result]) -> list[Result]:
        self.times += 1
        replies = [part(site) for site in self.sites]
        self.bytes += sum(len(json.dumps(np.asarray(reply).tolist())) for reply in replies)
        return replies


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A validation: AUC, Brier score, how often sites were asked, of that for Fisher scoring, and bytes of replies."""

    auc: float
    brier: float
    asked: int
    fisher: int = 0
    bytes: int = 0


def print_rounds(*, quick: bool) -> None:
    sites, data = gbsg2_sites(), "the demonstration's five servers (GBSG2)"
    if sites is None or quick:
        sites, data = drawn_sites(250), "five simulated sites"
    print(f"\nhow often all sites are asked for AUC, interval, Brier score and calibration curve; {data}")
    theirs = reference(sites)
    lines = [_line("dsBinVal's order of requests", theirs)]
    lines.extend(_line(f"confide, {mode}", validated(sites, mode)) for mode in MODES)
    table(("", "rounds", "of these Fisher steps", "AUC", "Brier score"), lines)


def _line(name: str, found: Found) -> tuple[str, ...]:
    return name, str(found.asked), str(found.fisher or ""), f"{found.auc:.4f}", f"{found.brier:.5f}"


def gbsg2_sites() -> tuple[Rows, ...] | None:
    """The five servers of the paper's demonstration, where the shared data are."""
    import polars as pl

    file = shared_file(GBSG2)
    if file is None:
        return None
    parts = pl.read_csv(file).partition_by("server")
    return tuple(
        Rows(
            positives=part.filter(pl.col("label") == 1)["score"].to_numpy(),
            negatives=part.filter(pl.col("label") == 0)["score"].to_numpy(),
        )
        for part in parts
    )


def reference(sites: Sequence[Rows]) -> Found:
    """Sensitivity, scores of the negatives, Fisher scoring, what the interval needs, then Brier score and curve."""
    ask = Asking(sites)
    ask(lambda site: site.scores.size)
    ask(lambda site: max(_gap(site.positives), _gap(site.negatives)))
    negatives = np.sort(np.concatenate(ask(lambda site: site.negatives)))
    placed = [share_above(negatives, site.positives) for site in sites]
    fit = fisher_scoring(placed, equidistant_thresholds())
    rows = np.array(ask(lambda site: (site.negatives.size, site.positives.size)))
    sums = np.array([ask(lambda site: site.negatives.sum()), ask(lambda site: site.positives.sum())])
    means = sums.sum(axis=1) / rows.sum(axis=0)
    ask(lambda site: ((site.negatives - means[0]) ** 2).sum())
    ask(lambda site: ((site.positives - means[1]) ** 2).sum())
    ask(lambda site: site.negatives)
    ask(lambda site: site.positives)
    brier = np.sum(ask(lambda site: ((site.labels - site.scores) ** 2).sum())) / rows.sum()
    ask(lambda site: [np.histogram(each, 10, (0.0, 1.0))[0] for each in (site.positives, site.negatives)])
    asked = ask.times + fit.aggregations
    sent = ask.bytes + fit.aggregations * len(sites) * _STEP_BYTES
    return Found(auc=fit.curve.auc, brier=float(brier), asked=asked, fisher=fit.aggregations, bytes=sent)


def _gap(scores: FloatArray) -> float:
    return float(np.diff(np.sort(scores)).max())


@dataclass(slots=True)
class Counted:
    """A channel that counts how often it is used."""

    channel: InProcess
    times: int = 0

    def ask(
        self, topic: str, requests: Mapping[str, Message], *, patience: Patience, heard: Callable[[str], None]
    ) -> Mapping[str, Message | Silence]:
        self.times += 1
        return self.channel.ask(topic, requests, patience=patience, heard=heard)


def validated(sites: Sequence[Rows], mode: str) -> Found:
    """Real sites, each with its file and folder, in this process."""
    import polars as pl

    names = tuple(f"site-{number}" for number in range(len(sites)))
    terms: dict[str, Any] = {"epsilon": 1, "site_share": 0} if mode == "private" else {}
    question = Question.checked(study="benchmark", model=MODEL, mode=mode, sites=names, **terms)
    with TemporaryDirectory(prefix="confide-") as folder:
        opened = {}
        for name, rows in zip(names, sites, strict=True):
            file = Path(folder) / f"{name}.parquet"
            pl.DataFrame({"died": rows.labels, "risk": rows.scores}).write_parquet(file)
            model = SiteModel(data=str(file), label="died", score="risk")
            opened[name] = open_site(Path(folder) / name, identity(name), model).reply
        channel = Counted(InProcess(opened))
        pooled = derive(validate(question, channel, root=identity(names[0]).root)).pooled
    assert pooled.brier is not None
    return Found(auc=pooled.auc.value, brier=pooled.brier.value, asked=channel.times)
