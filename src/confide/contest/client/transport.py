"""Requests to an evaluation server, over the standard library's HTTP, to an address that was checked.

Rules: certificates are checked; redirects are not followed, since the token would go with them; answers are bounded in
size and time, headers included; a request is repeated only if the server cannot have carried it out twice.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from secrets import randbelow
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from confide.contest.client.refusals import UNREACHABLE, printable, problem
from confide.errors import OracleError, ParameterError

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


JSON_BYTES = 32 << 20
TEMPLATE_BYTES = 512 << 20
ARCHIVE_BYTES = 16 << 30

ATTEMPTS = 5
LONGEST_WAIT = 30.0
"""Seconds that a repeated request may wait; a server that asks for more is not asked again."""

_BLOCK = 1 << 16
_PASSING = frozenset({502, 503, 504})  # a proxy or a full queue: a later attempt may succeed
_TOO_MANY = 429
_REDIRECTS = range(300, 400)

Progress = Callable[[int, int], None]
"""Called with the bytes that were sent and the bytes in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Body of a request: its size, its kind and a function that opens it."""

    size: int
    kind: str
    open: Callable[[], BinaryIO] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer of a server: its status, headers with names in small letters, and content."""

    status: int
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    def json(self) -> dict[str, Any]:
        """Read the content as a JSON object."""
        try:
            plain = json.loads(self.content)
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict):
            raise OracleError(
                "the answer does not come from an evaluation server; check the address", status=self.status
            )
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """Way to one server.

    `sleep` and `clock` are for tests. A token stays out of the representation.
    """

    address: Address
    token: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    attempts: int = ATTEMPTS
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool,
        limit: int = JSON_BYTES,
        progress: Progress | None = None,
    ) -> Reply:
        """Return the answer to a request; raise OracleError if it is a refusal or there is none.

        A `repeatable` request is sent again if the connection broke or the server was too busy.
        """
        attempt = 0
        while True:
            attempt += 1
            last = attempt >= self.attempts or not repeatable
            try:
                reply = self._once(method, path, body, headers or {}, limit, progress)
            except (OSError, http.client.HTTPException) as error:
                if last or isinstance(error, ssl.SSLCertVerificationError):
                    raise unreachable(self.address, error) from None
                self.sleep(_backoff(attempt))
                continue
            wait = _wait(reply, attempt)
            if not _is_passing(reply) or last or wait > LONGEST_WAIT:
                return self._accepted(reply)
            self.sleep(wait)

    def download(self, path: str, target: Path, *, limit: int = ARCHIVE_BYTES) -> int:
        """Write the answer to a GET request to a file, whole or not at all; return its size."""
        from confide.atomic_files import replacement

        try:
            with self._answer("GET", path, None, {}, None) as response:
                if response.status != http.client.OK:
                    return len(self._accepted(_reply(response, JSON_BYTES)).content)
                with replacement(target, owner_only=True) as unfinished, unfinished.open("wb") as out:
                    return sum(out.write(part) for part in _parts(response, limit))
        except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError, socket.gaierror) as error:
            raise unreachable(self.address, error) from None

    def _once(
        self,
        method: str,
        path: str,
        body: Body | None,
        headers: Mapping[str, str],
        limit: int,
        progress: Progress | None,
    ) -> Reply:
        with self._answer(method, path, body, headers, progress) as response:
            return _reply(response, limit)

    @contextmanager
    def _answer(
        self, method: str, path: str, body: Body | None, headers: Mapping[str, str], progress: Progress | None
    ) -> Iterator[_Response]:
        """Send a request and yield the answer, of which only the headers were read."""
        deadline = _Deadline(self.clock, self.timeout)
        connection = self._connection()
        connection.response_class = partial(_Response, deadline)  # type: ignore[assignment]  # it is only called
        try:
            sent = {**self._headers(), **headers}
            if body is None:
                connection.request(method, self.address.prefix + path, headers=sent)
            else:
                sent |= {"Content-Type": body.kind, "Content-Length": str(body.size)}
                with body.open() as stream:
                    self._send(connection, method, path, _Counted(stream, body.size, progress), sent)
            deadline.begin()
            yield cast(_Response, connection.getresponse())
        finally:
            connection.close()

    def _send(
        self, connection: http.client.HTTPConnection, method: str, path: str, stream: _Counted, sent: dict[str, str]
    ) -> None:
        """Send a body. A server may refuse it and close the connection before it has all of it."""
        try:
            connection.request(method, self.address.prefix + path, body=stream, headers=sent)
        except (BrokenPipeError, ConnectionResetError):
            if connection.sock is None:
                raise

    def _connection(self) -> http.client.HTTPConnection:
        address = self.address
        if not address.secure:
            return http.client.HTTPConnection(address.host, address.port, timeout=self.timeout)
        context = ssl.create_default_context()
        proxy = None if proxy_bypass(address.host) else getproxies().get("https")
        if proxy is None:
            return http.client.HTTPSConnection(address.host, address.port, timeout=self.timeout, context=context)
        through = Address.parse(proxy if "://" in proxy else f"http://{proxy}", allow_http=True)
        connection = http.client.HTTPSConnection(through.host, through.port, timeout=self.timeout, context=context)
        connection.set_tunnel(address.host, address.port)  # the token stays inside TLS
        return connection

    def _headers(self) -> dict[str, str]:
        plain = {"Accept": "application/json", "Connection": "close", "User-Agent": f"confide/{version('confide')}"}
        return plain if self.token is None else {**plain, "Authorization": f"Bearer {self.token}"}

    def _accepted(self, reply: Reply) -> Reply:
        """Return an answer that is no refusal."""
        if reply.status < _REDIRECTS.start:
            return reply
        if reply.status in _REDIRECTS:
            raise OracleError(
                "the server redirects to another address; give that address itself, since the token is not sent along",
                status=reply.status,
            )
        wait, with_token = _retry_after(reply), self.token is not None
        raise problem(reply.status, reply.headers, reply.content, retry_after=wait, with_token=with_token)


