"""Answers of a server that is broken, hostile or of another kind end in an error, never in a wrong value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import OracleClient
from confide.contest.client.results import (
    Contest,
    ContestStatus,
    FinalistChoice,
    Leaderboard,
    Limits,
    NewToken,
    Submission,
    TokenRecord,
)
from confide.errors import OracleError, ParameterError, ScoreError, UnreadableError
from confide.sources.submissions import score_csv
from tests.contest.client.real_server import made_contest
from tests.contest.client.small_servers import TOKEN, Seen, Told, small_server, told_json
from tests.waiting import seconds_at_most

LIMITS = {"daily_limit": 5, "daily_left": 4, "total_limit": 9, "total_left": 8, "resets_at": "2026-11-18T00:00:00Z"}
INTERVAL = {"lower": 0.4, "upper": 0.6, "level": 0.95, "method": "Fieller"}
SUBMISSION = {
    "id": "01J9ZQ3V8Y6T4W2R0P5N7M1K3H",
    "contest": "heart",
    "participant": "ana",
    "received_at": "2026-11-17T06:00:00Z",
    "digest": "ab",
    "rows": 3,
    "metric": {"name": "auc", "threshold": None},
    "value": 0.5,
    "sample": INTERVAL,
    "population": INTERVAL,
    "limits": LIMITS,
    "replayed": False,
}
READERS: tuple[Callable[[Any], object], ...] = (
    Contest.from_dict,
    ContestStatus.from_dict,
    FinalistChoice.from_dict,
    Leaderboard.from_dict,
    Limits.from_dict,
    NewToken.from_dict,
    Submission.from_dict,
    TokenRecord.from_dict,
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING)
def test_anything_else_is_an_error(plain: Any) -> None:
    for read in READERS:
        with pytest.raises(OracleError, match="install the server's version"):
            read(plain)


@given(st.sampled_from(sorted(SUBMISSION)), ANYTHING)
def test_a_submission_with_one_wrong_field_is_an_error_or_well_typed(name: str, wrong: Any) -> None:
    try:
        read = Submission.from_dict({**SUBMISSION, name: wrong})
    except OracleError:
        return
    assert isinstance(read.value, float)
    assert isinstance(read.rows, int)
    assert all(getattr(read, one).isprintable() for one in ("id", "contest", "participant", "metric", "received_at"))


def test_names_on_a_board_cannot_steer_a_terminal() -> None:
    read = Submission.from_dict({**SUBMISSION, "participant": "a\x1b[2Jb\nc"})
    assert read.participant == "a?[2Jb c"
    assert read.to_dict()["limits"] == LIMITS


def test_pages_are_followed_to_the_end() -> None:
    ids = [f"{number:026}" for number in reversed(range(5))]
    pages = {"": ids[:2], ids[1]: ids[2:4], ids[3]: ids[4:]}

    def answer(seen: Seen, before: int) -> Told:
        page = pages[seen.path.partition("?before=")[2]]
        return told_json(
            {"submissions": [{**SUBMISSION, "id": one} for one in page], "next": page[-1] if len(page) > 1 else None}
        )

    with small_server(answer) as server:
        found = OracleClient(server.url, TOKEN, contest="heart").submissions()
    assert [one.id for one in found] == ids


@pytest.mark.parametrize("later", ["1" * 26, "0" * 26])
def test_pages_without_an_end_are_refused(later: str) -> None:
    def answer(seen: Seen, before: int) -> Told:
        return told_json({"submissions": [], "next": "0" * 26 if before else later})

    with small_server(answer) as server:
        with pytest.raises(OracleError, match="next"):
            OracleClient(server.url, TOKEN, contest="heart").submissions()
        assert len(server.seen) <= 3


def test_the_key_is_the_digest_of_the_file(tmp_path: Any) -> None:
    file = tmp_path / "scores.csv"
    file.write_bytes(b"abc")
    with small_server(lambda seen, before: told_json(SUBMISSION, 201)) as server:
        OracleClient(server.url, TOKEN, contest="heart").submit(file)
    (seen,) = server.seen
    assert seen.headers["idempotency-key"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert (seen.path, seen.body) == ("/v1/contests/heart/submissions", b"abc")
    assert seen.headers["content-type"] == "text/csv"


@pytest.mark.parametrize(
    ("content", "kind"), [(b"", UnreadableError), (b"\x1f\x8b\x08\x00", ParameterError), (None, UnreadableError)]
)
def test_files_that_cannot_be_sent_are_refused(content: bytes | None, kind: type[Exception], tmp_path: Any) -> None:
    file = tmp_path / "scores.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(kind):
        OracleClient("https://oracle.example", TOKEN, contest="heart").submit(file)


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_a_csv_file_gives_the_same_floats_back(scores: dict[str, float]) -> None:
    import csv
    import io

    text = score_csv(scores, id_column="id", score_column="risk, of death").decode("utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["id", "risk, of death"]
    assert {row[0]: float(row[1]) for row in rows} == scores


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ({1.5: 0.1}, ParameterError),
        ({None: 0.1}, ParameterError),
        ({"a": None}, ScoreError),
        ({"a": "0.1"}, ScoreError),
        ([1, 2], ParameterError),
        ({"\ud800": 0.1}, ParameterError),
    ],
)
def test_other_ids_and_scores_are_refused(scores: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        score_csv(scores, id_column="id", score_column="score")


def test_whole_numbers_are_ids() -> None:
    assert score_csv({1: 1, 2: 0.5}, id_column="id", score_column="s") == b"id,s\r\n1,1.0\r\n2,0.5\r\n"


CONTEST = {
    "name": "heart",
    "title": "Heart",
    "state": "open",
    "terms": made_contest("heart").bundle.terms.to_dict(),
    "promise": {"epsilon": 2.0, "certainty": 0.9, "final_certainty": None, "words": []},
    "participants": 1,
    "submissions": 1,
}


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1e9_9_9_9_9_9_9_9_9", "1/0", "9" * 5000])
@pytest.mark.parametrize("name", ["public_share", "epsilon", "flip", "final_epsilon", "final_delta"])
def test_a_server_cannot_keep_a_client_busy_with_a_number(name: str, number: str) -> None:
    assert Contest.from_dict(CONTEST).to_dict() == CONTEST
    plain = {**CONTEST, "terms": {**CONTEST["terms"], name: number}}  # type: ignore[dict-item]
    with seconds_at_most(2.0), pytest.raises(OracleError, match="install the server's version"):
        Contest.from_dict(plain)


@pytest.mark.parametrize("status", [200, 400])
def test_answers_that_nest_without_end_are_errors(status: int) -> None:
    deep = b'{"a":' * 200_000
    answer = Told(status, deep, {"Content-Type": "application/json"})
    with small_server(lambda seen, before: answer) as server, pytest.raises(OracleError):
        OracleClient(server.url, TOKEN, contest="heart").limits()


def test_numbers_that_no_float_holds_are_errors() -> None:
    with pytest.raises(OracleError, match="value"):
        Submission.from_dict({**SUBMISSION, "value": 10**400})
