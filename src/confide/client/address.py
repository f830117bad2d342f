"""Address of an evaluation server, checked before a token goes there."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from confide.errors import ParameterError

_EXAMPLE = "for example https://oracle.example/contests/heart"
_CONTEST = re.compile(r"(?P<prefix>.*?)(?:/v1)?/contests/(?P<contest>[^/]+)")
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Place of a server: scheme, host, port and the path under which it lives.

    `contest` is the contest that the address names, if it names one.
    """

    secure: bool
    host: str
    port: int
    prefix: str = ""
    contest: str | None = None

    @classmethod
    def parse(cls, url: str, *, allow_http: bool = False) -> Address:
        """Read an address such as https://host/contests/heart or https://host.

        Plain http is refused unless the server is on this machine or `allow_http` is set: a token and the scores
        would travel where others can read them.

        >>> Address.parse("https://oracle.example/contests/heart")
        Address(secure=True, host='oracle.example', port=443, prefix='', contest='heart')
        """
        try:
            parts = urlsplit(url.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port, parts = "", None, urlsplit("")
        if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host):
            raise ParameterError(f"the address of a server must begin with https:// and name a host, {_EXAMPLE}")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ParameterError(f"the address of a server has no user, question mark or hash sign, {_EXAMPLE}")
        secure = parts.scheme == "https"
        if not secure and not allow_http and not _is_loopback(host):
            raise ParameterError(
                "http:// sends the token where others can read it, so it is for servers on this machine alone; use "
                "https://, or set `allow_http` if the network in between is your own"
            )
        prefix, contest = _split(parts.path)
        return cls(secure=secure, host=host, port=port or (443 if secure else 80), prefix=prefix, contest=contest)

    @property
    def base(self) -> str:
        """Return the address of the server itself."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.secure else 80
        port = "" if self.port == usual else f":{self.port}"
        return f"{'https' if self.secure else 'http'}://{host}{port}{self.prefix}"


def _split(path: str) -> tuple[str, str | None]:
    """Split a path into the server's own prefix and the name of a contest."""
    bare = path.rstrip("/")
    found = _CONTEST.fullmatch(bare)
    prefix = found["prefix"] if found else bare.removesuffix("/contests").removesuffix("/v1")
    if not _PREFIX.fullmatch(prefix):
        raise ParameterError(f"the path of the server's address has characters that it cannot have, {_EXAMPLE}")
    return prefix, checked_contest(found["contest"]) if found else None


def checked_contest(name: str) -> str:
    """Check the name of a contest."""
    from confide.contest.terms import NAME

    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            "the name of a contest has 1 to 40 small letters, digits or hyphens; see the organiser's address, "
            f"{_EXAMPLE}"
        )
    return name


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
