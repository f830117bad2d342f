"""Text of submissions, boards and the demonstration of a contest."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from confide.cli.flags import find_call
from confide.cli.main import app
from confide.contest.client.results import ContestStatus, Leaderboard, LeaderboardEntry, Limits, Submission
from confide.contest.metric import ContestMetric
from confide.contest.terms import ContestTerms, Mode
from confide.intervals.interval import Interval
from confide.report.contest import board_table, print_board, status_lines, submission_lines
from confide.report.demonstrations import (
    attack_step,
    attack_table,
    attacker_lines,
    final_step,
    final_table,
    new_step,
    serve_step,
    teams_step,
)
from confide.tasks.contest_demo import AttackResult, ContestDemo, DemoContest

SAMPLE = Interval(lower=0.6, upper=0.8, level=0.95, method="Fieller")
LIMITS = Limits(daily_limit=5, daily_left=4, total_limit=1000, total_left=999, resets_at="2026-11-18T00:00:00.000Z")


def submission(value: float = 0.7123456, *, replayed: bool = False) -> Submission:
    return Submission(
        id="S2",
        contest="heart",
        participant="ana",
        received_at="2026-11-17T06:00:00.000Z",
        digest="ab",
        rows=10,
        metric="auc",
        value=value,
        sample=SAMPLE,
        population=SAMPLE,
        limits=LIMITS,
        replayed=replayed,
    )


def board(*places: tuple[str, str, int, int, int]) -> Leaderboard:
    entries = tuple(
        LeaderboardEntry(
            name=name,
            submission=identity,
            rank=rank,
            rank_lowest=lowest,
            rank_highest=highest,
            value=0.75,
            sample=SAMPLE,
            population=SAMPLE,
            submissions=3,
        )
        for name, identity, rank, lowest, highest in places
    )
    return Leaderboard(contest="heart", metric="auc", as_of="2026-11-17T06:00:01+00:00", scored=7, entries=entries)


def test_the_commands_of_the_demonstration_parse() -> None:
    demo = ContestDemo(folder=Path("trial"), rows=300, epsilon=Fraction(1, 2), seed=1, temporary=False)
    labels, public = np.zeros(4, dtype=np.bool_), np.arange(2)
    made = DemoContest(demo=demo, terms=terms(), ids=("a", "b", "c", "d"), labels=labels, public=public)
    url = "http://127.0.0.1:8765"
    steps = (new_step(demo), serve_step(demo, url), teams_step(url, 10), final_step(made, url))
    written = [line.strip() for step in steps for line in step.splitlines() if line.startswith("  confide ")]
    assert len(written) == 9
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    for line in written:
        called, rest = find_call(root, shlex.split(line)[1:])
        assert isinstance(called, TyperCommand)
        with called.make_context(called.name, rest) as context:
            assert context.params
    assert "2 of 4 rows" in attack_step(made)


def terms() -> ContestTerms:
    return ContestTerms(
        name="demo",
        title="Demo",
        metric=ContestMetric.checked("auc"),
        rows=4,
        public_rows=2,
        epsilon=Fraction(1, 2),
        flip=Fraction(2, 5),
    )


def test_a_submission_is_told_with_intervals_place_and_limits() -> None:
    lines = list(submission_lines(submission(), board(("ben", "S1", 1, 1, 1), ("ana", "S2", 2, 2, 2)), "AUC"))
    assert lines == [
        "AUC 0.7123: submission S2 of ana to heart",
        "  on the contest's rows: 0.6000 to 0.8000 (95 % interval), as labels are masked",
        "  on new rows like them: 0.6000 to 0.8000 (95 % interval), with sampling error",
        "  on the board, your entry has rank 2 of 2",
        "  submissions left: 4 of 5 until 2026-11-18 00:00 UTC, 999 of 1,000 in all",
    ]


def test_words_fit_the_mode_and_the_number() -> None:
    lines = "\n".join(submission_lines(submission(), None, "AUC", mode=Mode.PER_ANSWER))
    assert "as the answer has noise" in lines
    assert "masked" not in lines
    status = ContestStatus(
        name="heart", state="open", participants=1, submissions=1, submissions_today=0, members=(), next_states=()
    )
    assert list(status_lines(status))[1] == "1 participant, 1 submission scored, 0 of them today"


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (board(("ana", "S1", 1, 1, 3)), "your entry, 0.7500 by S1, has rank 1 of 1; between 1 and 3 are possible"),
        (board(("ben", "S1", 1, 1, 1)), None),
        (None, None),
    ],
)
def test_the_place_is_that_of_the_best_entry(shown: Leaderboard | None, words: str | None) -> None:
    text = "\n".join(submission_lines(submission(replayed=True), shown, "AUC"))
    assert ("on the board" in text) is (words is not None)
    assert words is None or words in text
    assert "nothing was counted again" in text


def test_ranks_that_are_certain_stand_alone() -> None:
    table = board_table(board(("ben", "S1", 1, 1, 1), ("ana", "S2", 2, 2, 4)), "AUC")
    assert [row[:2] for row in table.body] == [("1", "ben"), ("2 (2–4)", "ana")]
    out = io.StringIO()
    print_board(board(("[red]x[/red]", "S1", 1, 1, 1)), "AUC", Console(file=out, width=100))
    assert "[red]x[/red]" in out.getvalue()


@pytest.mark.parametrize(("luck", "beyond"), [(0.5, False), (2e-6, False), (5e-7, True)])
def test_an_attack_is_beyond_the_bound_if_luck_does_not_explain_it(luck: float, beyond: bool) -> None:
    one = AttackResult(
        name="climb", rows=200, submissions=201, right=180.0, luck=luck, exact_right=200.0, exact_submissions=201
    )
    assert one.beyond_bound is beyond
    (row,) = attack_table([one], 0.880797).body
    assert row == ("climb", "200", "201", "90.0 %", "88.1 %", "100.0 %", "201")


@pytest.fixture
def final() -> Callable[[int | None], dict[str, object]]:
    def made(board_rank: int | None) -> dict[str, object]:
        entry = {"name": "Mallory", "value": 0.5, "rank": 2, "rank_lowest": 1, "rank_highest": 2}
        population = {"lower": 0.4, "upper": 0.6}
        shaken = {"name": "Mallory", "board_rank": board_rank, "rank": 2}
        return {"entries": [{**entry, "population": population}], "shake_up": [shaken]}

    return made


def test_the_final_stands_beside_the_board(final: Callable[[int | None], dict[str, object]]) -> None:
    assert final_table(final(1), {"Mallory": 0.51}).body == (
        ("2 (1–2)", "Mallory", "0.5000", "0.400 to 0.600", "1", "0.5100"),
    )
    assert final_table(final(None), {}).body[0][-2:] == ("–", "–")
    assert list(attacker_lines(final(None))) == []
    (line,) = attacker_lines(final(1))
    assert line.startswith("Mallory climbed to rank 1 of the board by its answers alone, and has rank 2 of 1")
