"""The project's own attacks on a real server, over HTTP, stay within the bound."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.counts import FloatArray
from confide.tasks.contest_demo import attack_server
from tests.contest.client.real_server import made_contest, real_server

pytestmark = [pytest.mark.long, pytest.mark.processes, pytest.mark.statistical]


def test_no_attack_over_http_gets_beyond_the_bound(tmp_path: Path) -> None:
    """False alarms: at most 1e-6 for each of three attacks.

    Power: the first attack reads every masked label, so it is right about as many labels as any attack can be.
    `tests/tasks/test_contest_demo_attacks.py` shows that broken servers are caught.
    """
    epsilon = 2
    made = made_contest("heart", rows=200, public_rows=200, epsilon=epsilon, daily_limit=5000, total_limit=5000)
    assert made.bundle.masked is not None
    with real_server(tmp_path, made) as server:
        client = server.client("heart", "mallory")

        def ask(scores: FloatArray) -> float:
            return client.submit(dict(zip(made.ids, scores.tolist(), strict=True))).value

        results = attack_server(
            ask,
            made.labels,
            metric="auc",
            epsilon=Fraction(epsilon),
            bound=made.bundle.terms.certainty,
            rng=np.random.default_rng(epsilon),
        )
        first = client.submit(made.mapping(1))
        repeated = {client.submit(made.mapping(1)).value for _ in range(5)}
    assert not any(one.beyond_bound for one in results)
    unmasked = float((made.bundle.masked.bits == made.labels).mean())
    assert results[0].share == unmasked
    assert all(one.exact_share == 1.0 for one in results)
    assert repeated == {first.value}
