"""Refusals of a real server reach participants and organisers in words that fit the client."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from confide import OracleClient
from confide.contest.client.refusals import ProblemKind, problem
from confide.contest.server.problems import Kind
from confide.errors import OracleError, ParameterError, TokenError
from tests.contest.client.real_server import RealServer, made_contest, real_server

HTTP_WORDS = ("GET", "PUT", "/v1", "`errors`", "Authorization", "pattern", "Idempotency-Key", "header", "openapi")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    contests = (
        made_contest("heart", seed=1),
        made_contest("ended", final_epsilon=Fraction(1), seed=2),
        made_contest("resting", seed=3),
    )
    with real_server(tmp_path_factory.mktemp("server"), *contests) as running:
        running.client("ended", "host", "organiser").set_state("closed")
        running.client("resting", "host", "organiser").set_state("paused")
        yield running


def said(error: OracleError) -> str:
    text = f"{error} {error.next_step}"
    assert not [word for word in HTTP_WORDS if word in text], text
    return str(error)


def test_the_kinds_are_those_of_the_server() -> None:
    assert {kind.value for kind in ProblemKind} == {kind.type for kind in Kind}


@pytest.mark.processes
def test_a_missing_and_an_unknown_token(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
    made = server.contests["heart"]
    with pytest.raises(TokenError) as missing:
        OracleClient(server.url, contest="heart").submit(made.mapping(1))
    assert said(missing.value).endswith("Give token=, or set CONFIDE_TOKEN, to the one that the organiser gave you")
    with pytest.raises(TokenError) as unknown:
        OracleClient(server.url, "cfd_" + "a" * 43, contest="heart").limits()
    assert "unknown or was revoked" in said(unknown.value)
    with pytest.raises(TokenError) as role:
        server.client("heart", "ana").status()
    assert "role organiser" in said(role.value)
    assert "CONFIDE_TOKEN" in str(role.value)


@pytest.mark.processes
def test_an_unknown_contest_names_those_that_there_are(server: RealServer) -> None:
    anybody = OracleClient(server.url)
    for ask in (anybody.contest, anybody.template, anybody.leaderboard, anybody.final):
        with pytest.raises(OracleError) as refused:
            ask("hart")
        assert "no contest 'hart'. Choose from " in said(refused.value)
        assert {"heart", "ended", "resting"} <= set(refused.value.next_step.replace(",", "").split())
        assert refused.value.status == 404


@pytest.mark.processes
def test_a_token_of_another_contest_is_told_apart(server: RealServer) -> None:
    token = server.token("heart", "ana")
    with pytest.raises(OracleError) as refused:
        OracleClient(server.url, token, contest="resting").limits()
    assert "a token is for one contest" in said(refused.value).lower()
    assert "'resting'" in str(refused.value)


@pytest.mark.processes
def test_what_is_not_there_is_named(server: RealServer) -> None:
    ana, host = server.client("heart", "ana"), server.client("heart", "host", "organiser")
    with pytest.raises(OracleError) as final:
        ana.final()
    assert said(final.value) == "the final is not published yet. Look at the board until then"
    with pytest.raises(OracleError) as choice:
        ana.choose_finalists(["0" * 26])
    assert "not yours" in said(choice.value)
    with pytest.raises(OracleError) as token:
        host.revoke("0" * 26)
    assert "no token with this id" in said(token.value)
    with pytest.raises(ParameterError, match="26 digits and capital letters"):
        ana.choose_finalists(["S1"])


@pytest.mark.processes
def test_a_wrong_file_lists_what_is_wrong(server: RealServer) -> None:
    made, ana = server.contests["heart"], server.client("heart", "ana")
    wrong = {**dict(list(made.mapping(1).items())[1:]), "nobody": 0.5}
    with pytest.raises(OracleError) as refused:
        ana.submit(wrong)
    text = said(refused.value)
    assert "p0000" in text
    assert "nobody" in text
    assert refused.value.next_step.startswith("correct the file and submit it again")


@pytest.mark.processes
def test_a_name_that_the_server_does_not_take(server: RealServer) -> None:
    with pytest.raises(OracleError) as refused:
        server.client("heart", "host", "organiser").new_token("")
    assert "participant" in said(refused.value)


@pytest.mark.processes
def test_submissions_end_without_a_final_to_look_at(server: RealServer) -> None:
    ended = server.client("ended", "ana")
    with pytest.raises(OracleError) as refused:
        ended.submit(server.contests["ended"].mapping(1))
    assert said(refused.value) == "contest 'ended' is closed: submissions have ended. Wait for the final"
    with pytest.raises(OracleError) as choice:
        ended.choose_finalists(["0" * 26])
    assert "no longer be chosen" in said(choice.value)
    with pytest.raises(OracleError) as paused:
        server.client("resting", "ana").submit(server.contests["resting"].mapping(1))
    assert said(paused.value) == "contest 'resting' is paused. Wait until the organiser opens it"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", list(Kind))
def test_no_kind_speaks_of_http(kind: Kind) -> None:
    plain = b'{"type": "%s", "detail": "x", "errors": ["body.a.b: String should match pattern \'^[a-z]$\'"]}'
    error = problem(kind.status, {"content-type": "application/problem+json"}, plain % kind.type.encode())
    if kind == Kind.INVALID:
        assert said(error) == (
            "the server cannot take this; b: this is not what the server expects. Correct it and try again"
        )
    assert (error.kind, error.status) == (kind.type, kind.status)
    assert error.next_step or kind in (Kind.BUDGET_SPENT, Kind.UPLOADS, Kind.INVALID, Kind.WRONG_STATE)
