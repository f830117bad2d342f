"""Keys that a ledger derives: always the same, for one purpose and one ledger alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide import Ledger
from confide.errors import ParameterError
from confide.ledger.place import key_file


def test_keys_differ_by_purpose_facts_and_ledger(tmp_path: Path) -> None:
    with Ledger(tmp_path / "one.sqlite") as one, Ledger(tmp_path / "two.sqlite") as two:
        for ledger in (one, two):
            ledger.open_account("trial", epsilon=1)
        key = one.derive_key("split", "facts")
        assert len(key) == 32
        assert one.derive_key("split", "facts") == key
        others = {one.derive_key("split", "other"), one.derive_key("splitf", "acts"), two.derive_key("split", "facts")}
        assert len(others | {key}) == 4
        own = key_file(one.place).load()
    assert key != own
    with Ledger(tmp_path / "one.sqlite") as again:
        assert again.derive_key("split", "facts") == key


def test_a_ledger_that_is_not_there_derives_nothing(tmp_path: Path) -> None:
    with Ledger(tmp_path / "none.sqlite") as ledger, pytest.raises(ParameterError, match="no ledger"):
        ledger.derive_key("split")
