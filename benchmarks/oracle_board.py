"""Contests through a real server: the order on the board beside exact labels, and labels that the best attack reads."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.oracle_server import CONTEST, Running, parquet_of, served, write_bundle
from benchmarks.timing import table
from confide.contest.client.oracle_client import OracleClient
from confide.contest.labels import prepare_masked
from confide.contest.metric import ContestMetric
from confide.contest.server.administration import new_token
from confide.contest.simulation import (
    LEAST_ERROR,
    MOST_ERROR,
    Scenario,
    draw_labels,
    draw_signal,
    entry_scores,
    kendall_tau,
    separation,
    true_value,
)
from confide.counts import FloatArray
from confide.metrics.ranking import auc_score
from confide.privacy.adversary import success_bound
from confide.tasks.contest_demo import attack_server

TEAMS, ANSWERS, SIGNAL = 50, 1_000, 1.5
METRIC = ContestMetric.checked("auc")
SIMULATED = {1_000: ".80 (exact .85)", 10_000: ".93 (exact .95)", 100_000: ".98 (exact .98)"}


def run(*, quick: bool = False) -> None:
    print(f"board: {TEAMS} teams, epsilon 2, half positive, AUC; Kendall tau with the true order")
    sizes = (1_000,) if quick else tuple(SIMULATED)
    answers = 2 * TEAMS if quick else ANSWERS
    head = ("rows", "submissions", "tau on the board", "tau, exact labels", "design's simulation, 1,000 answers")
    table(head, [_board(rows, answers) for rows in sizes])
    print("\nattack: share of labels read from 1,000 fair coins, by attack; luck is the chance of as many at the bound")
    rows = 100 if quick else 1_000
    attacked = ("epsilon", "attack", "submissions", "labels right", "bound", "luck", "with exact answers")
    table(attacked, [line for epsilon in ((2,) if quick else (1, 2, 4)) for line in _attacks(rows, Fraction(epsilon))])


def _serve(folder: Path, labels: NDArray[np.bool_], epsilon: Fraction) -> Path:
    """Mask labels as the holder does, and write what the server gets."""
    masked = prepare_masked(labels, epsilon=epsilon).draw()[0].labels
    bundle = folder / "server.zip"
    write_bundle(bundle, masked, epsilon=epsilon)
    return bundle


def _board(rows: int, answers: int) -> tuple[str, ...]:
    rng = np.random.default_rng([2018, rows])
    scenario = Scenario(rows=rows, prevalence=0.5, answers=answers, teams=TEAMS, metric=METRIC, signal=SIGNAL)
    labels = draw_labels(scenario, rng)
    seen = draw_signal(scenario, labels, rng)
    own = rng.standard_normal((TEAMS, rows), dtype=np.float32)
    least = rng.uniform(LEAST_ERROR, MOST_ERROR, TEAMS)
    possible, exact = np.zeros(TEAMS), np.zeros(TEAMS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder / "home", _serve(folder, labels, Fraction(2))) as server:
            server.open()
            clients = [_client(server, f"team {team:02d}") for team in range(TEAMS)]
            each = answers // TEAMS
            for number in range(each):
                for team, client in enumerate(clients):
                    error = least[team] * (2.0 - number / each)
                    scores = entry_scores(scenario, seen, own[team], error, rng)
                    client.submit(_file(folder, scores))
                    truth = true_value(METRIC, separation(scenario, error), 0.5)
                    possible[team] = max(possible[team], truth)
                    exact[team] = max(exact[team], float(auc_score(labels, scores)))
            shown = _settled(clients[0], answers)
    tau, tau_exact = kendall_tau(shown, possible), kendall_tau(exact, possible)
    return f"{rows:,}", f"{each * TEAMS:,}", f"{tau:.2f}", f"{tau_exact:.2f}", SIMULATED[rows]


def _settled(client: OracleClient, answers: int) -> FloatArray:
    """Return the values of all teams once the board has seen every submission."""
    while True:
        board = client.leaderboard()
        if board.scored >= answers:
            return np.array([entry.value for entry in sorted(board.entries, key=lambda entry: entry.name)])


def _attacks(rows: int, epsilon: Fraction) -> list[tuple[str, ...]]:
    rng = np.random.default_rng([2019, rows, int(epsilon)])
    labels = rng.random(rows) < 0.5
    bound = success_bound(float(epsilon))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder / "home", _serve(folder, labels, epsilon)) as server:
            server.open()
            client = _client(server, "attacker")
            found = attack_server(
                lambda scores: client.submit(_file(folder, scores)).value,
                labels,
                metric="auc",
                epsilon=epsilon,
                bound=bound,
                rng=rng,
            )
    return [
        (
            f"{float(epsilon):g}",
            one.name,
            f"{one.submissions:,}",
            f"{one.share:.3f} of {one.rows:,}",
            f"{bound:.3f}",
            "BEYOND THE BOUND" if one.beyond_bound else f"{one.luck:.2g}",
            f"{one.exact_share:.3f} ({one.exact_submissions:,})",
        )
        for one in found
    ]


def _client(server: Running, name: str) -> OracleClient:
    return OracleClient(f"http://127.0.0.1:{server.port}/contests/{CONTEST}", new_token(server.home, CONTEST, name))


def _file(folder: Path, scores: FloatArray) -> Path:
    path = folder / "scores.parquet"
    path.write_bytes(parquet_of(scores))
    return path
