"""Each part of what is sealed is covered by its seal, and an anchor only moves on, whoever writes it."""

from __future__ import annotations

import fcntl
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from confide.errors import RecordsError
from confide.records import anchor as anchors
from confide.records.anchor import Anchor
from confide.records.chain import End, Head, Link, register_fits, register_seal

KEY = bytes(32)
LINK = Link.following(4, "5ea1", "text", topic="topic", chain="a", key=KEY)
HEAD = Head.of("a", 5, LINK.seal, "state", KEY)


@pytest.mark.parametrize(
    "changed",
    [
        {"chain": "b"},
        {"number": 6},
        {"topic": None},
        {"topic": "another"},
        {"text": "another"},
        {"previous": "another"},
        {"seal": "another"},
    ],
    ids=str,
)
def test_an_entry_fits_no_other_place(changed: dict[str, str]) -> None:
    """Not even where whoever moves it writes the new place into the row."""
    moved = replace(LINK, **changed)  # type: ignore[arg-type]
    assert LINK.is_sealed("a", KEY)
    assert not moved.is_sealed(moved.chain, KEY)
    assert not LINK.is_sealed("b", KEY)


@pytest.mark.parametrize(
    "changed",
    [{"chain": "b"}, {"number": 6}, {"last": "another"}, {"state": "another"}, {"seal": "another"}],
    ids=str,
)
def test_a_head_fits_no_other_end(changed: dict[str, str]) -> None:
    assert HEAD.is_sealed(KEY)
    assert not replace(HEAD, **changed).is_sealed(KEY)  # type: ignore[arg-type]


@pytest.mark.parametrize("changed", [{"chain": "b"}, {"number": 6}, {"last": "another"}], ids=str)
def test_the_register_fits_no_other_heads(changed: dict[str, str]) -> None:
    register = register_seal([HEAD], KEY)
    assert register_fits(register, [HEAD], KEY)
    assert not register_fits(register, [replace(HEAD, **changed)], KEY)  # type: ignore[arg-type]
    assert not register_fits(register, [], KEY)


@pytest.fixture
def anchor(tmp_path: Path) -> Anchor:
    made = Anchor(tmp_path / "anchor", error=RecordsError)
    made.advance(KEY, {"a": End(number=5, last="5ea1"), "b": End(number=1, last="f00d")})
    return made


@pytest.mark.parametrize(("part", "other"), [('"a"', '"c"'), ("5,", "6,"), ("5ea1", "5ea2")])
def test_an_anchor_fits_no_other_ends(anchor: Anchor, part: str, other: str) -> None:
    text = anchor.path.read_text()
    assert text.count(part) == 1
    anchor.path.write_text(text.replace(part, other))
    with pytest.raises(RecordsError, match="damaged"):
        anchor.read(KEY)


def test_an_anchor_does_not_move_back_where_another_end_moves_on(anchor: Anchor) -> None:
    other = Anchor(anchor.path, error=RecordsError)
    other.advance(KEY, {"a": End(number=3, last="01d"), "b": End(number=2, last="fee1")})
    assert anchor.read(KEY) == {"a": End(number=5, last="5ea1"), "b": End(number=2, last="fee1")}


def test_an_anchor_is_written_by_one_process_at_a_time(anchor: Anchor) -> None:
    """Whoever reads it before another process wrote would write the other's ends away."""
    late = threading.Thread(target=Anchor(anchor.path, error=RecordsError).advance, args=(KEY, {"c": End(number=1)}))
    with anchor.path.with_name("anchor.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        late.start()
        late.join(0.3)
        assert late.is_alive()
        assert "c" not in (anchor.read(KEY) or {})
    late.join(30)
    assert "c" in (anchor.read(KEY) or {})


def test_what_another_process_wrote_is_on_the_disk_before_this_one_goes_on(
    anchor: Anchor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other may have given the file its name, and not have brought the folder to the disk yet."""
    flushed: list[Path] = []
    monkeypatch.setattr(anchors, "flush", flushed.append)
    late = Anchor(anchor.path, error=RecordsError)
    for _ in range(2):
        late.advance(KEY, {"a": End(number=5, last="5ea1")})
        assert flushed == [anchor.path.parent], "once for each version of the file"
    Anchor(anchor.path, error=RecordsError).advance(KEY, {"a": End(number=6, last="ab1e")})
    flushed.clear()
    late.advance(KEY, {"a": End(number=6, last="ab1e")})
    assert flushed == [anchor.path.parent]
