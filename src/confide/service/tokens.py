"""Tokens: 256 random bits, shown once. The database keeps their SHA-256."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select, update

from confide.service.clock import new_id, written
from confide.service.members import member_named
from confide.service.tables import MEMBERS, SESSIONS, TOKENS

PREFIX = "cfd_"
FORM = re.compile(r"cfd_[A-Za-z0-9_-]{43}")


class Role(StrEnum):
    """What a token allows."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Caller:
    """Holder of a valid token: a member of one contest, in one role."""

    token: str
    contest: str
    member: int
    participant: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A token as the organiser sees it: without its secret."""

    id: str
    participant: str
    role: Role
    created_at: str
    revoked_at: str | None
    digest: str = field(repr=False)


def new_secret() -> str:
    """Draw a token."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what the database keeps of a token."""
    return sha256(secret.encode()).hexdigest()


def issue(connection: Connection, contest: str, participant: str, role: Role, at: datetime) -> tuple[str, TokenRecord]:
    """Make a token for a member, who is added if new; return the secret, which is shown once, and its record."""
    member = member_named(connection, contest, participant, at)
    secret, identity = new_secret(), new_id(at)
    record = TokenRecord(
        id=identity,
        participant=participant,
        role=role,
        created_at=written(at),
        revoked_at=None,
        digest=digest_of(secret),
    )
    row = {"id": identity, "member": member, "role": role.value, "digest": record.digest}
    connection.execute(insert(TOKENS), {**row, "created_at": record.created_at})
    return secret, record


def chain_entry(record: TokenRecord, *, by: str) -> dict[str, str]:
    """Return what the audit chain says of a new token."""
    return {
        "kind": "token",
        "id": record.id,
        "participant": record.participant,
        "role": record.role.value,
        "secret": record.digest,
        "by": by,
        "at": record.created_at,
    }


def find_caller(connection: Connection, secret: str) -> Caller | None:
    """Return who holds a token; None if the token is unknown or revoked."""
    if not FORM.fullmatch(secret):
        return None
    digest = digest_of(secret)
    row = connection.execute(
        select(TOKENS.c.id, TOKENS.c.role, TOKENS.c.digest, MEMBERS.c.contest, MEMBERS.c.id, MEMBERS.c.name)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(TOKENS.c.digest == digest, TOKENS.c.revoked_at.is_(None))
    ).first()
    if row is None or not hmac.compare_digest(row[2], digest):
        return None
    return Caller(token=row[0], role=Role(row[1]), contest=row[3], member=row[4], participant=row[5])


def list_tokens(connection: Connection, contest: str) -> list[TokenRecord]:
    """Return all tokens of a contest, oldest first."""
    rows = connection.execute(
        select(TOKENS.c.id, MEMBERS.c.name, TOKENS.c.role, TOKENS.c.created_at, TOKENS.c.revoked_at, TOKENS.c.digest)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(MEMBERS.c.contest == contest)
        .order_by(TOKENS.c.id)
    )
    return [
        TokenRecord(
            id=row[0],
            participant=row[1],
            role=Role(row[2]),
            created_at=row[3],
            revoked_at=row[4],
            digest=row[5],
        )
        for row in rows
    ]


def revoke(connection: Connection, contest: str, identity: str, at: datetime) -> bool:
    """Revoke a token of a contest and end its sessions; return False if there is none with this id."""
    ours = select(MEMBERS.c.id).where(MEMBERS.c.contest == contest)
    there = connection.execute(select(TOKENS.c.id).where(TOKENS.c.id == identity, TOKENS.c.member.in_(ours))).first()
    if there is None:
        return False
    connection.execute(
        update(TOKENS).where(TOKENS.c.id == identity, TOKENS.c.revoked_at.is_(None)).values(revoked_at=written(at))
    )
    connection.execute(delete(SESSIONS).where(SESSIONS.c.token == identity))
    return True
