"""Attack: passwords of databases are looked for in everything that a command prints or writes."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import confide as library
from tests.cli.commands import Answer, confide
from tests.cli.test_transcripts import HEAD, made_rows
from tests.databases import Database, on_server
from tests.servers import running_server

RIGHT, WRONG = "correct-horse-battery", "tr0ub4dor-and-3"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A server that asks ana for a password."""
    with running_server() as server:
        found = on_server(server.get_uri())
        columns = zip(*made_rows(), strict=True)
        found.fill("people", {name: list(values) for name, values in zip(HEAD.split(","), columns, strict=True)})
        found.run(f"CREATE ROLE ana LOGIN PASSWORD '{RIGHT}'")
        found.run("GRANT SELECT ON people TO ana")
        rules = Path(str(server.pgdata)) / "pg_hba.conf"
        rules.write_text("local all ana scram-sha-256\n" + rules.read_text())
        found.run("SELECT pg_reload_conf()")
        yield found


@pytest.fixture
def home(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unpadded_ledgers: None) -> Path:
    for name in ("PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGUSER", "CONFIDE_LEDGER_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "own.sqlite"))
    monkeypatch.setenv("PGHOST", database.place)
    return tmp_path


URL = "postgresql://ana@/postgres/people"
COLUMNS = ("-l", "died", "-s", "risk")
EVALUATE = ("evaluate", "--table", URL, *COLUMNS, "--replicates", "0", "--report", "out.html", "--json")
RELEASE = ("release", "--table", URL, "--data-name", "people, version 1", *COLUMNS, "-e", "1/10", "-m", "recall")


def reveals(folder: Path, *answers: Answer) -> list[str]:
    """Return where a password can be found: in output, or in the bytes of any file but the one made to hold it."""
    found = [f"answer {number}" for number, answer in enumerate(answers) if _holds((answer.out + answer.err).encode())]
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in (".pgpass", "pass"))
    return found + [path.name for path in files if _holds(path.read_bytes())]


def _holds(content: bytes) -> bool:
    return any(secret.encode() in content for secret in (RIGHT, WRONG))


def test_the_search_finds_a_password(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"tried {WRONG}")
    assert reveals(tmp_path, Answer(0, "", f"password={RIGHT}")) == ["answer 0", "log"]


@pytest.mark.few(1)
@pytest.mark.parametrize("details", ["", "1"])
def test_a_password_in_the_environment_shows_nowhere(home: Path, monkeypatch: pytest.MonkeyPatch, details: str) -> None:
    monkeypatch.setenv("CONFIDE_SHOW_ERRORS", details)
    monkeypatch.setenv("PGPASSWORD", RIGHT)
    opened = confide("ledger", "new", "trial", "-e", "3", "--data-name", "people, version 1", folder=home)
    done = [
        confide(*EVALUATE, folder=home),
        confide(*RELEASE, "--report", "release.html", "--out", "release.json", folder=home),
        confide(*RELEASE, "--json", folder=home),
        confide("ledger", "history", "trial", "--json", "--csv", "audit.csv", folder=home),
    ]
    assert [answer.code for answer in (opened, *done)] == [0] * 5
    wrong_column = confide(*EVALUATE[:3], "-l", "died", "-s", "nothing", folder=home)
    monkeypatch.setenv("PGPASSWORD", WRONG)
    refused = [confide(*EVALUATE, folder=home), confide(*RELEASE, folder=home)]
    monkeypatch.delenv("PGPASSWORD")
    refused.append(confide(*EVALUATE, folder=home))
    assert wrong_column.code == 2
    assert [answer.code for answer in refused] == [1, 1, 1]
    assert all("PGPASSWORD" in answer.err for answer in refused)
    assert reveals(home, opened, *done, wrong_column, *refused) == []


