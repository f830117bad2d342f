"""Tokens, members and sessions: 256 random bits, of which the server keeps the SHA-256.

The row of a token is sealed with the key of the home folder, and must agree with the contest's sealed entries: a row
that somebody else wrote opens nothing, nor does one that was put back as it was before a revocation. Every token has an
end.

A session belongs to a token. It ends after twelve hours, when its owner signs out, with the token, or when the server
stops. No table holds sessions, so that nobody brings one back who can write to the database.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update
from starlette.responses import Response

from confide.contest.server.chain import Histories, History, SealedToken, Writer
from confide.contest.server.clock import new_id, written
from confide.contest.server.database import MEMBERS, TOKENS
from confide.contest.server.problems import Kind, Refused
from confide.errors import ParameterError
from confide.records.chain import same_seal, seal

LONGEST_NAME = 80


def checked_name(name: str) -> str:
    """Refuse a name that cannot be shown on a board."""
    if not 1 <= len(name) <= LONGEST_NAME or name != name.strip() or not name.isprintable():
        raise ParameterError(
            f"the name of a participant must have 1 to {LONGEST_NAME} printable characters, with no space at an end"
        )
    return name


def member_named(writer: Writer, name: str) -> int:
    """Return the number of a member, who is added if new."""
    checked_name(name)
    connection, contest = writer.connection, writer.contest
    found = connection.execute(
        select(MEMBERS.c.id).where(MEMBERS.c.contest == contest, MEMBERS.c.name == name)
    ).scalar()
    if found is not None:
        return int(found)
    added = connection.execute(
        insert(MEMBERS).returning(MEMBERS.c.id), {"contest": contest, "name": name, "created_at": written(writer.at)}
    )
    return int(added.scalar_one())


PREFIX = "cfd_"
FORM = re.compile(r"cfd_[A-Za-z0-9_-]{43}")

DAYS = 180
"""Days until a token ends, unless whoever makes it says otherwise."""

MOST_DAYS = 730


class Role(StrEnum):
    """What a token allows."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Caller:
    """Holder of a valid token: a member of one contest, in one role. `session` is the digest of a browser's session."""

    token: str
    contest: str
    member: int
    participant: str
    role: Role
    session: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A token as the organiser sees it: without its secret."""

    id: str
    participant: str
    role: Role
    created_at: str
    expires_at: str
    revoked_at: str | None
    digest: str = field(repr=False)


def new_secret() -> str:
    """Draw a token."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what the database keeps of a token."""
    return sha256(secret.encode()).hexdigest()


def end_of(until: date | None, at: datetime) -> str:
    """Return when a token ends that is made now: with the day `until`, in UTC, or after the usual time."""
    if until is None:
        return written(at + timedelta(days=DAYS))
    last = at.date() + timedelta(days=MOST_DAYS)
    if not at.date() <= until <= last:
        raise ParameterError(f"`until` must be a day from today to {last.isoformat()}; got {until.isoformat()}")
    return written(datetime.combine(until + timedelta(days=1), time(), UTC))


def issue(
    writer: Writer, participant: str, role: Role = Role.PARTICIPANT, until: date | None = None
) -> tuple[str, TokenRecord]:
    """Make a token for a member, who is added if new; return the secret, which is shown once, and its record."""
    expires_at = end_of(until, writer.at)
    member = member_named(writer, participant)
    secret, identity = new_secret(), new_id(writer.at)
    record = TokenRecord(
        id=identity,
        participant=participant,
        role=role,
        created_at=written(writer.at),
        expires_at=expires_at,
        revoked_at=None,
        digest=digest_of(secret),
    )
    row = {"id": identity, "member": member, "role": role.value, "digest": record.digest}
    dates = {"created_at": record.created_at, "expires_at": expires_at}
    writer.connection.execute(insert(TOKENS), row | dates)
    _seal_row(writer.connection, writer.key, identity)
    entry = {"kind": "token", "id": identity, "participant": participant, "role": role.value, "secret": record.digest}
    writer.append(entry | {"until": expires_at})
    return secret, record


def find_caller(connection: Connection, histories: Histories, secret: str, at: datetime) -> Caller | None:
    """Return who holds a token; None if the token is unknown or revoked. Refuse one that has ended, and say when."""
    if not FORM.fullmatch(secret):
        return None
    digest = digest_of(secret)
    row = _row(connection, histories, TOKENS.c.digest == digest)
    if row is None or not hmac.compare_digest(row.digest, digest) or row.revoked_at is not None:
        return None
    if row.expires_at <= written(at):
        raise Refused(
            Kind.NO_TOKEN,
            f"the token ended at {row.expires_at[:16].replace('T', ' ')} UTC",
            "ask the organiser for a new token; it belongs to the same participant",
        )
    return caller_of(row)


def find_by_id(connection: Connection, histories: Histories, identity: str, at: datetime) -> Caller | None:
    """Return whose token it is, by its id; None if it is unknown, revoked, or has ended."""
    row = _row(connection, histories, TOKENS.c.id == identity)
    if row is None or row.revoked_at is not None or row.expires_at <= written(at):
        return None
    return caller_of(row)


def caller_of(row: Row[Any]) -> Caller:
    """Return the holder of a token's row."""
    return Caller(
        token=row.id, role=Role(row.role), contest=row.contest, member=row.member, participant=row.participant
    )


def require_valid(
    connection: Connection, histories: Histories, caller: Caller, at: datetime, *, lives: bool = True
) -> None:
    """Refuse a caller whose token was revoked or has ended, or whose session has, since the request began."""
    found = find_by_id(connection, histories, caller.token, at)
    same = found is not None and (found.contest, found.member, found.role) == (
        caller.contest,
        caller.member,
        caller.role,
    )
    if not same or not lives:
        raise Refused(
            Kind.NO_TOKEN,
            "the token was revoked, or it or its session has ended, since the request began; nothing was changed",
            "ask the organiser for a new token, or sign in again",
        )


