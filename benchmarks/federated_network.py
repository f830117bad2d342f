"""Sums over 3 to 50 sites beside two published methods: rounds, bytes, processor time and error at equal epsilon.

- `confide`: mode private with the sum alone. Every message is written and read as in a run, by all sites in one
  process; files, ledgers and the network are left out. It is measured as a sum that needs all sites, one that survives
  dropouts, and one in which a site drops out after the shares.
- `fedcurve`: Xu and Cormode's noisy trees, each site with noise of its own (as published, its clients share one seed),
  at the best of their numbers of quantiles, which nobody could know. One round without masks; noise is drawn at once.
- `ROC-GLM`: the paper's method in DataSHIELD's order of requests, without its noise, which has no proven epsilon.

The error is the mean area between the curve and that of all rows in one place.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.fedcurve import QUANTILES, roc_points
from benchmarks.federated_engine import print_ten
from benchmarks.federated_fit import Rows
from benchmarks.federated_laws import drawn
from benchmarks.federated_peer import Asked
from benchmarks.federated_rounds import reference
from benchmarks.federated_sites import SESSION, identity
from benchmarks.timing import seconds, table
from confide.counts import FloatArray, ScoreCounts
from confide.curves.roc import Curve, area_between, roc_curve
from confide.curves.roc_glm import roc_glm
from confide.federation.crypto.agreement import Agreement, KeyPair, Offer
from confide.federation.crypto.recovery import Answered, Sharer, Unmasking, Vote, check_answered, check_votes
from confide.federation.crypto.secure_sum import MaskedVector, Masks, unmasked_sum
from confide.federation.crypto.shares import SealingKey, verified_keys
from confide.federation.private_noise import noise_of
from confide.federation.question import Question
from confide.privacy.mechanisms.noise_shares import shared_counts
from confide.privacy.mechanisms.private_counts import cells_on
from confide.privacy.queries import SYSTEM_NOISE
from confide.releases.curves import drawn_counts
from confide.releases.shapes import fitting_shape, shaped

NETWORKS = (3, 10, 50)
ROWS = (2_000, 20_000, 1_000_000)
LAW = "calibrated"
TARGET = 2.0
"""Seconds of processor time that all the arithmetic of fifty sites may take."""

REPETITIONS = 10


@dataclass(slots=True)
class Cost:
    """Rounds, bytes of all messages, and processor seconds of all sites and the coordinator."""

    rounds: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def round(self, requests: Mapping[str, Any], replies: Mapping[str, Any]) -> None:
        """Count one round; what is sent is written as text, as a run does."""
        self.rounds += 1
        self.bytes += sum(len(json.dumps(message)) for part in (requests, replies) for message in part.values())


@dataclass(slots=True)
class Party:
    """One site's secrets in a run."""

    name: str
    keys: KeyPair = field(default_factory=KeyPair.fresh)
    sealing: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)
    sharer: Sharer | None = None
    agreement: Agreement | None = None

    def offer(self, question: str) -> Offer:
        return Offer.signed(identity(self.name), self.keys, session=SESSION, question=question)


