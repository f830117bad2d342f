"""The client and a real server understand each other."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from confide import OracleClient
from confide.contest.bundles import Finalists
from confide.contest.estimators import score_entry
from confide.contest.final import prepare_final
from confide.errors import LimitError, OracleError, ParameterError, TokenError
from tests.contest.client.real_server import RealServer, made_contest, real_server

pytestmark = pytest.mark.processes

BAD_FILE, KEY_REUSED = "urn:confide:problem:bad-file", "urn:confide:problem:key-reused"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    contests = (
        made_contest("heart"),
        made_contest("few", daily_limit=2, total_limit=3, seed=2),
        made_contest("ended", final_epsilon=Fraction(4), seed=3),
        made_contest("desk", seed=4),
    )
    with real_server(tmp_path_factory.mktemp("server"), *contests) as running:
        yield running


@pytest.fixture
def ana(server: RealServer, request: pytest.FixtureRequest) -> OracleClient:
    """Return the client of a participant of its own for each test."""
    return server.client("heart", request.node.name[:80].strip())


def test_every_form_of_the_same_scores_is_one_submission(server: RealServer, ana: OracleClient, tmp_path: Path) -> None:
    made = server.contests["heart"]
    scores = made.scores(1)
    table = {"id": list(made.ids), "score": scores.tolist()}
    with (tmp_path / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "score"), *zip(*table.values(), strict=True)])
    pq.write_table(pa.table(table), tmp_path / "scores.parquet")
    sent: list[tuple[int, int]] = []
    first = ana.submit(tmp_path / "scores.csv", progress=lambda done, total: sent.append((done, total)))
    size = (tmp_path / "scores.csv").stat().st_size
    assert sent[-1] == (size, size)
    forms = (
        str(tmp_path / "scores.csv"),
        tmp_path / "scores.parquet",
        pd.DataFrame(table),
        pl.DataFrame(table),
        pl.LazyFrame(table),
        pa.table(table),
        made.mapping(1),
        pd.DataFrame(table).sample(frac=1, random_state=1),
    )
    again = [ana.submit(one) for one in forms]
    assert not first.replayed
    assert all(one.replayed for one in again)
    assert {(one.id, one.digest, one.value) for one in again} == {(first.id, first.digest, first.value)}
    assert first.limits is not None
    assert ana.limits().total_left == first.limits.total_left == 999


def test_the_answer_is_that_of_the_masked_labels_alone(server: RealServer, ana: OracleClient) -> None:
    made = server.contests["heart"]
    bundle = made.bundle
    assert bundle.masked is not None
    answer = ana.submit(made.mapping(5))
    expected = score_entry(bundle.terms.metric, made.scores(5)[bundle.public], bundle.masked)
    assert answer.value == expected.value
    assert (answer.sample, answer.population) == (expected.sample, expected.population)
    assert (answer.contest, answer.metric, answer.rows) == ("heart", "auc", 120)
    board = ana.leaderboard(after=answer)
    entry = board.entry(answer.participant)
    assert entry is not None
    assert (entry.submission, entry.value) == (answer.id, answer.value)
    assert entry.rank_lowest <= entry.rank <= entry.rank_highest
    assert board.to_dict()["entries"][0]["rank"] == 1


def test_everybody_reads_terms_template_and_board(server: RealServer) -> None:
    made, anybody = server.contests["heart"], OracleClient(server.url)
    assert {one.name for one in anybody.contests()} >= {"heart", "few"}
    contest = anybody.contest("heart")
    assert contest.terms == made.bundle.terms
    assert contest.promise.certainty == made.bundle.terms.certainty
    assert contest.to_dict()["terms"] == made.bundle.terms.to_dict()
    assert anybody.template("heart") == made.bundle.template
    assert anybody.leaderboard("heart").contest == "heart"
    with pytest.raises(OracleError) as refused:
        anybody.final("heart")
    assert refused.value.status == 404


def test_limits_end_in_an_error_of_its_own(server: RealServer) -> None:
    made, ben = server.contests["few"], server.client("few", "ben")
    for seed in (1, 2):
        done = ben.submit(made.mapping(seed))
    assert done.limits is not None
    assert (done.limits.daily_left, done.limits.total_left) == (0, 1)
    with pytest.raises(LimitError) as refused:
        ben.submit(made.mapping(3))
    assert (refused.value.status, refused.value.exit_code) == (429, 3)
    assert refused.value.retry_after is not None
    assert 0 < refused.value.retry_after <= 86_400
    assert refused.value.next_step
    assert ben.submit(made.mapping(2)).replayed


def test_a_wrong_file_is_free_and_named(server: RealServer, ana: OracleClient) -> None:
    wrong = dict(list(server.contests["heart"].mapping(1).items())[1:])
    with pytest.raises(OracleError, match="p0000") as refused:
        ana.submit(wrong)
    assert (refused.value.status, refused.value.kind) == (422, BAD_FILE)
    assert ana.limits().total_left == 1000
    assert ana.submissions() == ()


def test_a_key_belongs_to_one_file(server: RealServer, ana: OracleClient) -> None:
    made = server.contests["heart"]
    first = ana.submit(made.mapping(7), idempotency_key="monday")
    assert ana.submit(made.mapping(7), idempotency_key="monday").id == first.id
    with pytest.raises(OracleError) as refused:
        ana.submit(made.mapping(8), idempotency_key="monday")
    assert refused.value.kind == KEY_REUSED
    with pytest.raises(ParameterError, match="visible ASCII"):
        ana.submit(made.mapping(8), idempotency_key="two words")


def test_own_submissions_are_listed_over_several_pages(server: RealServer, ana: OracleClient) -> None:
    made = server.contests["desk"]
    many = server.client("desk", "many")
    sent = [many.submit(made.mapping(seed)).id for seed in range(4)]
    assert [one.id for one in many.submissions()] == sent[::-1]
    page, after = many._get(None, "/submissions?limit=3"), many._get(None, f"/submissions?before={sent[1]}")
    assert [one["id"] for one in page["submissions"]] == sent[:0:-1]
    assert page["next"] == sent[1]
    assert [one["id"] for one in after["submissions"]] == sent[:1]
    assert ana.submissions() == ()


def test_tokens_of_others_open_nothing(server: RealServer) -> None:
    made = server.contests["heart"]
    with pytest.raises(TokenError):
        OracleClient(server.url, "cfd_" + "x" * 43, contest="heart").submit(made.mapping(1))
    with pytest.raises(TokenError):
        OracleClient(server.url, contest="heart").limits()
    few = OracleClient(server.url, server.token("few", "cleo"), contest="heart")
    with pytest.raises(OracleError) as refused:
        few.limits()
    assert refused.value.status == 404
    with pytest.raises(TokenError):
        server.client("heart", "dan").status()


def test_an_organiser_runs_the_contest(server: RealServer) -> None:
    made, host = server.contests["desk"], server.client("desk", "host", "organiser")
    assert host.set_state("paused").state == "paused"
    issued = host.new_token("eve")
    assert issued.token not in repr(issued)
    eve = OracleClient(server.url, issued.token, contest="desk")
    with pytest.raises(OracleError) as refused:
        eve.submit(made.mapping(1))
    assert refused.value.status == 409
    assert host.set_state("open").state == "open"
    eve.submit(made.mapping(1))
    status = host.status()
    assert status.state == "open"
    assert {one.name: one.submissions for one in status.members}["eve"] == 1
    assert status.to_dict()["name"] == "desk"
    listed = {one.id: one for one in host.tokens()}
    assert (listed[issued.id].participant, listed[issued.id].role) == ("eve", "participant")
    assert issued.token not in str([one.to_dict() for one in listed.values()])
    host.revoke(issued.id)
    assert {one.id: one for one in host.tokens()}[issued.id].revoked_at is not None
    with pytest.raises(TokenError):
        eve.limits()
    with pytest.raises(ParameterError, match="open, paused or closed"):
        host.set_state("draft")


def test_a_contest_ends_in_its_final(server: RealServer, tmp_path: Path) -> None:
    made, host = server.contests["ended"], server.client("ended", "host", "organiser")
    fay, gus = server.client("ended", "fay"), server.client("ended", "gus")
    first = [fay.submit(made.mapping(seed, quality=2)) for seed in (1, 2)]
    best = gus.submit(made.mapping(3, quality=3))
    assert not fay.finalists().chosen
    assert fay.choose_finalists([first[0].id]) == fay.finalists()
    assert (fay.finalists().submissions, fay.finalists().chosen) == ((first[0].id,), True)
    with pytest.raises(ParameterError):
        fay.choose_finalists("one")
    with pytest.raises(OracleError):
        host.finalists_archive(tmp_path / "early.zip")
    host.set_state("closed")
    archive = host.finalists_archive(tmp_path / "finalists.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["finalists.zip"]
    entries = Finalists.from_bytes(archive.read_bytes()).by_name()
    assert {name: one.submission for name, one in entries.items()} == {"fay": first[0].id, "gus": best.id}
    kept = np.setdiff1d(np.arange(120), made.bundle.public)
    finalists = {name: one.scores[kept] for name, one in entries.items()}
    (result,) = prepare_final(made.bundle.terms, made.labels[kept], finalists, part=None).draw()
    assert host.publish_final(result).state == "published"
    final = OracleClient(server.url).final("ended")
    assert {one["name"] for one in final["entries"]} == {"fay", "gus"}
    assert {one["name"]: one["board_rank"] for one in final["shake_up"]}["gus"] == 1
    assert host.publish_final(result).state == "published"  # the very same result once more
    other = result.to_dict()
    other["entries"][0]["value"] = 0.512345
    with pytest.raises(OracleError):
        host.publish_final(other)
    assert OracleClient(server.url).final("ended") == final


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells what a process has in memory")
def test_the_server_compiles_nothing(server: RealServer, ana: OracleClient) -> None:
    """The unit in deploy/ forbids memory that is both written and run."""
    ana.submit(server.contests["heart"].mapping(9))
    maps = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    assert "libpython" in maps or "python" in maps  # the check itself works
    assert "llvmlite" not in maps
    assert not [line for line in maps.splitlines() if line.split()[1].startswith("rwx")]
