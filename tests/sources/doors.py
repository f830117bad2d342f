"""A port of this machine that leads to a PostgreSQL server's socket, as it is or behind TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SSL_REQUEST_BYTES = 8


@contextmanager
def door(place: str, tls: Path | None = None) -> Iterator[int]:
    """Pass connections on to a socket; with `tls`, a folder with a certificate, open TLS first. Yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    context = None
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "server.crt", tls / "server.key")

    def serve() -> None:
        with suppress(OSError):
            while True:
                line, _ = listener.accept()
                threading.Thread(target=_pass_on, args=(line, place, context), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.close()


def _pass_on(line: socket.socket, place: str, context: ssl.SSLContext | None) -> None:
    with suppress(OSError), closing(socket.socket(socket.AF_UNIX)) as server, closing(line):
        if context is None:
            _join(line, server, place)
            return
        line.recv(_SSL_REQUEST_BYTES, socket.MSG_WAITALL)
        line.sendall(b"S")
        with closing(context.wrap_socket(line, server_side=True)) as inside:
            _join(inside, server, place)


def _join(line: socket.socket, server: socket.socket, place: str) -> None:
    server.connect(place)
    back = threading.Thread(target=_copy, args=(server, line), daemon=True)
    back.start()
    _copy(line, server)
    back.join(5)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def certificate(folder: Path, name: str) -> Path:
    """Make a certificate that signs itself, and its key; return the certificate's file."""
    folder.mkdir()
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "server.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "server.crt"