@pytest.mark.long
def test_the_name_of_a_user_is_neither_printed_nor_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports, JSON and ledgers name the table, not the login that read it."""
    monkeypatch.setenv("PGPASSWORD", RIGHT)
    opened = confide("ledger", "new", "trial", "-e", "3", "--data-name", "people, version 1", folder=home)
    done = [
        confide(*EVALUATE, folder=home),
        confide(*EVALUATE[:-1], "--tables", "paper", "--figures", "paper", folder=home),
        confide(*RELEASE, "--report", "release.html", "--out", "release.json", folder=home),
        confide(*RELEASE, "--json", folder=home),
        confide("ledger", "history", "trial", "--json", "--csv", "audit.csv", folder=home),
        confide("evaluate", "--table", URL.replace("people", "persons"), *COLUMNS, folder=home),
    ]
    assert [answer.code for answer in (opened, *done)] == [0] * 6 + [2]
    assert "postgresql:///postgres/people" in done[0].out
    assert "postgresql:///postgres/people" in (home / "out.html").read_text()
    name = re.compile(rb"\bana\b")
    assert not any(name.search((answer.out + answer.err).encode()) for answer in done)
    written = [path for path in home.rglob("*") if path.is_file() and name.search(path.read_bytes())]
    assert written == []


def test_a_password_file_is_read_by_the_driver_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = home / "pass"
    place.write_text(f"*:*:*:ana:{RIGHT}\n")
    place.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(place))
    answer = confide(*EVALUATE, folder=home)
    assert answer.code == 0, answer.err
    place.write_text(f"*:*:*:ana:{WRONG}\n")
    refused = confide(*EVALUATE, folder=home)
    assert refused.code == 1
    assert reveals(home, answer, refused) == []


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ana:{RIGHT}@/postgres/people",
        f"postgresql://ana@/postgres/people?password={RIGHT}",
        f"postgresql://ana:{RIGHT}@db.example:1/postgres/people",
        f"postgresql://ana:{RIGHT}/x@db.example/postgres/people",
        f"postgresql:///postgres/people?user=ana&pass={RIGHT}",
    ],
)
def test_a_password_in_the_url_is_refused_and_not_repeated(home: Path, url: str) -> None:
    answers = [
        confide("evaluate", "--table", url, *COLUMNS, "--report", "out.html", folder=home),
        confide("release", "--table", url, "--data-name", "x", *COLUMNS, "-e", "1", folder=home),
    ]
    assert [answer.code for answer in answers] == [2, 2]
    assert reveals(home, *answers) == []
    try:
        library.evaluate(url, label="died", score="risk")
    except library.errors.ConfideError as error:
        shown = "".join(traceback.format_exception(error))
    assert RIGHT not in shown.replace(url, "")


@pytest.mark.parametrize("password", [RIGHT, WRONG])
def test_tracebacks_with_local_variables_hold_no_password(
    home: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    """Error trackers store the local variables of every frame."""
    monkeypatch.setenv("PGPASSWORD", password)
    with pytest.raises(library.errors.ConfideError) as caught:
        library.evaluate(URL, label="died", score="nothing" if password == RIGHT else "risk")
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    package = str(Path(library.__file__).parent)  # a clone's own folder may be called confide, too
    ours = [frame for frame in shown.stack if frame.filename.startswith(package)]
    assert ours
    assert not any(_holds(repr(frame.locals).encode()) for frame in ours)
    assert caught.value.__context__ is None
    assert not _holds(repr(sys.argv).encode())


@pytest.mark.parametrize(
    "url",
    [f"postgresql://ana:{WRONG}@db/heart/people", f"https://db/people.csv?token={WRONG}", f"s3://{WRONG}@db/rows.csv"],
)
def test_a_url_in_place_of_a_file_is_not_repeated(home: Path, url: str) -> None:
    (home / "rows.csv").write_text("died,risk,old\n1,0.5,1\n0,0.1,0\n")
    answers = [
        confide("ledger", "new", "trial", "-e", "1", "--data", url, folder=home),
        confide("select", url, "--label", "died", "-e", "1", "--features", "old", "-k", "1", folder=home),
        confide("train", url, "--label", "died", "-e", "1", "--features", "old", folder=home),
        confide("evaluate", "--table", "duckdb:///heart.db", "--query", url, *COLUMNS, folder=home),
        confide("evaluate", url, *COLUMNS, folder=home),
        confide("release", "rows.csv", *COLUMNS, "-e", "1", "-m", "roc", "--grid", f"public:{url}:risk:4", folder=home),
    ]
    assert all(answer.code in (1, 2) for answer in answers), [answer.code for answer in answers]
    assert reveals(home, *answers) == []
    assert "--data-name" in answers[0].err
