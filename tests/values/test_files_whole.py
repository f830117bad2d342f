"""A file is replaced, or made, whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from confide.atomic_files import create_file, replace_file, replacement


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for text in ("old", "new"):
        replace_file(path, text)
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_rights_are_the_umask_s_or_the_owner_s_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        replace_file(tmp_path / "shared.txt", "")
        replace_file(tmp_path / "own.txt", "", owner_only=True)
        create_file(tmp_path / "made.txt", lambda unfinished: unfinished.write_text(""))
    finally:
        os.umask(before)
    assert [mode(tmp_path / f"{name}.txt") for name in ("shared", "own", "made")] == [0o666 & ~mask, 0o600, 0o600]


def fail_while_writing(path: Path) -> None:
    with replacement(path) as unfinished:
        unfinished.write_text("half")
        raise KeyError


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    replace_file(path, "old")
    with pytest.raises(KeyError):
        fail_while_writing(path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_a_file_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "key"
    create_file(path, lambda unfinished: unfinished.write_text("first"))
    with pytest.raises(FileExistsError):
        create_file(path, lambda unfinished: unfinished.write_text("second"))
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]
