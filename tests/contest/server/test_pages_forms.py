"""A form counts only if a page of this server sent it, and only if it is small."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request

from confide.contest.server.pages.context import LARGEST, Form, FormError, is_own_origin, read_form


def request(headers: dict[str, str]) -> Request:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": raw})


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"Host": "oracle.example", "Origin": "https://oracle.example"}, True),
        ({"Host": "oracle.example", "Origin": "http://oracle.example"}, True),
        ({"Host": "ORACLE.example", "Origin": "https://oracle.EXAMPLE"}, True),
        ({"Host": "127.0.0.1:8765", "Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Host": "oracle.example", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Host": "oracle.example"}, False),
        ({"Host": "oracle.example", "Origin": "null"}, False),
        ({"Host": "oracle.example", "Origin": "https://evil.example"}, False),
        ({"Host": "oracle.example", "Origin": "https://oracle.example.evil.example"}, False),
        ({"Host": "oracle.example", "Origin": "https://oracle.example:444"}, False),
        ({"Host": "127.0.0.1:8765", "Origin": "http://127.0.0.1:8766"}, False),
        ({"Host": "oracle.example", "Origin": "https://[bad"}, False),
        ({"Host": "oracle.example", "Origin": "https://oracle.example", "Sec-Fetch-Site": "same-site"}, False),
        ({"Host": "oracle.example", "Origin": "https://oracle.example", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Host": "oracle.example", "Sec-Fetch-Site": "none"}, False),
        ({"Host": "", "Origin": "https://"}, False),
    ],
)
def test_forms_come_from_our_own_pages(headers: dict[str, str], own: bool) -> None:
    assert is_own_origin(request(headers)) is own


def read(body: bytes, size: int = 10) -> Form:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    return asyncio.run(read_form(chunks()))


def test_fields_are_read() -> None:
    form = read(b"participant=Ada+%26+Bob&submission=1&submission=2&empty=")
    assert form.text("participant") == "Ada & Bob"
    assert form.every("submission") == ["1", "2"]
    assert (form.text("empty"), form.text("missing"), form.every("missing")) == ("", "", [])


@pytest.mark.parametrize("body", [b"a=" + b"x" * LARGEST, b"\xff\xfe", b"&".join(b"a=1" for _ in range(3_000))])
def test_large_and_unreadable_forms_are_refused(body: bytes) -> None:
    with pytest.raises(FormError):
        read(body, 1_000)
