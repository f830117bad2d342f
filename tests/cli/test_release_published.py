"""`confide release --out`: JSON that may be published holds the release, its day and its price, and nothing private."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

import pytest

import confide
from tests.cli.desk import Desk


def published(desk: Desk, *options: object) -> dict[str, Any]:
    answer = desk.ask("-e", 1, "--account", "secret-account", "--out", desk.folder / "out.json", *options)
    assert answer.code == 0, answer.err
    assert "written: " in answer.err
    found: dict[str, Any] = json.loads((desk.folder / "out.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("metrics", ["auc", "auc,recall"])
def test_it_is_what_is_printed_without_the_ledger(desk: Desk, metrics: str) -> None:
    found = published(desk, "-m", metrics)
    printed = desk.document("-e", 1, "-m", metrics, "--account", "secret-account")
    assert printed.pop("ledger")["account"] == "secret-account"
    assert found == printed
    assert date.fromisoformat(found["released"]) <= date.fromisoformat(found["provenance"]["date"])
    assert found["provenance"].keys() == {"version", "date"}
    assert found["provenance"]["version"] == confide.__version__


def test_the_total_is_that_of_the_account(desk: Desk) -> None:
    published(desk)
    found = published(desk, "-m", "brier")
    assert found["guarantee"]["epsilon"] == 1.0
    assert found["total"] == {**found["total"], "epsilon": 2.0, "delta": 0.0, "neighbours": "replace-one"}
    again = published(desk)  # answered before: what was spent stays
    assert again["total"]["epsilon"] == 2.0


def test_neither_file_nor_ledger_nor_account_nor_digest_is_in_it(desk: Desk) -> None:
    desk.open_account("secret-account", file="rows.csv")
    published(desk, "--report", desk.folder / "out.html")
    for name in ("out.json", "out.html"):
        text = (desk.folder / name).read_text(encoding="utf-8")
        for private in ("secret-account", "rows.csv", "ledger.sqlite", str(desk.folder)):
            assert private not in text, (name, private)
        assert not re.search(r"data-[0-9a-f]{32}|\b[0-9a-f]{64}\b", text), name


def test_it_overwrites_neither_data_nor_ledger(desk: Desk) -> None:
    before = desk.files()
    assert desk.run("release", "rows.csv", "-l", "died", "-s", "risk", "-e", 1, "-o", "out.txt").code == 2
    desk.write("rows.json")
    answer = desk.ask("-e", 1, "--account", "a", "--out", desk.folder / "rows.json", file="rows.json")
    assert answer.code == 2
    assert "is the private file" in answer.err
    assert before["rows.csv"] == (desk.folder / "rows.csv").read_bytes()