def run(*, quick: bool = False) -> None:
    print(f"load average when this began: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    missed = print_costs(quick=quick)
    print_errors(quick=quick)
    missed += print_ten(quick=quick)
    print(f"\nnetwork targets missed: {missed}")


def print_costs(*, quick: bool) -> int:
    """Print rounds, bytes and time of each method; return how many of ours took too long."""
    rows, networks = (2_000, NETWORKS[:2]) if quick else (20_000, NETWORKS)
    print(f"\nmessages and processor time of all sites and the coordinator together, {rows:,} rows in all, epsilon 1")
    lines, missed = [], 0
    for sites in networks:
        labels, scores = drawn(LAW, rows, np.random.default_rng(sites))
        for name, fewest, dropped in ways(sites):
            cost = private_sum(question_of(sites, rows, fewest), labels, scores, dropped=dropped)
            late = sites == max(NETWORKS) and cost.seconds > TARGET
            missed += late
            lines.append(
                (
                    f"{sites} sites, {name}",
                    *_costs(cost),
                    f"{TARGET:g} s" if sites == max(NETWORKS) else "",
                    "MISS" if late else "",
                )
            )
        lines.append((f"{sites} sites, fedcurve, 64 quantiles", *_costs(_trees(sites, labels, scores)), "", ""))
        lines.append((f"{sites} sites, ROC-GLM", *_costs(_roc_glm(sites, labels, scores)), "", ""))
    table(("", "rounds", "bytes", "processor time", "target", ""), lines)
    return missed


def ways(sites: int) -> list[tuple[str, int, int]]:
    """The ways in which a private sum is formed: its name, the fewest sites, and how many drop out."""
    plain = [("confide", sites, 0)]
    if sites < 4:
        return plain
    return [
        *plain,
        ("confide, survives dropouts", 3 * sites // 4 + 1, 0),
        ("confide, one drops out", 3 * sites // 4 + 1, 1),
    ]


def question_of(sites: int, rows: int, fewest: int | None = None, **given: Any) -> Question:
    names = tuple(f"site-{number:02}" for number in range(sites))
    terms: dict[str, Any] = {"epsilon": 1, "site_share": 0, "rows": rows, "fewest": fewest, **given}
    return Question.checked(study="benchmark", model="risk", mode="private", sites=names, **terms)


def private_sum(question: Question, labels: Any, scores: FloatArray, *, dropped: int = 0) -> Cost:
    """All messages of a private sum, from the counted rows of each site to the sum; the last sites drop out."""
    places, grid = len(question.sites), question.public_grid
    cells = {
        name: cells_on(ScoreCounts.from_arrays(labels[i::places], scores[i::places], one_class=True), grid)
        for i, name in enumerate(question.sites)
    }
    for name in question.sites:
        identity(name)  # certificates are made once, before anything is measured
    began = time.process_time()
    cost = _recovered(question, cells, dropped) if question.threshold else _plain(question, cells)
    cost.seconds = time.process_time() - began
    return cost


def _agreed(question: Question, offers: Sequence[Mapping[str, str]]) -> Agreement:
    """What every site and the coordinator check of a list."""
    return Agreement.verified(
        [Offer.from_dict(offer) for offer in offers],
        session=SESSION,
        question=question.digest(),
        asked=question.sites,
        root=identity(question.sites[0]).root,
        at=datetime.now(UTC),
    )


def _drawn(question: Question, cells: Any) -> Any:
    query = shared_counts(cells, question.pooled_epsilon, honest=question.honest, strategy=noise_of(question).strategy)
    return np.array(query.draw(SYSTEM_NOISE), dtype=np.int64)


def _first(question: Question, cost: Cost) -> tuple[dict[str, Party], list[dict[str, str]]]:
    parties = {name: Party(name) for name in question.sites}
    offers = {name: party.offer(question.digest()).to_dict() for name, party in parties.items()}
    cost.round(dict.fromkeys(question.sites, question.to_dict()), offers)
    return parties, list(offers.values())


def _plain(question: Question, cells: Mapping[str, Any]) -> Cost:
    cost = Cost()
    parties, offers = _first(question, cost)
    agreement, answers = _agreed(question, offers), {}
    for name, party in parties.items():
        masks = Masks(_agreed(question, offers), party.keys, identity(name))
        answers[name] = masks.mask(_drawn(question, cells[name])).to_dict()
    cost.round(dict.fromkeys(question.sites, offers), answers)
    unmasked_sum([MaskedVector.from_dict(answer) for answer in answers.values()], agreement)
    return cost


def _recovered(question: Question, cells: Mapping[str, Any], dropped: int) -> Cost:
    cost, threshold = Cost(), question.threshold or 0
    parties, offers = _first(question, cost)
    sealing = [
        SealingKey.signed(identity(name), party.sealing, party.offer(question.digest())).to_dict()
        for name, party in parties.items()
    ]
    boxes: dict[str, dict[str, str]] = {}
    for name, party in parties.items():
        agreement = _agreed(question, offers)
        keys = verified_keys([SealingKey.from_dict(key) for key in sealing], agreement)
        party.sharer = Sharer(agreement, party.keys, party.sealing, keys, identity(name), threshold=threshold)
        boxes[name] = party.sharer.boxes()
    listed = {"offers": offers, "sealing": sealing}
    cost.round(dict.fromkeys(question.sites, listed), boxes)
    left = question.sites[: len(question.sites) - dropped]
    given = {name: {sender: boxes[sender][name] for sender in boxes if sender != name} for name in question.sites}
    answers = {}
    for name in left:
        party = parties[name]
        assert party.sharer is not None
        party.agreement, masks = party.sharer.masks(given[name])
        answers[name] = masks.mask(_drawn(question, cells[name])).to_dict()
    cost.round(given, answers)
    vectors = [MaskedVector.from_dict(answer) for answer in answers.values()]
    _unmasked(question, parties, left, vectors, cost)
    return cost


def _unmasked(
    question: Question, parties: Mapping[str, Party], left: tuple[str, ...], vectors: list[MaskedVector], cost: Cost
) -> None:
    """Votes, where a site dropped out, and shares; every site checks what it is sent."""
    proofs = [Answered.of(vector).to_dict() for vector in vectors]
    request: dict[str, Any] = {"left": list(left), "answered": proofs}
    agreements = {name: parties[name].agreement for name in left}
    if left != question.sites:
        votes = {}
        for name, agreement in agreements.items():
            assert agreement is not None
            check_answered([Answered.from_dict(proof) for proof in proofs], left, agreement)
            votes[name] = Vote.signed(identity(name), agreement, left).to_dict()
        cost.round(dict.fromkeys(left, request), votes)
        request["votes"] = list(votes.values())[: question.threshold]
    shown: dict[str, Any] = {}
    threshold = question.threshold or 0
    for name, agreement in agreements.items():
        sharer = parties[name].sharer
        assert agreement is not None
        assert sharer is not None
        if "votes" not in request:
            check_answered([Answered.from_dict(proof) for proof in proofs], left, agreement)
        else:
            check_votes([Vote.from_dict(vote) for vote in request["votes"]], left, agreement, threshold)
        shown[name] = sharer.shown(left)
    cost.round(dict.fromkeys(left, request), shown)
    first = agreements[left[0]]
    assert first is not None
    unmasking = Unmasking(agreement=first, holders=question.sites, left=left, threshold=threshold)
    for name, shares in shown.items():
        unmasking.add(name, shares)
    unmasking.total(vectors)


def _trees(sites: int, labels: Any, scores: FloatArray, quantiles: int = 64) -> Cost:
    """One round: each site sends the counts of both trees, with its noise; the time is that of the server's curve."""
    height = math.ceil(math.log2(quantiles)) + 2
    numbers = 2 * sum(2**level for level in range(1, height + 1))
    sent = {str(site): list(range(100, 100 + numbers)) for site in range(sites)}
    cost = Cost()
    cost.round({site: {"quantiles": quantiles} for site in sent}, sent)
    began = time.process_time()
    roc_points(scores[labels], scores[~labels], 1.0, quantiles, np.random.default_rng(0))
    cost.seconds = time.process_time() - began
    return cost


def _roc_glm(sites: int, labels: Any, scores: FloatArray) -> Cost:
    began = time.process_time()
    found = reference(_rows(sites, labels, scores))
    return Cost(rounds=found.asked, bytes=found.bytes, seconds=time.process_time() - began)


def _rows(sites: int, labels: Any, scores: FloatArray) -> list[Rows]:
    parts = [(labels[i::sites], scores[i::sites]) for i in range(sites)]
    return [Rows(positives=own[mine], negatives=own[~mine]) for mine, own in parts]


def _costs(cost: Cost) -> tuple[str, str, str]:
    return str(cost.rounds), f"{cost.bytes:,}", seconds(cost.seconds)


def print_errors(*, quick: bool) -> None:
    """Print the mean error of curves at epsilon 1; colluders are fewer than half of the sites, as by default."""
    repetitions = 2 if quick else REPETITIONS
    print(f"\nmean area between the exact and the found ROC curve at epsilon 1, {repetitions} draws")
    lines: list[tuple[str, str]] = []
    for rows in ROWS[:1] if quick else ROWS:
        ours, theirs, glm = _errors(rows, repetitions)
        lines.extend((f"{rows:,} rows, {name}", f"{error:.5f}") for name, error in ours.items())
        lines.append((f"{rows:,} rows, fedcurve, best number of quantiles, no colluders", f"{theirs:.5f}"))
        lines.append((f"{rows:,} rows, ROC-GLM without noise", f"{glm:.5f}"))
    table(("", "area"), lines)


def _errors(rows: int, repetitions: int) -> tuple[dict[str, float], float, float]:
    """Return the errors of our sums by network, of theirs, and of the ROC-GLM, on the same rows."""
    rng = np.random.default_rng(rows)
    asked = {
        f"{sites} sites, {name}": Asked(question, rng)
        for sites in NETWORKS
        for name, question in _questions(sites, rows).items()
    }
    ours: dict[str, list[float]] = {name: [] for name in asked}
    theirs: dict[int, list[float]] = {number: [] for number in QUANTILES}
    glm: list[float] = []
    at = np.linspace(0.0, 1.0, 10_001)
    for _ in range(repetitions):
        labels, scores = drawn(LAW, rows, rng)
        counts = ScoreCounts.from_arrays(labels, scores)
        exact = _points(counts)
        for name, one in asked.items():
            noisy = one.noisy(counts, rng)
            table_found = shaped(noisy, fitting_shape(noisy, one.noise))
            ours[name].append(area_between(exact, _points(drawn_counts(table_found, one.question.public_grid))))
        for number, errors in theirs.items():
            errors.append(area_between(exact, roc_points(scores[labels], scores[~labels], 1.0, number, rng)))
        glm.append(area_between(exact, (at, roc_glm(counts).roc(at))))
    best = min(float(np.mean(errors)) for errors in theirs.values())
    return {name: float(np.mean(errors)) for name, errors in ours.items()}, best, float(np.mean(glm))


def _questions(sites: int, rows: int) -> dict[str, Question]:
    found = {
        "confide, no colluders": question_of(sites, rows, colluders=0),
        "confide": question_of(sites, rows),
        "confide, survives dropouts": question_of(sites, rows, 3 * sites // 4 + 1),
    }
    return {name: question for name, question in found.items() if question.threshold or "survives" not in name}


def _points(counts: ScoreCounts) -> Curve:
    curve = roc_curve(counts)
    return curve.false_positive_rate, curve.true_positive_rate
