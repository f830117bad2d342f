"""The audit chain shows every change; backups are whole; homes and databases that do not fit are refused."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from confide.contest.server import administration
from confide.contest.server.database import Database
from confide.contest.server.home import Settings
from confide.contest.server.run import create_app
from confide.errors import HomeError, ParameterError
from tests.contest.server.running import Running, launch, served, small_contest

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a server that has stopped, with three submissions."""
    contest = small_contest("heart")
    folder = tmp_path_factory.mktemp("recorded")
    with served(folder / "server", contest) as running:
        running.set_state("heart", "open")
        token = running.token("heart")
        for seed in range(3):
            assert running.submit("heart", token, contest.csv(seed)).status_code == 201
    return folder / "server" / "home"


@pytest.fixture
def home(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "home"))


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "oracle.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


@pytest.mark.long
def test_untouched_records_are_whole(home: Path) -> None:
    found = administration.verify(home)
    assert (found.contests, found.submissions, found.faults) == (1, 3, ())
    shown = subprocess.run(
        [sys.executable, "-m", "confide", "serve", "--home", str(home), "--verify"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "3 submissions" in shown.stdout


FIRST = "(SELECT min(id) FROM oracle_submissions)"


def changed(column: str) -> str:
    return f"UPDATE oracle_submissions SET {column} WHERE id = {FIRST}"  # noqa: S608  # our own words


FORGED = "UPDATE oracle_submissions SET value = 0.99 WHERE id = " + FIRST  # noqa: S608
MOVED = "UPDATE oracle_submissions SET digest = 'abc' WHERE id = " + FIRST  # noqa: S608
REMOVED = "DELETE FROM oracle_submissions WHERE id = " + FIRST  # noqa: S608


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "statements",
    [
        (FORGED,),
        (MOVED,),
        (REMOVED,),
        ("UPDATE oracle_members SET name = 'somebody else' WHERE id = (SELECT max(id) FROM oracle_members)",),
        ("UPDATE oracle_contests SET state = 'closed'",),
        ("UPDATE oracle_entries SET text = replace(text, 'submission', 'other') WHERE number = 5",),
        ("INSERT INTO oracle_finals VALUES ('heart', 'now', '{}', '{}')",),
        (changed("goodness = 99"),),
        (changed("standard_error = 0"),),
        (changed("day = '1999-01-01'"),),
        (changed("detail = replace(detail, '0.95', '0.99')"),),
        ("UPDATE oracle_tokens SET role = 'organiser'",),
        ("UPDATE oracle_tokens SET digest = 'known' WHERE id = (SELECT min(id) FROM oracle_tokens)",),
        ("UPDATE oracle_tokens SET revoked_at = 'now' WHERE id = (SELECT min(id) FROM oracle_tokens)",),
        ("INSERT INTO oracle_members VALUES (99, 'heart', 'nobody', 'now')",),
        ("INSERT INTO oracle_finalists SELECT member, id FROM oracle_submissions",),
    ],
)
def test_every_change_behind_its_back_shows(home: Path, statements: tuple[str, ...]) -> None:
    change(home, *statements)
    with pytest.raises(HomeError, match=r"Restore|restore"):
        administration.verify(home)


def test_changed_score_files_and_keys_show(home: Path) -> None:
    file = next((home / "scores" / "heart").iterdir())
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"\0")
    with pytest.raises(HomeError, match="score file"):
        administration.verify(home)
    file.write_bytes(content)
    administration.verify(home)
    (home / "oracle.key").write_text("0" * 64)
    with pytest.raises(HomeError, match="does not belong"):
        administration.verify(home)
    (home / "oracle.key").chmod(0o644)
    with pytest.raises(HomeError, match="chmod 600"):
        administration.verify(home)


