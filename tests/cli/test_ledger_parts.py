"""`confide ledger` where answers read parts of the rows, or are no metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from confide.privacy.prepared import Part
from tests.cli.commands import confide
from tests.ledger.asking import Book, choose

ONE, OTHER = Part("halves by hash", "first"), Part("halves by hash", "second")


@pytest.fixture
def used(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    with Book(path) as ledger:
        ledger.release([choose("1/3", part=ONE), choose("1/4", part=OTHER), choose("1/8")], account="trial")
    return path


def test_parts_are_shown_with_what_they_cost(used: Path) -> None:
    answer = confide("ledger", "show", "--ledger", used)
    assert answer.code == 0, answer.err
    for expected in (
        "0.4583",
        "By part of the rows",
        "part first of halves by hash",
        "0.3333",
        "0.25",
        "the most expensive",
    ):
        assert expected in answer.out
    (account,) = json.loads(confide("ledger", "show", "--ledger", used, "--json").out)["accounts"]
    assert [(part["name"], part["spent"]["epsilon"]) for part in account["parts"]] == [
        ("first", pytest.approx(1 / 3)),
        ("second", 0.25),
    ]
    assert account["spent"]["epsilon"] == pytest.approx(11 / 24)


def test_history_names_the_part_and_the_answer(used: Path) -> None:
    answer = confide("ledger", "history", "trial", "--ledger", used)
    assert answer.code == 0, answer.err
    words = " ".join(answer.out.split())
    assert "charge: choice, noise" in words
    assert "of 3 features" in words
    listed = json.loads(confide("ledger", "history", "trial", "--ledger", used, "--json").out)["entries"]
    charges = [entry for entry in listed if entry["kind"] == "charge"]
    of_data = [replace(part, partition="halves by hash, in data of trial").to_dict() for part in (ONE, OTHER)]
    assert [entry["request"].get("part") for entry in charges] == [*of_data, None]
    assert [entry["epsilon"] for entry in charges] == [pytest.approx(1 / 3), 0.25, 0.125]
