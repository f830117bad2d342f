"""Origin of results: which version computed them, when, by which command, from which file.

There are two types, and neither is the other. `Provenance` is for people who may see the rows; it holds a digest of the
file. `PublicProvenance` is for pages that may be published, and has no place for a digest: whoever guesses the rows
could confirm the guess with it.

Both are values. The clock, the file and the command line are read by `tasks.provenance`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from confide.errors import ParameterError

_SHA256 = re.compile("[0-9a-f]{64}")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<rest>.*)", re.DOTALL)
_PORT = re.compile(r":[0-9]*[/?#]")
_TABLE = re.compile(r"[?&](?P<table>table=[\w.-]+)(?=&|$)")
_SETTING = re.compile(r"(?P<name>\b[\w-]*(?:password|passwd|pwd|token|secret|\bsig)=)[^\s&;]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicProvenance:
    """Origin of numbers that may be published: the version of confide and the day."""

    version: str
    date: date

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"version": self.version, "date": self.date.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Origin of exact numbers, for people who may see the rows.

    Parameters
    ----------
    version, date
        Version of confide, and the day of the run.
    command
        Command line without users and passwords (see `shown_command`); None for a call from Python.
    sha256
        SHA-256 digest of the file as it was read, in hexadecimal digits; None for data in memory.
    seed
        Seed of the resampling; None where nothing was drawn.
    """

    version: str
    date: date
    command: str | None = None
    sha256: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.sha256 is not None and not _SHA256.fullmatch(self.sha256):
            raise ParameterError(
                f"`sha256` must be 64 hexadecimal digits in lower case; got a text of {len(self.sha256)} characters"
            )

    def public(self) -> PublicProvenance:
        """Return what may be published of it."""
        return PublicProvenance(version=self.version, date=self.date)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what is not known is None."""
        return {
            "version": self.version,
            "date": self.date.isoformat(),
            "command": self.command,
            "sha256": self.sha256,
            "seed": self.seed,
        }


def shown_command(arguments: Sequence[str]) -> str:
    """Write a command line as a shell reads it, without the users, passwords and queries of its URLs.

    >>> shown_command(["release", "my rows.csv", "--ledger", "postgresql://ana:secret@db.example/ledgers"])
    "confide release 'my rows.csv' --ledger postgresql://db.example/ledgers"
    """
    return shlex.join(("confide", *(_shown(argument) for argument in arguments)))


def _shown(argument: str) -> str:
    return _SETTING.sub(r"\g<name>...", _URL.sub(_without_secrets, argument))


def _without_secrets(url: re.Match[str]) -> str:
    """Keep scheme, host and path of a URL.

    A password may itself hold any sign, so everything up to the last @ is taken for the user's name and password, if
    it begins as a name and a password do. Queries are left out, since drivers read users and passwords from them.
    Where an @ could belong to a login as well as to a path or a query, only the scheme is kept.
    """
    login, at, place = url["rest"].rpartition("@")
    after = login[len(re.split("[:/?#]", login, maxsplit=1)[0]) :]
    if not at or (after[:1] in ("/", "?", "#") and ":" not in after):  # no password, but perhaps a path with an @ in it
        return url["scheme"] + _without_query(_without_user(url["rest"]))
    if after[:1] not in ("", ":") or _PORT.match(after):
        return f"{url['scheme']}..."
    return url["scheme"] + _without_query(place)


def _without_user(place: str) -> str:
    network = re.split("[/?#]", place, maxsplit=1)[0]
    return network.rpartition("@")[2] + place[len(network) :]


def _without_query(place: str) -> str:
    """Leave the query out, but for the name of a table in it."""
    rest = re.split("[?#]", place, maxsplit=1)[0]
    table = _TABLE.search(place[len(rest) :])
    return f"{rest}?{table['table']}" if table else rest
