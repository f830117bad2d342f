"""Sessions of browsers: 256 random bits in a cookie. The database keeps their SHA-256.

A session belongs to a token. It ends after twelve hours, when its owner signs out, or with the token. Its row is sealed
with the key of the home folder: a row that somebody else wrote is no session.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Connection, delete, insert, select
from starlette.responses import Response

from confide.service.chain import Writer
from confide.service.clock import written
from confide.service.tables import SESSIONS
from confide.service.tokens import Caller, find_by_id, session_seal, session_token

COOKIE = "__Host-confide"
"""Browsers take a cookie of this prefix only from the host itself, for all paths, and over a secure connection."""

HOURS = 12
MOST = 20
"""Sessions of one token at once. One more ends the oldest."""

_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def start_session(writer: Writer, caller: Caller) -> str:
    """Begin a session of a token, and return its secret. Sessions that have ended are removed."""
    secret, connection = secrets.token_urlsafe(32), writer.connection
    connection.execute(delete(SESSIONS).where(SESSIONS.c.expires_at <= written(writer.at)))
    newest = (
        select(SESSIONS.c.digest)
        .where(SESSIONS.c.token == caller.token)
        .order_by(SESSIONS.c.expires_at.desc())
        .offset(MOST - 1)
    )
    surplus = connection.execute(newest).scalars().all()
    connection.execute(delete(SESSIONS).where(SESSIONS.c.digest.in_(surplus)))
    digest, ends = _digest(secret), written(writer.at + timedelta(hours=HOURS))
    row = {"digest": digest, "token": caller.token, "expires_at": ends}
    connection.execute(insert(SESSIONS), row | {"seal": session_seal(writer.key, digest, caller.token, ends)})
    return secret


def find_session(connection: Connection, key: bytes, secret: str, at: datetime) -> Caller | None:
    """Return whose session it is; None if it is unknown, forged or has ended, or its token was revoked or has ended."""
    if not _FORM.fullmatch(secret):
        return None
    token = session_token(connection, key, digest := _digest(secret), at)
    caller = None if token is None else find_by_id(connection, key, token, at)
    return None if caller is None else replace(caller, session=digest)


def end_session(connection: Connection, secret: str) -> None:
    """End a session."""
    connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == _digest(secret)))


def set_cookie(response: Response, secret: str) -> None:
    """Give the browser its session. Scripts cannot read it, and no other site can send it."""
    response.set_cookie(COOKIE, secret, max_age=HOURS * 3600, path="/", secure=True, httponly=True, samesite="strict")


def clear_cookie(response: Response) -> None:
    """Take the session from the browser."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")
