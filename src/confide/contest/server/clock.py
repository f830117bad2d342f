"""Instants and identifiers."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80
_LENGTH = 26


def now() -> datetime:
    """Return the current instant, in UTC."""
    return datetime.now(UTC)


def written(instant: datetime) -> str:
    """Return an instant as text, in UTC and to the millisecond."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def next_day(instant: datetime) -> datetime:
    """Return the next midnight in UTC."""
    return (instant + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)


def new_id(instant: datetime) -> str:
    """Return a new identifier: milliseconds and 80 random bits in 26 letters, so that later ones sort after."""
    number = int(instant.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_CROCKFORD[number >> 5 * place & 31] for place in reversed(range(_LENGTH)))
