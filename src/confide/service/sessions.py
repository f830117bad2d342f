"""Sessions of browsers: 256 random bits in a cookie. The server's memory keeps their SHA-256.

A session belongs to a token. It ends after twelve hours, when its owner signs out, with the token, or when the server
stops. No table holds sessions, so that nobody brings one back who can write to the database.
"""

from __future__ import annotations

import re
import secrets
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Connection
from starlette.responses import Response

from confide.service.chain import Histories
from confide.service.tokens import Caller, find_by_id

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
