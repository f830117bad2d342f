"""Forms: where they may come from, and small bodies that hold their fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

LARGEST = 64 * 1024
_FIELDS = 2_100  # a participant may have a thousand submissions to choose from


@dataclass(frozen=True, slots=True)
class Form:
    """Fields of a form."""

    fields: dict[str, list[str]]

    def text(self, name: str) -> str:
        """Return the value of a field; the empty text if it is missing."""
        return self.fields.get(name, [""])[0]

    def every(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.fields.get(name, [])


def is_own_origin(request: Request) -> bool:
    """Return whether a request was sent by a page of this server.

    Browsers tell with each form where it came from, in `Origin` and, newer ones, in `Sec-Fetch-Site`; a page of
    another site cannot change them. A request with neither is refused. The scheme is not compared: behind a proxy that
    ends TLS, this server sees plain HTTP.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return site is not None
    host = request.headers.get("host", "").lower()
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host


class FormError(Exception):
    """A form that is too large, or not what a page of ours sends."""


async def read_form(chunks: AsyncIterator[bytes]) -> Form:
    """Read the fields of a form from a small body."""
    body = b""
    async for chunk in chunks:
        body += chunk
        if len(body) > LARGEST:
            raise FormError("the form is too large")
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise FormError("the form cannot be read") from None