@pytest.mark.long
def test_a_backup_of_a_running_server_is_whole_and_can_be_served(tmp_path: Path) -> None:
    contest = small_contest("heart")
    with served(tmp_path / "server", contest) as running:
        running.set_state("heart", "open")
        token = running.token("heart")
        first = running.submit("heart", token, contest.csv(1)).json()
        copy = administration.backup(running.home, tmp_path / "copy")
        assert copy.submissions == 1
        assert running.submit("heart", token, contest.csv(2)).status_code == 201
        board = running.call("GET", "/v1/contests/heart/leaderboard").json()["entries"]
        with pytest.raises(ParameterError, match="not empty"):
            administration.backup(running.home, tmp_path / "copy")
    (tmp_path / "again").mkdir()
    assert administration.restore(tmp_path / "copy", tmp_path / "again" / "home").submissions == 1
    with served(tmp_path / "again") as running:
        (found,) = running.call("GET", "/v1/contests/heart/submissions", token).json()["submissions"]
        assert found["id"] == first["id"]
        restored = running.call("GET", "/v1/contests/heart/leaderboard").json()["entries"]
        assert len(restored) == len(board) == 1
        assert restored[0]["submission"] == first["id"]
        assert running.submit("heart", token, contest.csv(1)).status_code == 200
        assert running.submit("heart", token, contest.csv(2)).status_code == 201
    change(tmp_path / "copy", "UPDATE oracle_submissions SET value = 1")
    with pytest.raises(HomeError):
        administration.restore(tmp_path / "copy", tmp_path / "third")
    assert not (tmp_path / "third").exists()


@pytest.mark.long
def test_one_home_has_one_server_and_one_bundle_a_name(home: Path, tmp_path: Path) -> None:
    running = launch(tmp_path)
    try:
        second = subprocess.run(
            [sys.executable, "-m", "confide", "serve", "--home", str(home), "--port=0"], capture_output=True, text=True
        )
        assert (second.returncode, "another server runs" in second.stderr) == (1, True)
    finally:
        running.stop()
    other = tmp_path / "other.zip"
    other.write_bytes(small_contest("heart", seed=3).bundle.to_bytes())
    with pytest.raises(HomeError, match="cannot change"):
        create_app(Settings(home=home, bundles=(other,)))
    same = tmp_path / "same.zip"
    same.write_bytes(small_contest("heart").bundle.to_bytes())
    create_app(Settings(home=home, bundles=(same,))).state.oracle.close()


def test_homes_that_lack_something_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no contest"):
        create_app(Settings(home=tmp_path / "new"))
    with pytest.raises(HomeError, match="not the home"):
        administration.new_token(tmp_path / "nowhere", "heart", "x")
    with pytest.raises(ParameterError, match="it has heart"):
        administration.new_token(home, "liver", "x")
    with pytest.raises(ParameterError, match="role"):
        administration.new_token(home, "heart", "x", "owner")
    database = home / "oracle.sqlite"
    database.rename(home / "moved")
    with pytest.raises(HomeError, match="does not know"):
        create_app(Settings(home=home))
    database.unlink()
    (home / "moved").rename(database)
    (home / "oracle.key").unlink()
    with pytest.raises(HomeError, match="key"):
        create_app(Settings(home=home))


@pytest.mark.parametrize("statement", ["DROP TABLE oracle_meta", "UPDATE oracle_meta SET value = '2'"])
def test_tables_of_an_older_version_are_refused_with_the_next_step(home: Path, statement: str) -> None:
    change(home, statement)
    for use in (administration.verify, lambda place: create_app(Settings(home=place))):
        with pytest.raises(HomeError, match="version of confide") as refused:
            use(home)
        assert "new --home" in str(refused.value) or "begin anew" in str(refused.value)


def test_other_databases_are_refused(tmp_path: Path) -> None:
    for url in ("mysql://x/y", "nonsense"):
        with pytest.raises(HomeError, match="postgresql"):
            Database.at(tmp_path, url)
    unreachable = Database.at(tmp_path, "postgresql+psycopg://user:secret@127.0.0.1:1/x")
    with pytest.raises(HomeError) as refused:
        unreachable.check()
    assert "secret" not in str(refused.value)


def test_a_token_made_beside_a_running_server_works_at_once(sqlite_oracle: Running) -> None:
    token = administration.new_token(sqlite_oracle.home, "heart", "newcomer")
    assert sqlite_oracle.call("GET", "/v1/contests/heart/limits", token).status_code == 200
