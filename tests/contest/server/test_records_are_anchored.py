"""Rights are checked again where something is written; forged, swapped, deleted and older records are noticed."""

# ruff: noqa: S608 - statements hold our own words

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from confide.contest import server as package
from confide.contest.final import prepare_final
from confide.contest.server import administration, chain, submissions
from confide.contest.server.boards import Scored
from confide.contest.server.clock import now, written
from confide.contest.server.contests import State, change_state
from confide.contest.server.database import SCHEMA, Database
from confide.contest.server.finals import final_entries, publish, read_result, set_choice
from confide.contest.server.home import Home, Settings
from confide.contest.server.oracle import Oracle
from confide.contest.server.problems import Kind, Refused
from confide.contest.server.records import Records
from confide.contest.server.submissions import Limits, Outcome
from confide.contest.server.tokens import DAYS, MOST_DAYS, Caller, Role, find_caller, issue, revoke
from confide.contest.terms import ContestTerms
from confide.counts import FloatArray
from confide.errors import HomeError, ParameterError, StoreUnavailableError
from confide.records import anchor
from confide.records.chain import End
from tests.contest.server.running import small_contest

CONTEST = small_contest("heart", rows=40)


@dataclass
class Server:
    """A server without HTTP: its records, and functions of its members."""

    oracle: Oracle

    @property
    def records(self) -> Records:
        return self.oracle.records

    def caller(self, name: str, role: Role = Role.PARTICIPANT) -> Caller:
        with self.records.administering("heart") as writer:
            secret, _ = issue(writer, name, role)
        return self.holder(secret)

    def holder(self, secret: str, at: datetime | None = None) -> Caller:
        with self.records.database.reading() as connection:
            found = find_caller(connection, self.records.histories, secret, at or now())
        assert found is not None
        return found

    def move(self, state: State) -> None:
        with self.records.administering("heart") as writer:
            change_state(writer, state)

    def revoke(self, caller: Caller) -> None:
        with self.records.administering("heart") as writer:
            assert revoke(writer, caller.token)

    def submit(self, caller: Caller, seed: int, key: str | None = None) -> Outcome:
        file = self.oracle.home.temporary / "sent.csv"
        file.write_bytes(CONTEST.csv(seed))
        return self.oracle.recorder.accept(self.oracle.contest("heart"), caller, file, "csv", key)

    def publish(self, organiser: Caller) -> None:
        contest, rows = self.oracle.contest("heart"), CONTEST.bundle.final_rows
        with self.records.database.reading() as connection:
            finalists = final_entries(connection, self.oracle.home, contest)
        entries = {name: one.scores[rows] for name, one in finalists.by_name().items()}
        (drawn,) = prepare_final(CONTEST.bundle.terms, CONTEST.labels[rows], entries, part=None).draw()
        with self.records.writing(organiser) as writer:
            publish(writer, contest, read_result(drawn.to_dict(), contest, finalists), finalists)


def start(home: Path, **settings: Any) -> Server:
    bundle = home.parent / "heart.zip"
    bundle.write_bytes(CONTEST.bundle.to_bytes())
    return Server(Oracle.start(Settings(home=home, bundles=(bundle,), workers=1, **settings)))


