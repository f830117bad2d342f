"""Attacks on a contest's leaderboard: labels from its answers, and a high score without learning anything.

Every number is measured against the oracle alone; private answers are real releases. Rows of labels are fair coins, so
that one half of them is guessed right by chance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.parallel import in_parallel
from benchmarks.timing import table
from confide.attacks.contest.ladder import LadderOracle, boost, climb, expected_accuracy, ladder, parameter_free_ladder
from confide.attacks.contest.oracle import Agreement, Oracle, Recovered, least_queries
from confide.attacks.contest.recovery import recover_labels
from confide.attacks.disclosure import Publication
from confide.privacy.adversary import success_bound
from confide.privacy.guarantee import shown

METRICS = ("auc", "average_precision", "accuracy", "log_loss", "brier")
SHOWN = ("exact", "digits=6", "digits=5", "digits=4", "digits=3")
PRIVATE = ("auc", "average_precision", "accuracy", "brier")


def run(*, quick: bool = False) -> None:
    decoding(quick)
    noise(quick)
    boosting(quick)
    ladders(quick)


def hidden_labels(rows: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng([2015, rows, seed]).random(rows) < 0.5)


def share(agreement: Agreement) -> str:
    interval = agreement.interval
    return f"{100 * agreement.share:.1f} % ({100 * interval.lower:.0f} to {100 * min(interval.upper, 1.0):.0f} %)"


def decoding(quick: bool) -> None:
    print("all labels from answers without noise; Whitehill (2019) asks twice for each row, of AUC;")
    print("'least' no attack can do with fewer exact answers (by counting, for numbers that are fractions)")
    tasks = [(rows, metric, how) for rows in (200, 1000) for metric in METRICS for how in SHOWN]
    if quick:
        tasks = [
            task for task in tasks if task[2] in ("exact", "digits=4") and (task[0] == 200 or "average" not in task[1])
        ]
    head = ("rows, number", "shown", "submissions", "2n", "least", "labels right", "certain", "seconds")
    table(head, [decoded(*task) for task in tasks])


def decoded(rows: int, metric: str, how: str) -> Sequence[str]:
    hidden = hidden_labels(rows)
    started = time.perf_counter()
    oracle = Oracle.of_labels(hidden, Publication.parse(f"{metric}:{how}"))
    found = recover_labels(oracle, budget=2 * rows, rng=1)
    took = time.perf_counter() - started
    assert (found.labels[found.certain] == hidden[found.certain]).all()
    least = str(least_queries(rows, int(hidden.sum()), metric)) if metric in ("auc", "accuracy") else ""
    return (
        f"{rows:,} {metric}",
        how,
        str(found.queries),
        f"{2 * rows:,}",
        least,
        share(found.agreement(hidden)),
        f"{100 * found.certain.mean():.1f} %",
        f"{took:.2f}",
    )


@dataclass(frozen=True)
class Noisy:
    rows: int
    metric: str
    epsilon: Fraction
    answers: int
    runs: int


def noise(quick: bool) -> None:
    print("\nprivate answers, correlated over orthogonal submissions; 'bound' is the most that anybody can be sure of")
    print("one label, exp(k epsilon) / (1 + exp(k epsilon)) after k answers: it is 1 if epsilon is spent each time")
    sizes = ((60, 64, 1),) if quick else ((200, 100, 2), (200, 256, 2), (1000, 1024, 1))
    tasks = [
        Noisy(rows, metric, epsilon, answers, runs)
        for rows, answers, runs in sizes
        for metric in (("accuracy",) if quick else PRIVATE)
        for epsilon in (Fraction(1), Fraction(1, answers))
    ]
    found = [guessed(task) for task in tasks] if quick else in_parallel(guessed, tasks)
    head = ("rows, number", "answers", "epsilon each", "in total", "labels right", "bound")
    lines = [
        (
            f"{task.rows:,} {task.metric}",
            f"{task.answers:,}",
            shown(task.epsilon),
            shown(task.epsilon * task.answers),
            share(agreement),
            f"{100 * success_bound(float(task.epsilon) * task.answers):.1f} %",
        )
        for task, agreement in zip(tasks, found, strict=True)
    ]
    table(head, lines)


def guessed(task: Noisy) -> Agreement:
    published = Publication(metric=task.metric, epsilon=task.epsilon)
    right = 0
    for seed in range(task.runs):
        hidden = hidden_labels(task.rows, seed)
        oracle = Oracle.of_labels(hidden, published, limit=task.answers)
        right += recover_labels(oracle, rng=seed).agreement(hidden).right
    return Agreement.of(right, task.rows * task.runs, task.rows * task.runs)


def boosting(quick: bool) -> None:
    print("\nboosting: the majority of k coins (the mean of k random scores for AUC), each turned to one half or more;")
    print(
        "what the leaderboard says of it, and its score on 10,000 rows of the private leaderboard. A Ladder shows the"
    )
    print("luckiest coin; with epsilon 1 in total over so many answers a leaderboard shows little but noise")
    steps = (11, 101) if quick else (11, 101, 401, 1601)
    lines = []
    for rows in (200, 1000):
        for board, oracle in leaderboards(rows, 2 * (steps[-1] + len(steps)), quick):
            boosted = boost(oracle, steps, hidden=np.arange(10_000) % 2, rng=np.random.default_rng([7, rows]))
            theory = [f"{expected_accuracy(rows, k):.3f}" if board == "accuracy, exact" else "" for k in steps]
            for k, said, expected, honest in zip(steps, boosted.leaderboard, theory, boosted.honest, strict=True):
                lines.append((f"{rows:,} {board}", str(k), f"{said:.3f}", expected, f"{honest:.3f}"))
    table(("rows, leaderboard", "k", "leaderboard", "theory", "honest"), lines)


def leaderboards(rows: int, answers: int, quick: bool) -> list[tuple[str, Oracle]]:
    hidden = hidden_labels(rows)
    theory = math.pow(math.log(answers * rows) / rows, 1 / 3)
    boards: list[tuple[str, Oracle]] = [
        ("accuracy, exact", Oracle.of_labels(hidden, Publication.parse("accuracy"))),
        ("AUC, exact", Oracle.of_labels(hidden, Publication.parse("auc"))),
        ("accuracy, Ladder 0.01", ladder(hidden, "accuracy", step="0.01")),
        (f"accuracy, Ladder {theory:.2f} (theory)", ladder(hidden, "accuracy", step=f"{theory:.2f}")),
        ("accuracy, Ladder parameter-free", parameter_free_ladder(hidden)),
    ]
    if not quick:
        private = Publication(metric="accuracy", epsilon=Fraction(1, answers))
        boards.append(("accuracy, epsilon 1 in total", Oracle.of_labels(hidden, private)))
    return boards


def ladders(quick: bool) -> None:
    print(
        "\nlabels from a Ladder of accuracy: blocks cannot be decoded, but turning around as many guesses as are just"
    )
    print("enough to be seen (climbing) tells labels while that is few rows: the Ladder is no promise of privacy")
    lines = []
    for rows in (200, 1000):
        hidden = hidden_labels(rows)
        for name, step in (
            ("1/(2n)", Fraction(1, 2 * rows)),
            ("1/n", Fraction(1, rows)),
            ("0.01", "0.01"),
            ("0.1", "0.1"),
        ):
            blocks = recover_labels(ladder(hidden, "accuracy", step=step, limit=4 * rows), rng=1)
            lines.append(climbed(f"{rows:,} step {name}", ladder(hidden, "accuracy", step=step), hidden, blocks, quick))
        blocks = recover_labels(parameter_free_ladder(hidden, limit=4 * rows), rng=1)
        lines.append(climbed(f"{rows:,} parameter-free", parameter_free_ladder(hidden), hidden, blocks, quick))
    head = ("rows, Ladder", "decoding", "group", "submissions", "climbing", "certain")
    table(head, lines)


def climbed(name: str, board: LadderOracle, hidden: np.ndarray, blocks: Recovered, quick: bool) -> Sequence[str]:
    found = climb(board, queries=(2 if quick else 4) * hidden.size, rng=1)
    assert (found.labels[found.certain] == hidden[found.certain]).all()
    return (
        name,
        share(blocks.agreement(hidden)),
        str(board.group),
        f"{found.queries:,}",
        share(found.agreement(hidden)),
        f"{100 * found.certain.mean():.0f} %",
    )
