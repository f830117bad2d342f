"""Find out why a PostgreSQL server could not be used: by exceptions of sockets and TLS, and by flags of the driver.

Before a connection stands, the driver's errors have no SQLSTATE, and their messages quote hosts and users and come in
the server's language. So nothing is read from messages. What the network tells is asked again, step by step and without
credentials: the host's name, its port, whether the server offers TLS, and whether its certificate is accepted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_SECONDS = 5.0
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # PostgreSQL, Message Formats: SSLRequest
_WITH_TLS = ("require", "verify-ca", "verify-full")
_WITH_CERTIFICATE = ("verify-ca", "verify-full")
_USUAL_PORT = 5432


class Reach(StrEnum):
    """How far a connection came, in words that tell the next step and hold no name."""

    HOST_UNKNOWN = "nothing is known by the host's name; check the name, and that this machine can resolve it"
    NO_SOCKET = "no server has a socket in this folder; check that PostgreSQL runs here, and the folder"
    REFUSED = "the host refuses connections at this port; check that PostgreSQL runs there and listens at this port"
    SILENT = "the host does not answer at this port; check address and port, and firewalls in between"
    NO_TLS = "the server offers no TLS, which `sslmode` demands; let its administrator switch it on (ssl = on)"
    NO_ROOT = "there is no root certificate with which to check the server's; name its file (sslrootcert)"
    CERTIFICATE = (
        "the server's certificate is not accepted; check that the root certificate (sslrootcert) is the one that "
        "issued it, that it is valid today and, with sslmode verify-full, that it is for this host"
    )
    NO_PASSWORD = "the server wants a password, and there is none; give one in PGPASSWORD or PGPASSFILE"  # noqa: S105
    LOGIN = (
        "the server is there, and does not let this user into this database; check user and password, that the "
        "database exists, whether the rules (pg_hba.conf) let this user into it from this machine, and whether it has "
        "connections left"
    )


def reach_of(error: object, settings: Mapping[str, str | None]) -> Reach:
    """Return how far a connection came that failed before it stood.

    `error` is the driver's, `settings` hosts and TLS as they were given. Nobody logs in a second time to tell a wrong
    password from a missing database: servers may lock an account after some failures.
    """
    connection = getattr(error, "pgconn", None)
    if getattr(connection, "needs_password", False):
        return Reach.NO_PASSWORD
    given = dict(_from_environment())
    given.update({name: value for name, value in settings.items() if value})
    host = _text(getattr(connection, "host", None)) or given.get("host") or ""
    port = _text(getattr(connection, "port", None)) or given.get("port") or ""
    return _by_network(host.split(",")[0], _number(port.split(",")[0]), given) or Reach.LOGIN


def _from_environment() -> Mapping[str, str]:
    names = {"host": "PGHOST", "port": "PGPORT", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT"}
    return {name: os.environ[variable] for name, variable in names.items() if os.environ.get(variable)}


def _by_network(host: str, port: int, settings: Mapping[str, str]) -> Reach | None:
    """Return what keeps this machine from the server; None if it is there and as the settings demand."""
    if host.startswith(("/", "@")) or not host:
        return _by_socket(host, port)
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        return Reach.HOST_UNKNOWN
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as line:
            return _by_tls(line, host, settings)
    except ConnectionRefusedError:
        return Reach.REFUSED
    except OSError:
        return Reach.SILENT


def _by_socket(folder: str, port: int) -> Reach | None:
    place = f"{folder or '/tmp'}/.s.PGSQL.{port}"  # noqa: S108 - libpq's own default
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as line:
        line.settimeout(_SECONDS)
        try:
            line.connect("\0" + place[1:] if folder.startswith("@") else place)
        except ConnectionRefusedError:
            return Reach.REFUSED
        except OSError:
            return Reach.NO_SOCKET
    return None


def _by_tls(line: socket.socket, host: str, settings: Mapping[str, str]) -> Reach | None:
    mode = settings.get("sslmode", "prefer")
    if mode not in _WITH_TLS:
        return None
    line.sendall(_SSL_REQUEST)
    if line.recv(1) != b"S":
        return Reach.NO_TLS
    if mode not in _WITH_CERTIFICATE:
        return None
    root = settings.get("sslrootcert") or str(Path("~/.postgresql/root.crt").expanduser())
    try:
        context = ssl.create_default_context(cafile=None if root == "system" else root)
    except (OSError, ssl.SSLError):
        return Reach.NO_ROOT
    context.check_hostname = mode == "verify-full"
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as libpq, which also takes names from the common name
    context.hostname_checks_common_name = ssl.HAS_NEVER_CHECK_COMMON_NAME
    try:
        context.wrap_socket(line, server_hostname=host).close()
    except ssl.SSLCertVerificationError:
        return Reach.CERTIFICATE
    except (OSError, ssl.SSLError):
        return None  # a server that wants a certificate from us, for example
    return None


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _number(port: str) -> int:
    return int(port) if port.isdecimal() and 0 < int(port) < 65536 else _USUAL_PORT
