"""Commands that ask a server: from the first token to the finalists, against a real server."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from confide.contest.bundles import Finalists
from tests.cli.commands import Answer, confide
from tests.contest.client.real_server import MadeContest, RealServer, made_contest, real_server

pytestmark = pytest.mark.processes

TOKEN = re.compile(r"cfd_[A-Za-z0-9_-]{43}")
NOWHERE = "https://oracle.example"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    contests = (
        made_contest("heart", final_epsilon=Fraction(1), daily_limit=4),
        made_contest("few", daily_limit=1, total_limit=1, seed=2),
    )
    with real_server(tmp_path_factory.mktemp("server"), *contests, opened=False) as running:
        yield running


@pytest.fixture
def acting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Return a function that changes whose token the environment has."""

    def act(token: str | None) -> None:
        if token is None:
            monkeypatch.delenv("CONFIDE_TOKEN", raising=False)
        else:
            monkeypatch.setenv("CONFIDE_TOKEN", token)

    act(None)
    return act


def write_scores(file: Path, made: MadeContest, seed: int = 1, *, skip: int = 0) -> Path:
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("id", "score"), *list(made.mapping(seed, 2.0).items())[skip:]])
    return file


def done(answer: Answer) -> Answer:
    assert answer.code == 0, answer.err
    return answer


@pytest.mark.long
def test_a_contest_from_the_first_token_to_the_finalists(
    server: RealServer, acting: Callable[[str | None], None], tmp_path: Path
) -> None:
    made, to = server.contests["heart"], ("--to", server.url)
    first = done(confide("contest", "token", "heart", "--home", server.home, "--participant", "host", "--organiser"))
    host = first.out.strip()
    assert TOKEN.fullmatch(host)
    assert host not in first.err
    acting(host)
    assert "heart is open" in done(confide("contest", "open", "heart", *to)).err
    issued = json.loads(done(confide("contest", "token", "heart", *to, "--participant", "Ana & Co", "--json")).out)
    assert (issued["participant"], issued["role"]) == ("Ana & Co", "participant")
    scores = write_scores(tmp_path / "scores.csv", made)

    acting(issued["token"])
    shown = done(confide("submit", scores, "--to", f"{server.url}/contests/heart"))
    assert shown.out.startswith("AUC 0.")
    assert "on the board, your entry has rank 1 of 1" in shown.out
    assert "submissions left: 3 of 4 until" in shown.out
    again = json.loads(done(confide("submit", scores, *to, "--contest", "heart", "--json")).out)
    assert again["replayed"] is True
    assert (again["rank"], again["entries"], again["limits"]["daily_left"]) == (1, 1, 3)
    assert "had these scores already" not in shown.out
    assert "nothing was counted again" in done(confide("submit", scores, *to, "--contest", "heart")).out
    none = done(confide("contest", "finalists", "heart", *to))
    assert none.out == f"{again['id']}\n"
    assert "you chose none" in none.err
    chosen = done(confide("contest", "finalists", "heart", *to, "--choose", again["id"]))
    assert (chosen.out, chosen.err) == (none.out, "")

    acting(host)
    status = done(confide("contest", "status", "heart", *to))
    assert "heart is open" in status.out
    assert "Ana & Co" in status.out
    assert json.loads(done(confide("contest", "status", "heart", *to, "--json")).out)["submissions"] == 1
    assert "heart is paused" in done(confide("contest", "pause", "heart", *to)).err
    archive = tmp_path / "finalists.zip"
    early = confide("contest", "finalists", "heart", *to, "-o", archive)
    assert (early.code, early.out, archive.exists()) == (1, "", False)
    closed = done(confide("contest", "close", "heart", *to))
    assert f"confide contest finalists heart --to {server.url} -o finalists.zip" in closed.err
    done(confide("contest", "finalists", "heart", *to, "-o", archive))
    (entry,) = Finalists.from_bytes(archive.read_bytes()).entries
    assert (entry.participant, entry.submission) == ("Ana & Co", again["id"])
    reopened = confide("contest", "open", "heart", *to)
    assert (reopened.code, reopened.out) == (1, "")


