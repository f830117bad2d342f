"""Rendering of pages: Jinja with escaping always on, and the headers that every page carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import anyio
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from confide.report.shared.page import STYLE

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With "no-referrer" browsers send no origin along with forms, and the check of origins needs one.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_TYPES = {"style.css": "text/css; charset=utf-8", "upload.js": "text/javascript; charset=utf-8"}


@cache
def static_file(name: str) -> bytes | None:
    """Return a file that pages load; None if there is none with this name. The style is that of reports, and more."""
    if name not in _TYPES:
        return None
    own = (files("confide.service") / "static" / name).read_text(encoding="utf-8")
    return (STYLE + own if name == "style.css" else own).encode()


@cache
def version() -> str:
    """Return a mark that changes with the files that pages load, so that browsers may keep them."""
    return sha256(b"".join(static_file(name) or b"" for name in sorted(_TYPES))).hexdigest()[:12]


def static_response(name: str) -> Response | None:
    """Return a file that pages load as a response; None if there is none with this name."""
    content = static_file(name)
    if content is None:
        return None
    headers = HEADERS | {"Cache-Control": "public, max-age=86400"}
    return Response(content, media_type=_TYPES[name], headers=headers)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("confide.service", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = sentence
    return environment


def sentence(words: str) -> str:
    """Write a message with a capital letter and a full stop.

    >>> sentence("the file cannot be scored")
    'The file cannot be scored.'
    """
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!")) else ".")


def page(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Render a page. All text among the values is escaped."""
    filled = {"version": version(), "member": None, "error": None, "notice": None} | values
    html = _templates().get_template(template).render(filled)
    return HTMLResponse(html, status_code=status, headers=HEADERS | (headers or {}))


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page, or an answer for programs, as everybody without a session sees it. `key` is all that it depends on."""

    key: Hashable
    content: bytes
    etag: str


class KeptPages:
    """Pages for readers without a session, each rendered once until its key changes.

    Only the newest form of a page is kept, and only the contests of the server have pages here: memory has a bound.
    """

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], KeptPage] = {}
        self._locks: dict[tuple[str, str], anyio.Lock] = defaultdict(anyio.Lock)

    async def get(self, contest: str, name: str, key: Hashable, render: Callable[[], Response]) -> KeptPage:
        """Return a page of a contest. If it must be rendered, that is done once, in a thread, however many ask."""
        place = (contest, name)
        if (kept := self._known(place, key)) is not None:
            return kept
        async with self._locks[place]:
            if (kept := self._known(place, key)) is not None:
                return kept
            content = bytes((await run_in_threadpool(render)).body)
            self._pages[place] = KeptPage(key, content, f'"{sha256(content).hexdigest()}"')
            return self._pages[place]

    def _known(self, place: tuple[str, str], key: Hashable) -> KeptPage | None:
        kept = self._pages.get(place)
        return kept if kept is not None and kept.key == key else None