@pytest.fixture
def server(tmp_path: Path) -> Any:
    made = start(tmp_path / "home")
    made.move(State.OPEN)
    yield made
    made.oracle.close()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a server that has stopped: two participants and a published final."""
    home = tmp_path_factory.mktemp("finished") / "home"
    made = start(home)
    made.move(State.OPEN)
    organiser = made.caller("host", Role.ORGANISER)
    for seed, name in enumerate(("ada", "ben")):
        caller = made.caller(name)
        sent = made.submit(caller, seed, key=f"sent by {name}").submission
        with made.records.writing(caller) as writer:
            set_choice(writer, made.oracle.contest("heart"), caller, [sent.id])
    made.move(State.CLOSED)
    made.publish(organiser)
    made.oracle.close()
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "home"))


def change(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "oracle.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


def rows(home: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(home / "oracle.sqlite")) as database:
        return database.execute(query).fetchall()


# Rights, once more


def test_a_revoked_caller_writes_nothing(server: Server) -> None:
    organiser = server.caller("host", Role.ORGANISER)
    server.revoke(organiser)
    before = chain_length(server)
    with pytest.raises(Refused) as refused, server.records.writing(organiser) as writer:
        issue(writer, "accomplice", Role.ORGANISER)
    assert refused.value.kind == Kind.NO_TOKEN
    assert chain_length(server) == before
    assert not rows(server.oracle.home.folder, "SELECT 1 FROM oracle_members WHERE name = 'accomplice'")


def chain_length(server: Server) -> int:
    with server.records.database.reading() as connection:
        return chain.chains_on(connection, server.records.key).ends()["heart"].number


def test_a_caller_whose_session_or_role_is_gone_writes_nothing(server: Server) -> None:
    organiser = server.caller("host", Role.ORGANISER)
    gone = replace(organiser, session="0" * 64)
    other = replace(server.caller("ada"), role=Role.ORGANISER)
    for caller in (gone, other):
        with pytest.raises(Refused), server.records.writing(caller):
            pass


def during_scoring(server: Server, happens: Callable[[], None]) -> None:
    """Let something happen after a file was read and before it is recorded."""
    score = server.oracle.recorder.scorers["heart"]

    def scored(scores: FloatArray) -> Scored:
        happens()
        return score(scores)

    server.oracle.recorder.scorers["heart"] = scored  # type: ignore[index]  # a dict


@pytest.mark.few(1)
@pytest.mark.parametrize("event", ["revoked", "closed", "paused"])
def test_a_file_is_not_recorded_if_rights_or_state_change_while_it_is_scored(server: Server, event: str) -> None:
    caller = server.caller("ada")
    happens: dict[str, Callable[[], None]] = {
        "revoked": lambda: server.revoke(caller),
        "closed": lambda: server.move(State.CLOSED),
        "paused": lambda: server.move(State.PAUSED),
    }
    during_scoring(server, happens[event])
    with pytest.raises(Refused) as refused:
        server.submit(caller, 1)
    assert refused.value.kind == (Kind.NO_TOKEN if event == "revoked" else Kind.WRONG_STATE)
    assert rows(server.oracle.home.folder, "SELECT count(*) FROM oracle_submissions") == [(0,)]


def test_the_last_submission_is_not_used_twice_by_files_that_are_scored_at_once(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = server.caller("ada")
    whole = submissions.limits_of

    def limits_of(connection: Connection, terms: ContestTerms, member: int, at: datetime) -> Limits:
        return whole(connection, replace(terms, total_limit=1), member, at)

    monkeypatch.setattr(submissions, "limits_of", limits_of)
    score = server.oracle.recorder.scorers["heart"]
    happened: list[Outcome] = []

    def scored(scores: FloatArray) -> Scored:
        if not happened:
            happened.append(None)  # type: ignore[arg-type]  # the second file does not send a third
            happened[:] = [server.submit(caller, 2)]
        return score(scores)

    server.oracle.recorder.scorers["heart"] = scored  # type: ignore[index]  # a dict
    with pytest.raises(Refused) as refused:
        server.submit(caller, 1)
    assert (len(happened), refused.value.kind) == (1, Kind.LIMIT)
    assert rows(server.oracle.home.folder, "SELECT count(*) FROM oracle_submissions") == [(1,)]


def test_a_revoked_caller_costs_no_answer(server: Server) -> None:
    caller, asked = server.caller("ada"), []
    during_scoring(server, lambda: asked.append(True))
    server.revoke(caller)
    with pytest.raises(Refused):
        server.submit(caller, 1)
    assert not asked


def test_only_records_open_a_writing_transaction() -> None:
    folder = Path(package.__path__[0])
    users = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(r"database\.writing\(\)|\)\.writing\(\)", path.read_text())
    }
    assert users == {"records.py"}  # `Database.make_tables` runs before there is a caller
    makers = [path.name for path in folder.rglob("*.py") if re.search(r"\bWriter\(", path.read_text())]
    assert makers == ["records.py"]


# Who acted


def test_each_entry_names_the_token_that_acted(server: Server) -> None:
    organiser = server.caller("host", Role.ORGANISER)
    with server.records.writing(organiser) as writer:
        second, _ = issue(writer, "ada")
    first, posing = server.caller("ada"), server.holder(second)
    assert first.member == posing.member
    outcome = server.submit(posing, 1)
    assert outcome.submission.token == posing.token != first.token
    with server.records.database.reading() as connection:
        events = chain.list_events(connection, "heart", limit=4)
    assert (events[0].kind, events[0].by, events[0].by_token) == ("submission", "ada", posing.token)
    assert [(one.by, one.by_token) for one in events if one.about == f"{posing.token} of ada"] == [
        ("host", organiser.token)
    ]


# Ends of tokens


def test_tokens_end(server: Server) -> None:
    with server.records.administering("heart") as writer:
        usual, _ = issue(writer, "ada")
        short, record = issue(writer, "ada", until=writer.at.date())
        for day in (writer.at.date() - timedelta(days=1), writer.at.date() + timedelta(days=MOST_DAYS + 1)):
            with pytest.raises(ParameterError, match="until"):
                issue(writer, "ada", until=day)
        tomorrow = datetime.combine(writer.at.date() + timedelta(days=1), datetime.min.time(), UTC)
    assert record.expires_at == written(tomorrow)
    caller = server.holder(short, tomorrow - timedelta(seconds=1))
    with pytest.raises(Refused, match="ended at") as refused:
        server.holder(short, tomorrow)
    assert refused.value.kind == Kind.NO_TOKEN
    server.holder(usual, now() + timedelta(days=DAYS - 1))
    with pytest.raises(Refused, match="ended at"):
        server.holder(usual, now() + timedelta(days=DAYS))
    session = server.records.sessions.start(caller, tomorrow - timedelta(hours=1))
    with server.records.database.reading() as connection:
        found = [
            server.records.sessions.find(
                connection, server.records.histories, session, tomorrow + timedelta(seconds=one)
            )
            for one in (-1, 0)
        ]
    assert [one is not None for one in found] == [True, False], "a session ends with its token"


# What the check notices

LAST = "(SELECT max(number) FROM oracle_entries)"
NAMES = """UPDATE oracle_finals SET names = replace(replace(replace(names, '"ada", ', '"x", '), '"ben", ', '"ada", '),
    '"x", ', '"ben", ')"""
TABLES = ("keys", "finalists", "finals", "entries", "heads", "submissions", "tokens", "members", "contests")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE oracle_tokens SET expires_at = '9999' WHERE role = 'organiser'",),
        ("UPDATE oracle_tokens SET created_at = '2020'",),
        ("UPDATE oracle_tokens SET seal = ''",),
        ("UPDATE oracle_tokens SET seal = CAST(seal AS BLOB)",),
        ("UPDATE oracle_keys SET seal = CAST(seal AS BLOB)",),
        ("UPDATE oracle_heads SET seal = CAST(seal AS BLOB)",),
        ("UPDATE oracle_finals SET result = CAST(result AS BLOB)",),
        ("UPDATE oracle_submissions SET detail = 'nothing'",),
        ("UPDATE oracle_submissions SET detail = '[' || detail",),
        (f"UPDATE oracle_submissions SET detail = '{100_000 * '['}'",),
        ("UPDATE oracle_meta SET value = '2' WHERE name = 'version'",),
        ("UPDATE oracle_meta SET value = 'another' WHERE name = 'key check'",),
        ("UPDATE oracle_members SET created_at = '2020'",),
        ("UPDATE oracle_contests SET created_at = '2020'",),
        ("UPDATE oracle_submissions SET token = (SELECT min(id) FROM oracle_tokens)",),
        ("UPDATE oracle_finals SET published_at = '2020'",),
        (NAMES,),
        ("UPDATE oracle_finals SET result = replace(result, '\"rank\":1', '\"rank\":2')",),
        (f"INSERT INTO oracle_tokens VALUES ('Z', 999, 'organiser', '{64 * 'c'}', '2026', NULL, '9999', '')",),
        ("UPDATE oracle_tokens SET revoked_at = NULL, member = (SELECT min(id) FROM oracle_members)",),
        ("INSERT INTO oracle_members VALUES (99, 'ghost', 'eve', '2026')",),
        ("INSERT INTO oracle_finals VALUES ('ghost', '2026', '{}', '{}')",),
        ("INSERT INTO oracle_keys VALUES (99, 'key', 'nothing', '')",),
        ("INSERT INTO oracle_keys SELECT member, 'key', id, '' FROM oracle_submissions",),
        ("INSERT INTO oracle_finalists SELECT min(id), 'nothing' FROM oracle_members",),
        ("INSERT INTO oracle_finalists VALUES (99, 'nothing')",),
        ("INSERT INTO oracle_contests SELECT 'ghost', state, bundle, created_at FROM oracle_contests",),
        tuple(f"DELETE FROM oracle_{name}" for name in TABLES),
        (*(f"DELETE FROM oracle_{name}" for name in TABLES), "DELETE FROM oracle_meta"),
    ],
)
def test_the_check_notices(home: Path, statements: tuple[str, ...]) -> None:
    administration.verify(home)
    before = rows(home, "SELECT * FROM oracle_finals"), rows(home, "SELECT * FROM oracle_contests")
    change(home, *statements)
    if statements[0].startswith("UPDATE oracle_finals"):
        assert before != (rows(home, "SELECT * FROM oracle_finals"), rows(home, "SELECT * FROM oracle_contests"))
    with pytest.raises(HomeError, match=r"[Rr]estore"):
        administration.verify(home)


def test_a_change_of_any_column_is_noticed(home: Path) -> None:
    unnoticed, columns = [], [column for name in SCHEMA.tables.values() for column in name.columns]
    for column in columns:
        table, first = column.table.name, f"rowid = (SELECT min(rowid) FROM {column.table.name})"
        ((value,),) = rows(home, f"SELECT {column.name} FROM {table} WHERE {first}")
        other = 1000 if isinstance(value, int) else value + 1.0 if isinstance(value, float) else f"{value or ''}x"
        with closing(sqlite3.connect(home / "oracle.sqlite")) as database, database:
            database.execute("PRAGMA ignore_check_constraints = ON")
            database.execute(f"UPDATE {table} SET {column.name} = ? WHERE {first}", (other,))
        with contextlib.suppress(HomeError):
            administration.verify(home)
            unnoticed.append(str(column))
        with closing(sqlite3.connect(home / "oracle.sqlite")) as database, database:
            where = f"{column.name} = ?" if column.primary_key else first
            values = (value, other) if column.primary_key else (value,)
            database.execute(f"UPDATE {table} SET {column.name} = ? WHERE {where}", values)
    administration.verify(home)
    assert (len(columns) > 40, unnoticed) == (True, [])


def test_the_check_reads_the_bundle(home: Path) -> None:
    bundle = Home(home).bundle("heart")
    content = bundle.read_bytes()
    bundle.write_bytes(content + b"x")
    with pytest.raises(HomeError, match="bundle"):
        administration.verify(home)
    bundle.unlink()
    with pytest.raises(HomeError, match="bundle"):
        administration.verify(home)


def test_a_chain_whose_end_has_another_seal_is_refused_everywhere(home: Path) -> None:
    change(home, "UPDATE oracle_heads SET seal = last")
    with pytest.raises(HomeError, match="record as the last one"):
        administration.verify(home)
    with pytest.raises(HomeError, match="missing or changed"):
        start(home)
    with pytest.raises(HomeError, match="missing or changed"):
        administration.new_token(home, "heart", "ada")
    with closing_database(home) as database, database.reading() as connection:
        (fault,) = chain.checked_entries(chain.chains_on(connection, Home(home).key.require()), "heart")[1]
    assert "record as the last one" in fault.problem


class closing_database:  # noqa: N801  # used like contextlib.closing
    def __init__(self, home: Path) -> None:
        self.database = Database.at(Home(home).database)

    def __enter__(self) -> Database:
        return self.database

    def __exit__(self, *_: object) -> None:
        self.database.close()


# What a running server acts on


def table(server: Server, name: str) -> list[Any]:
    return rows(server.oracle.home.folder, f"SELECT * FROM oracle_{name}")


def put_rows_back(server: Server, name: str, kept: list[Any]) -> None:
    with closing(sqlite3.connect(server.oracle.home.database)) as database, database:
        database.execute(f"DELETE FROM oracle_{name}")
        database.executemany(f"INSERT INTO oracle_{name} VALUES ({', '.join('?' * len(kept[0]))})", kept)


@pytest.mark.parametrize("beside", [False, True])
def test_a_revoked_token_whose_row_is_put_back_opens_nothing(server: Server, beside: bool) -> None:
    with server.records.administering("heart") as writer:
        secret, record = issue(writer, "host", Role.ORGANISER)
    caller = server.holder(secret)
    session = server.records.sessions.start(caller, now())
    kept = table(server, "tokens")
    if beside:
        administration.revoke_token(server.oracle.home.folder, "heart", record.id)  # as another process would
    else:
        server.revoke(caller)
    put_rows_back(server, "tokens", kept)
    with server.records.database.reading() as connection:
        assert find_caller(connection, server.records.histories, secret, now()) is None
        assert server.records.sessions.find(connection, server.records.histories, session, now()) is None
    with pytest.raises(Refused), server.records.writing(caller):
        pass


def test_a_database_put_back_behind_another_process_opens_nothing(server: Server) -> None:
    with server.records.administering("heart") as writer:
        secret, record = issue(writer, "host", Role.ORGANISER)
    server.holder(secret)
    kept = {name: table(server, name) for name in ("contests", "tokens", "entries", "heads")}
    administration.revoke_token(server.oracle.home.folder, "heart", record.id)
    for name, values in kept.items():
        put_rows_back(server, name, values)
    with pytest.raises(HomeError, match="older copy"):
        server.holder(secret)
    assert not server.oracle.store.is_writable()


def test_a_session_that_was_signed_out_is_in_no_table(server: Server) -> None:
    caller, sessions = server.caller("ada"), server.records.sessions
    secret = sessions.start(caller, now())
    with server.records.database.reading() as connection:
        found = sessions.find(connection, server.records.histories, secret, now())
        assert found is not None
        sessions.end(secret)
        assert sessions.find(connection, server.records.histories, secret, now()) is None
    with pytest.raises(Refused), server.records.writing(found):
        pass


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE oracle_contests SET state = 'closed'",
        "DELETE FROM oracle_submissions",
        "UPDATE oracle_entries SET text = replace(text, 'ada', 'eve')",
    ],
)
def test_a_running_server_does_not_act_on_changed_rows(server: Server, statement: str) -> None:
    caller = server.caller("ada")
    server.submit(caller, 1)
    change(server.oracle.home.folder, statement)
    with pytest.raises(HomeError, match=r"sealed record|added or removed|missing or changed"):
        server.submit(caller, 2)


def test_tokens_of_members_that_were_exchanged_open_nothing(server: Server) -> None:
    """Everything that a token's entry says still holds; the submissions of one member would be the other's."""
    secrets = {}
    for name in ("ada", "ben"):
        with server.records.administering("heart") as writer:
            secrets[name], _ = issue(writer, name)
    change(
        server.oracle.home.folder,
        "UPDATE oracle_members SET name = 'nobody' WHERE name = 'ada'",
        "UPDATE oracle_members SET name = 'ada' WHERE name = 'ben'",
        "UPDATE oracle_members SET name = 'ben' WHERE name = 'nobody'",
        "UPDATE oracle_tokens SET member = (SELECT sum(id) FROM oracle_members) - member",
    )
    with server.records.database.reading() as connection:
        for secret in secrets.values():
            assert find_caller(connection, server.records.histories, secret, now()) is None


def test_an_entry_that_a_trigger_swallows_is_not_confirmed(server: Server) -> None:
    caller = server.caller("ada")
    change(
        server.oracle.home.folder,
        "CREATE TRIGGER one BEFORE INSERT ON oracle_entries BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER two BEFORE UPDATE ON oracle_contests BEGIN SELECT RAISE(IGNORE); END",
    )
    with pytest.raises(HomeError, match="does not keep what is written"):
        server.revoke(caller)


def test_an_idempotency_key_of_another_file_shows(server: Server) -> None:
    caller, file = server.caller("ada"), server.oracle.home.temporary / "sent.csv"
    for seed in (1, 2):
        file.write_bytes(CONTEST.csv(seed))
        server.oracle.recorder.accept(server.oracle.contest("heart"), caller, file, "csv", f"key {seed}")
    administration.verify(server.oracle.home.folder)
    change(server.oracle.home.folder, "UPDATE oracle_keys SET submission = (SELECT max(id) FROM oracle_submissions)")
    with pytest.raises(HomeError, match="idempotency key"):
        administration.verify(server.oracle.home.folder)
    file.write_bytes(CONTEST.csv(1))
    with pytest.raises(HomeError, match="idempotency key"):
        server.oracle.recorder.accept(server.oracle.contest("heart"), caller, file, "csv", "key 1")


# Anchor


def old_copy(server: Server) -> Path:
    copy = server.oracle.home.folder.parent / "old.sqlite"
    with closing(sqlite3.connect(server.oracle.home.database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def put_back(server: Server, copy: Path) -> Path:
    server.oracle.close()
    home = server.oracle.home
    for name in ("oracle.sqlite-wal", "oracle.sqlite-shm"):
        (home.folder / name).unlink(missing_ok=True)
    shutil.copy(copy, home.database)
    return home.folder


def test_a_database_that_was_put_back_alone_is_refused_until_that_is_accepted(server: Server) -> None:
    caller = server.caller("ada")
    copy = old_copy(server)
    server.submit(caller, 1)
    home = put_back(server, copy)
    for use in (administration.verify, start, lambda at: administration.new_token(at, "heart", "ada")):
        with pytest.raises(HomeError, match="older copy"):
            use(home)
    assert administration.accept_rollback(home).submissions == 0
    assert '"kind":"rollback"' in rows(home, f"SELECT text FROM oracle_entries WHERE number = {LAST}")[0][0]
    start(home).oracle.close()


def test_a_running_server_refuses_a_database_that_was_put_back(server: Server) -> None:
    caller = server.caller("ada")
    before = rows(server.oracle.home.folder, "SELECT number, last, seal FROM oracle_heads")[0]
    server.submit(caller, 1)
    change(
        server.oracle.home.folder,
        f"DELETE FROM oracle_entries WHERE number = {LAST}",
        "DELETE FROM oracle_submissions",
        "UPDATE oracle_heads SET number = {}, last = '{}', seal = '{}'".format(*before),
    )
    with pytest.raises(HomeError, match="older copy"):
        server.submit(caller, 2)


def test_a_crash_between_commit_and_anchor_is_mended(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, home = server.caller("ada"), server.oracle.home
    with monkeypatch.context() as patch:
        patch.setattr(anchor, "replacement", crash)
        with pytest.raises(StoreUnavailableError, match="not confirmed"):
            server.submit(caller, 1)
    lagging = home.anchor_file.read_text()
    assert server.submit(caller, 1).replayed, "the submission was committed"
    assert home.anchor_file.read_text() != lagging
    home.anchor_file.write_text(lagging)
    server.oracle.close()
    assert administration.verify(home.folder).submissions == 1
    start(home.folder).oracle.close()
    assert home.anchor_file.read_text() != lagging


def crash(*_: object, **__: object) -> None:
    raise OSError("crash")


def test_the_anchor_follows_other_processes_and_never_moves_back(server: Server) -> None:
    home = server.oracle.home
    administration.new_token(home.folder, "heart", "ada")  # as another process would
    newest = administration.new_token(home.folder, "heart", "ben")
    server.submit(server.holder(newest), 1)
    key = server.records.key
    ends = server.records.anchor.read(key)
    assert ends is not None
    with server.records.database.reading() as connection:
        assert ends == chain.chains_on(connection, key).ends()
    server.records.anchor.advance(key, {"heart": End(number=1, last="")})
    assert server.records.anchor.read(key) == ends


def test_a_database_of_another_home_is_refused_and_stays_as_it_was(home: Path, tmp_path: Path) -> None:
    for name, with_key in (("empty", False), ("other", True)):
        other = tmp_path / name
        other.mkdir(mode=0o700)
        if with_key:
            (other / "oracle.key").write_text("11" * 32)
            (other / "oracle.key").chmod(0o600)
        shutil.copy(home / "oracle.sqlite", other / "oracle.sqlite")
        before = rows(other, "SELECT * FROM oracle_entries")
        with pytest.raises(HomeError, match=r"belong|is missing"):
            start(other)
        assert rows(other, "SELECT * FROM oracle_entries") == before
        assert (other / "oracle.key").exists() == with_key


def test_a_postgresql_of_another_home_is_refused(tmp_path: Path, new_database: str) -> None:
    made = start(tmp_path / "home", database=new_database)
    made.move(State.OPEN)
    length = chain_length(made)
    with pytest.raises(HomeError, match="key"):
        start(tmp_path / "empty", database=new_database)
    assert not (tmp_path / "empty" / "oracle.key").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "oracle.key").write_text("11" * 32)
    (tmp_path / "other" / "oracle.key").chmod(0o600)
    with pytest.raises(HomeError, match="does not belong"):
        start(tmp_path / "other", database=new_database)
    assert chain_length(made) == length
    made.oracle.close()
    start(tmp_path / "home", database=new_database).oracle.close()
