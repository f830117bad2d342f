"""A file in a form arrives as it was sent, however the body is cut, and other bodies are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.server.pages.multipart import FRAMING, FormFile, UploadError, boundary_of

BOUNDARY = b"----WebKitFormBoundary7MA4YWxkTrZu0gW"
TYPE = f"multipart/form-data; boundary={BOUNDARY.decode()}"


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    file = "" if filename is None else f'; filename="{filename}"\r\nContent-Type: text/csv'
    head = f'Content-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    return b"--" + BOUNDARY + b"\r\n" + head.encode() + content + b"\r\n"


def body(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--" + BOUNDARY + b"--\r\n"


def received(whole: bytes, sizes: list[int], content_type: str = TYPE) -> tuple[str, bytes]:
    async def chunks() -> AsyncIterator[bytes]:
        rest, turn = whole, 0
        while rest:
            size = sizes[turn % len(sizes)]
            turn += 1
            yield rest[:size]
            rest = rest[size:]

    async def read() -> tuple[str, bytes]:
        file = FormFile(chunks(), content_type)
        name = await file.begin()
        return name, b"".join([piece async for piece in file.content()])

    return asyncio.run(read())


CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from([b"\r\n", b"--", BOUNDARY, BOUNDARY[:9], b"\r\n--", b"id,score\n", b"\x00"])).map(
        b"".join
    ),
).filter(lambda content: b"\r\n--" + BOUNDARY not in b"\r\n" + content)


@given(content=CONTENTS, sizes=st.lists(st.integers(1, 80), min_size=1, max_size=5))
def test_the_file_is_what_was_sent_however_it_is_cut(content: bytes, sizes: list[int]) -> None:
    whole = body(part("note", b"hello"), part("file", content, "scores.csv"), part("last", b"x"))
    assert received(whole, sizes) == ("scores.csv", content)


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (body(part("file", b"id,score\n", "a.csv"))[:-30], "ended early"),
        (body(part("file", b"id,score\n", "a.csv"), part("file", b"x", "b.csv")), "more than one file"),
        (body(part("file", b"not a file")), "no file"),
        (body(part("other", b"x", "a.csv")), "no file"),
        (body(*(part("note", b"x") for _ in range(9))), "too many parts"),
        (body(part("note", b"x" * (FRAMING + 1)), part("file", b"x", "a.csv")), "too large"),
        (body(*(part("n" * 3_000, b"x") for _ in range(3)), part("file", b"x", "a.csv")), "too large"),
        (b"this is no form at all", "damaged"),
        (b"", "no file"),
    ],
)
def test_other_bodies_are_refused(whole: bytes, reason: str) -> None:
    for size in (7, 1_000, 10**6):
        with pytest.raises(UploadError, match=reason):
            received(whole, [size])


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/csv",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        f"multipart/form-data; boundary={'x' * 201}",
    ],
)
def test_other_content_types_are_refused(content_type: str) -> None:
    with pytest.raises(UploadError, match="multipart/form-data"):
        boundary_of(content_type)