_ROWS = select(TOKENS, MEMBERS.c.contest, MEMBERS.c.name.label("participant")).join(
    MEMBERS, TOKENS.c.member == MEMBERS.c.id
)


def _row(connection: Connection, histories: Histories, condition: ColumnElement[bool]) -> Row[Any] | None:
    """Return the row of a token, with its member; None if there is none, or it is not as sealed entries say."""
    row = connection.execute(_ROWS.where(condition)).first()
    if row is None or not is_sealed(histories.key, row):
        return None
    return row if _sealed_token(row) == histories.of(connection, row.contest).tokens.get(row.id) else None


def _sealed_token(row: Row[Any]) -> SealedToken:
    """Return what the sealed entries must say of a token."""
    return SealedToken(
        participant=row.participant,
        role=row.role,
        secret=row.digest,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


def is_sealed(key: bytes, row: Row[Any]) -> bool:
    """Return whether a token's row, with its member, is as the server wrote it."""
    return same_seal(row.seal, _seal_of(key, row))


def _seal_of(key: bytes, row: Row[Any]) -> str:
    dates = (row.created_at, row.expires_at, row.revoked_at)
    whose = (row.contest, row.member, row.participant)
    return seal(key, "oracle token", row.id, row.role, row.digest, *whose, *dates)


def _seal_row(connection: Connection, key: bytes, identity: str) -> None:
    row = connection.execute(_ROWS.where(TOKENS.c.id == identity)).one()
    connection.execute(update(TOKENS).where(TOKENS.c.id == identity).values(seal=_seal_of(key, row)))


def token_rows(connection: Connection, contest: str) -> list[Row[Any]]:
    """Return the rows of all tokens of a contest, with their members, oldest first."""
    return list(connection.execute(_ROWS.where(MEMBERS.c.contest == contest).order_by(TOKENS.c.id)))


def list_tokens(connection: Connection, contest: str) -> list[TokenRecord]:
    """Return all tokens of a contest, oldest first."""
    return [
        TokenRecord(
            id=row.id,
            participant=row.participant,
            role=Role(row.role),
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
            digest=row.digest,
        )
        for row in token_rows(connection, contest)
    ]


def revoke(writer: Writer, identity: str) -> bool:
    """Revoke a token of the contest, and so its sessions; return False if there is none with this id."""
    connection = writer.connection
    ours = select(MEMBERS.c.id).where(MEMBERS.c.contest == writer.contest)
    there = connection.execute(
        select(TOKENS.c.revoked_at).where(TOKENS.c.id == identity, TOKENS.c.member.in_(ours))
    ).first()
    if there is None:
        return False
    if there.revoked_at is None:
        connection.execute(update(TOKENS).where(TOKENS.c.id == identity).values(revoked_at=written(writer.at)))
        _seal_row(connection, writer.key, identity)
        writer.append({"kind": "revocation", "token": identity})
    return True


def fits_chain(connection: Connection, key: bytes, contest: str, history: History) -> bool:
    """Return whether members and tokens are those of the sealed entries, with all their dates and roles."""
    rows = token_rows(connection, contest)
    members = connection.execute(select(MEMBERS.c.name, MEMBERS.c.created_at).where(MEMBERS.c.contest == contest))
    return (
        {row.id: _sealed_token(row) for row in rows} == history.tokens
        and all(is_sealed(key, row) for row in rows)
        and {row[0]: row[1] for row in members} == history.joined
    )


COOKIE = "__Host-confide"
"""Browsers take a cookie of this prefix only from the host itself, for all paths, and over a secure connection."""

HOURS = 12
MOST = 20
"""Sessions of one token at once. One more ends the oldest."""

_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


class Sessions:
    """Sessions of a running server: the id of the token and the end of each, by its digest, the oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[str, tuple[str, datetime]] = {}

    def start(self, caller: Caller, at: datetime) -> str:
        """Begin a session of a token, and return its secret. Sessions that have ended are removed."""
        secret = secrets.token_urlsafe(32)
        with self._lock:
            self._ends = {digest: one for digest, one in self._ends.items() if one[1] > at}
            own = [digest for digest, (token, _) in self._ends.items() if token == caller.token]
            for digest in own[: max(0, len(own) - MOST + 1)]:
                del self._ends[digest]
            self._ends[_digest(secret)] = (caller.token, at + timedelta(hours=HOURS))
        return secret

    def token(self, digest: str, at: datetime) -> str | None:
        """Return the id of the token that a session belongs to; None if the session is unknown or has ended."""
        token, ends = self._ends.get(digest, (None, at))
        return token if ends > at else None

    def end(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._ends.pop(_digest(secret), None)

    def find(self, connection: Connection, histories: Histories, secret: str, at: datetime) -> Caller | None:
        """Return whose session it is; None if it is unknown or has ended, or its token was revoked or has ended."""
        if not _FORM.fullmatch(secret):
            return None
        token = self.token(digest := _digest(secret), at)
        caller = None if token is None else find_by_id(connection, histories, token, at)
        return None if caller is None else replace(caller, session=digest)


def set_cookie(response: Response, secret: str) -> None:
    """Give the browser its session. Scripts cannot read it, and no other site can send it."""
    response.set_cookie(COOKIE, secret, max_age=HOURS * 3600, path="/", secure=True, httponly=True, samesite="strict")


def clear_cookie(response: Response) -> None:
    """Take the session from the browser."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")
