"""Contests that charge each answer to a ledger: limits come first, replays are free, and the budget ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contest.server.running import Running, SmallContest, served
from tests.contest.server.test_submissions_over_http import problem
from tests.tasks.contest_files import IDS, LABELS, Holder

pytestmark = pytest.mark.processes


@pytest.mark.long
def test_each_answer_is_charged_once_and_the_budget_ends_it(tmp_path: Path) -> None:
    holder = Holder(tmp_path / "holder")
    holder.make(per_answer=True, epsilon=1, final_epsilon=None, daily_limit=4)
    bundle = holder.bundle()
    truth = dict(zip(IDS, LABELS, strict=True))
    contest = SmallContest(bundle, LABELS[[IDS.index(one) for one in bundle.template.ids]])
    assert all(truth[one] == label for one, label in zip(bundle.template.ids, contest.labels, strict=True))
    arguments = [f"--labels={holder.file}", f"--ledger={holder.book}", "--account=trial"]
    with served(tmp_path / "server", contest, arguments=arguments) as running:
        running.set_state("heart", "open")
        check(running, holder, contest)


def check(running: Running, holder: Holder, contest: SmallContest) -> None:
    first, second = running.token("heart"), running.token("heart")
    sent = running.submit("heart", first, contest.csv(1))
    assert sent.status_code == 201, sent.text
    assert holder.spent()[0] == 1.0
    assert running.submit("heart", first, contest.csv(1)).status_code == 200
    other = running.submit("heart", second, contest.csv(1))
    assert (other.status_code, other.json()["value"]) == (201, sent.json()["value"])  # the same question
    assert holder.spent()[0] == 1.0
    problem(running.submit("heart", first, b"id,score\n"), 422, "bad-file")
    for seed in (2, 3):
        assert running.submit("heart", first, contest.csv(seed)).status_code == 201
    assert holder.spent()[0] == 3.0
    refused = problem(running.submit("heart", first, contest.csv(4)), 403, "budget-spent")
    assert "budget" in refused["detail"]
    assert running.call("GET", "/v1/contests/heart/limits", first).json()["daily_left"] == 1
    board = running.call("GET", "/v1/contests/heart/leaderboard").json()
    assert (len(board["entries"]), board["scored"]) == (2, 4)
    assert holder.spent()[0] == 3.0


def test_labels_are_needed(tmp_path: Path) -> None:
    from confide.contest.server.home import Settings
    from confide.contest.server.run import create_app
    from confide.errors import HomeError

    holder = Holder(tmp_path / "holder")
    holder.make(per_answer=True, epsilon=1, final_epsilon=None)
    with pytest.raises(HomeError, match="--labels"):
        create_app(Settings(home=tmp_path / "home", bundles=(holder.folder / "heart" / "server.zip",)))