def test_tokens_are_listed_and_revoked_here_and_there(server: RealServer, acting: Callable[[str | None], None]) -> None:
    here, there = ("--home", server.home), ("--to", server.url)
    acting(done(confide("contest", "token", "few", *here, "--participant", "host", "--organiser")).out.strip())
    for place, name in ((here, "bob"), (there, "cat")):
        secret = done(confide("contest", "token", "few", *place, "--participant", name)).out.strip()
        listed = json.loads(done(confide("contest", "token", "few", *place, "--list", "--json")).out)["tokens"]
        found = [one for one in listed if one["participant"] == name]
        assert [one["revoked_at"] for one in found] == [None]
        done(confide("contest", "token", "few", *place, "--revoke", found[0]["id"]))
        table = done(confide("contest", "token", "few", *place, "--list"))
        assert found[0]["id"] in table.out
        assert secret not in table.out + json.dumps(listed)
        again = json.loads(done(confide("contest", "token", "few", *there, "--list", "--json")).out)["tokens"]
        assert next(one for one in again if one["participant"] == name)["revoked_at"] is not None
    assert confide("contest", "token", "few", *here, "--revoke", "0" * 26).code == 2
    assert confide("contest", "token", "none", *here, "--participant", "a").code == 2


def test_a_spent_limit_has_exit_code_three(
    server: RealServer, acting: Callable[[str | None], None], tmp_path: Path
) -> None:
    made = server.contests["few"]
    server.client("few", "host", "organiser").set_state("open")
    acting(server.token("few", "dot"))
    done(confide("submit", write_scores(tmp_path / "a.csv", made, 1), "--to", f"{server.url}/contests/few"))
    refused = confide("submit", write_scores(tmp_path / "b.csv", made, 2), "--to", f"{server.url}/contests/few")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.count("\n") == 1


def test_a_file_is_checked_before_it_is_sent(
    server: RealServer, acting: Callable[[str | None], None], tmp_path: Path
) -> None:
    made, to = server.contests["heart"], f"{server.url}/contests/heart"
    acting(server.token("heart", "eli"))
    short = write_scores(tmp_path / "short.csv", made, skip=2)
    here, there = confide("submit", short, "--to", to), confide("submit", short, "--to", to, "--no-check")
    assert here.code == there.code == 1
    assert "p0000" in here.err
    assert here.out == there.out == ""


def test_a_token_is_needed_and_is_no_option(acting: Callable[[str | None], None], tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("id,score\na,0.5\n", encoding="utf-8")
    missing = confide("submit", file, "--to", f"{NOWHERE}/contests/heart")
    assert missing.code == 1
    assert "CONFIDE_TOKEN" in missing.err
    assert confide("submit", file, "--to", f"{NOWHERE}/contests/heart", "--token", "x").code == 2
    acting("cfd_wrong")
    wrong = confide("submit", file, "--to", f"{NOWHERE}/contests/heart")
    assert wrong.code == 2
    assert "cfd_wrong" not in wrong.err


@pytest.mark.parametrize(
    "typed",
    [
        "submit scores.csv --to http://oracle.example/contests/heart",
        "submit scores.csv --to oracle.example",
        "submit - --to https://oracle.example/contests/heart",
        "contest open Heart --to https://oracle.example",
        "contest open lung --to https://oracle.example/contests/heart",
        "contest token heart",
        "contest token heart --participant a",
        "contest token heart --participant a --home . --to https://oracle.example",
        "contest token heart --participant a --list --home .",
        "contest finalists heart --to https://oracle.example --choose 1 -o a.zip",
    ],
)
def test_wrong_usage(typed: str, acting: Callable[[str | None], None]) -> None:
    acting("cfd_" + "a" * 43)
    answer = confide(*typed.split())
    assert (answer.code, answer.out) == (2, ""), answer.err


@pytest.mark.long
def test_a_home_is_copied_and_put_back(server: RealServer, tmp_path: Path) -> None:
    copy, put_back = tmp_path / "copy", tmp_path / "put-back"
    assert "all are whole" in done(confide("contest", "backup", copy, "--home", server.home)).err
    restored = done(confide("contest", "restore", copy, "--home", put_back))
    assert f"confide serve --home {put_back}" in restored.err
    assert "all are whole" in done(confide("serve", "--home", put_back, "--verify")).out
    assert confide("contest", "backup", copy, "--home", server.home).code == 2
