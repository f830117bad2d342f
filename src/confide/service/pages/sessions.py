"""Sessions of browsers: 256 random bits in a cookie. The database keeps their SHA-256.

A session belongs to a token. It ends after twelve hours, when its owner signs out, or when the token is revoked.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select
from starlette.responses import Response

from confide.service.clock import written
from confide.service.tables import MEMBERS, SESSIONS, TOKENS
from confide.service.tokens import Caller, Role

COOKIE = "__Host-confide"
"""Browsers take a cookie of this prefix only from the host itself, for all paths, and over a secure connection."""

HOURS = 12
MOST = 20
"""Sessions of one token at once. One more ends the oldest."""

_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def start_session(connection: Connection, token: str, at: datetime) -> str:
    """Begin a session of a token, and return its secret. Sessions that have ended are removed."""
    secret = secrets.token_urlsafe(32)
    connection.execute(delete(SESSIONS).where(SESSIONS.c.expires_at <= written(at)))
    newest = (
        select(SESSIONS.c.digest)
        .where(SESSIONS.c.token == token)
        .order_by(SESSIONS.c.expires_at.desc())
        .offset(MOST - 1)
    )
    surplus = connection.execute(newest).scalars().all()
    connection.execute(delete(SESSIONS).where(SESSIONS.c.digest.in_(surplus)))
    ends = written(at + timedelta(hours=HOURS))
    connection.execute(insert(SESSIONS), {"digest": _digest(secret), "token": token, "expires_at": ends})
    return secret


def find_session(connection: Connection, secret: str, at: datetime) -> Caller | None:
    """Return whose session it is; None if it is unknown, has ended, or its token was revoked."""
    if not _FORM.fullmatch(secret):
        return None
    row = connection.execute(
        select(TOKENS.c.id, TOKENS.c.role, MEMBERS.c.contest, MEMBERS.c.id, MEMBERS.c.name)
        .join(SESSIONS, SESSIONS.c.token == TOKENS.c.id)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(
            SESSIONS.c.digest == _digest(secret),
            SESSIONS.c.expires_at > written(at),
            TOKENS.c.revoked_at.is_(None),
        )
    ).first()
    if row is None:
        return None
    return Caller(token=row[0], role=Role(row[1]), contest=row[2], member=row[3], participant=row[4])


def end_session(connection: Connection, secret: str) -> None:
    """End a session."""
    connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == _digest(secret)))


def set_cookie(response: Response, secret: str) -> None:
    """Give the browser its session. Scripts cannot read it, and no other site can send it."""
    response.set_cookie(COOKIE, secret, max_age=HOURS * 3600, path="/", secure=True, httponly=True, samesite="strict")


def clear_cookie(response: Response) -> None:
    """Take the session from the browser."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")
