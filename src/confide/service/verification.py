"""Check of all records: every seal, and every record against what was sealed of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from confide.service import chain
from confide.service.home import Home
from confide.service.submissions import all_submissions, chain_entry
from confide.service.tables import CONTESTS, FINALISTS, FINALS, MEMBERS, TOKENS

Sealed = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Result of a check of all records."""

    contests: int
    entries: int
    submissions: int
    faults: tuple[chain.Fault, ...] = field(default=())

    def summary(self) -> str:
        """Return one line."""
        return f"{self.contests} contests, {self.submissions} submissions, {self.entries} sealed entries: all are whole"


def check_records(connection: Connection, place: Home) -> Verification:
    """Check every contest of a home folder."""
    key, names = place.key(), connection.execute(select(CONTESTS.c.name).order_by(CONTESTS.c.name)).scalars().all()
    entries = submissions = 0
    faults: list[chain.Fault] = []
    for contest in names:
        sealed, broken = chain.checked_entries(connection, key, contest)
        faults += broken or _faults(sealed, connection, place, contest)
        entries += len(sealed)
        submissions += sum(entry["kind"] == "submission" for entry in sealed)
    return Verification(contests=len(names), entries=entries, submissions=submissions, faults=tuple(faults))


def _faults(sealed: Sealed, connection: Connection, place: Home, contest: str) -> Iterator[chain.Fault]:
    """Yield each record that is not as its sealed entry says."""
    last = len(sealed)
    checks = (
        (_same_state(sealed, connection, contest), "does not fit the state of the contest"),
        (_same_tokens(sealed, connection, contest), "does not fit the members and tokens"),
        (_same_finalists(sealed, connection, contest), "does not fit the finalists"),
        (_same_final(sealed, connection, contest), "does not fit the published final"),
    )
    yield from (chain.Fault(contest=contest, sequence=last, problem=problem) for whole, problem in checks if not whole)
    yield from _of_submissions(sealed, connection, place, contest)


def _of_submissions(sealed: Sealed, connection: Connection, place: Home, contest: str) -> Iterator[chain.Fault]:
    expected = {
        entry["id"]: (number, entry) for number, entry in enumerate(sealed, start=1) if entry["kind"] == "submission"
    }
    for submission in all_submissions(connection, contest):
        number, entry = expected.pop(submission.id, (0, None))
        if entry != chain_entry(submission):
            yield chain.Fault(contest=contest, sequence=number, problem="does not fit its submission")
        elif not _is_whole(place.scores(contest, submission.digest), submission.digest):
            yield chain.Fault(contest=contest, sequence=number, problem="has lost its score file")
    for number, _entry in expected.values():
        yield chain.Fault(contest=contest, sequence=number, problem="has lost its submission")


def _same_state(sealed: Sealed, connection: Connection, contest: str) -> bool:
    row = connection.execute(select(CONTESTS).where(CONTESTS.c.name == contest)).one()
    states = ["draft", *(str(entry["state"]) for entry in sealed if entry["kind"] == "state")]
    return bool(row.state == states[-1] and row.bundle == sealed[0]["bundle"])


def _same_tokens(sealed: Sealed, connection: Connection, contest: str) -> bool:
    """Return whether members and tokens are those that were sealed, with their roles, and revoked where that was."""
    made = {
        entry["id"]: (entry["participant"], entry["role"], entry["secret"])
        for entry in sealed
        if entry["kind"] == "token"
    }
    revoked = {entry["token"] for entry in sealed if entry["kind"] == "revocation"}
    rows = connection.execute(
        select(TOKENS.c.id, MEMBERS.c.name, TOKENS.c.role, TOKENS.c.digest, TOKENS.c.revoked_at)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
    ).all()
    members = set(connection.execute(select(MEMBERS.c.name).where(MEMBERS.c.contest == contest)).scalars())
    return (
        {row[0]: (row[1], row[2], row[3]) for row in rows} == made
        and {row[0] for row in rows if row[4] is not None} == revoked
        and members == {participant for participant, _, _ in made.values()}
    )


def _same_finalists(sealed: Sealed, connection: Connection, contest: str) -> bool:
    chosen = {entry["participant"]: set(entry["submissions"]) for entry in sealed if entry["kind"] == "finalists"}
    rows = connection.execute(
        select(MEMBERS.c.name, FINALISTS.c.submission)
        .join(MEMBERS, FINALISTS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
    ).all()
    return {(name, one) for name, several in chosen.items() for one in several} == {(row[0], row[1]) for row in rows}


def _same_final(sealed: Sealed, connection: Connection, contest: str) -> bool:
    row = connection.execute(select(FINALS).where(FINALS.c.contest == contest)).first()
    digests = [entry["result"] for entry in sealed if entry["kind"] == "final"]
    return ([] if row is None else [sha256(row.result.encode()).hexdigest()]) == digests


def _is_whole(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False