class _Deadline:
    """Time by which an answer must be read, however slowly it trickles."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self.begin()

    def begin(self) -> None:
        """Wait for an answer from now on."""
        self._end = self._clock() + self._seconds

    def extend(self, size: int) -> None:
        """Allow a second more for each block of content that has come."""
        self._end += size / _BLOCK

    def left(self) -> float:
        """Return the seconds until the next byte must come."""
        left = self._end - self._clock()
        if left <= 0.0:
            raise TimeoutError
        return min(left, self._seconds)


class _Response(http.client.HTTPResponse):
    """Answer that is read before a deadline. The timeout of a socket alone begins anew with each byte."""

    def __init__(self, deadline: _Deadline, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.deadline = deadline
        self.fp = io.BufferedReader(_TimedStream(self.fp.detach(), sock, deadline))


class _TimedStream(io.RawIOBase):
    """Bytes of a socket."""

    def __init__(self, stream: io.RawIOBase, sock: socket.socket, deadline: _Deadline) -> None:
        self._stream, self._socket, self._deadline = stream, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        self._socket.settimeout(self._deadline.left())
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _Counted:
    """Stream that reports how much of it was read."""

    def __init__(self, stream: BinaryIO, size: int, progress: Progress | None) -> None:
        self._stream, self._size, self._progress, self._read = stream, size, progress, 0

    def read(self, size: int = -1) -> bytes:
        """Read a block of at least 64 kB; the standard library asks for less."""
        part = self._stream.read(max(size, _BLOCK) if size >= 0 else size)
        self._read += len(part)
        if self._read > self._size:
            raise OracleError("the file grew while it was sent; submit it again when nobody writes to it")
        if self._progress is not None and part:
            self._progress(self._read, self._size)
        return part


def unreachable(address: Address, error: Exception) -> OracleError:
    """Return the error of a server that gave no answer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return OracleError(
            f"the certificate of {address.base} cannot be trusted ({printable(error.verify_message)}); check the "
            "address, and set SSL_CERT_FILE if the server's authority is your own",
            kind=UNREACHABLE,
        )
    words = "took too long to answer" if isinstance(error, TimeoutError) else "cannot be reached"
    return OracleError(
        f"{address.base} {words}; check the address and the connection, and try again: the same file is never scored "
        "twice",
        kind=UNREACHABLE,
    )


def _parts(response: _Response, limit: int) -> Iterator[bytes]:
    """Yield the content of an answer; refuse one that is too large."""
    size = 0
    while part := response.read1(_BLOCK):
        size += len(part)
        if size > limit:
            raise OracleError(f"the server's answer is larger than {limit} bytes; check the address")
        response.deadline.extend(len(part))
        yield part
    if response.length:  # the connection closed before all of it came
        raise http.client.IncompleteRead(b"", response.length)


def _reply(response: _Response, limit: int) -> Reply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(status=response.status, headers=headers, content=b"".join(_parts(response, limit)))


def _is_passing(reply: Reply) -> bool:
    """Return whether a later attempt may succeed: the server is busy, or says when a limit allows more."""
    return reply.status in _PASSING or (reply.status == _TOO_MANY and _retry_after(reply) is not None)


def _wait(reply: Reply, attempt: int) -> float:
    asked = _retry_after(reply)
    return _backoff(attempt) if asked is None else asked


def _backoff(attempt: int) -> float:
    """Return seconds to wait: half a second, then twice as long each time, and up to half as much more."""
    return 0.5 * float(1 << (attempt - 1)) * (1.0 + randbelow(1000) / 2000.0)


def _retry_after(reply: Reply) -> float | None:
    """Read the header Retry-After, which has seconds or a date."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max((aware - datetime.now(UTC)).total_seconds(), 0.0)
