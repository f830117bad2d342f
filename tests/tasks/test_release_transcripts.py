"""Neighbouring files and one sequence of calls give one transcript in Python too, but for the noise."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from confide import Ledger
from confide.errors import ConfideError
from confide.tasks.evaluate import evaluate
from confide.tasks.release import quote_release, release
from tests.cli.test_transcripts import HEAD, NEIGHBOURS, Row, everything_the_same, made_rows

World = Callable[[Sequence[Row], Callable[[Path], list[Any]]], list[str]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few_simulated_tables: None, unpadded_ledgers: None) -> World:
    """Call functions about some rows in a folder of their own, with noise that ignores its input."""
    numbers = iter(range(10))

    def run(rows: Sequence[Row], calls: Callable[[Path], list[Any]]) -> list[str]:
        folder = tmp_path / f"world-{next(numbers)}"
        folder.mkdir()
        lines = [HEAD, *(",".join(map(str, row)) for row in rows)]
        (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.setattr(Ledger, "noise", everything_the_same())
        return [plain(one, folder) for one in calls(folder)]

    return run


def plain(shown: Any, folder: Path) -> str:
    """Return what a caller sees, without the identity of the data and the place."""
    text = repr(shown).replace(str(folder), "folder")
    return re.sub(r"data-[0-9a-f]{32}", "data-x", text)


def tried(task: Callable[..., Any], *arguments: Any, **given: Any) -> Any:
    try:
        found = task(*arguments, **given)
    except ConfideError as error:
        return type(error), str(error)
    return [found.to_dict(), *((found.to_html(), found.notes) if hasattr(found, "notes") else ())]


def every_call(relation: str) -> Callable[[Path], list[Any]]:
    label: dict[str, Any] = {"label": "died"} if relation == "label-only" else {}

    def calls(folder: Path) -> list[Any]:
        book, file = folder / "book.sqlite", folder / "rows.csv"
        with Ledger(book) as ledger:
            ledger.open_account("trial", epsilon=4, data=[file.read_bytes()], neighbours=relation, **label)
            ledger.open_account("named", epsilon=4, data="people", neighbours=relation, **label)
        columns: dict[str, Any] = {"label": "died", "neighbours": relation, "ledger": book}
        frame = pd.read_csv(file)
        return [
            tried(quote_release, file, score="risk", epsilon="1/10", **columns),
            tried(release, file, score="risk", epsilon="1/10", **columns),
            tried(release, file, score="other", epsilon="1/10", **columns),  # the same scores but for the target
            tried(release, file, score="risk", epsilon="1/10", **columns),
            tried(release, file, score="risk", epsilon="1/2", metrics=["roc", "pr"], grid="uniform:8", **columns),
            tried(release, file, score="risk", epsilon=9, **columns),
            tried(release, file, score="risk", epsilon=1, account="named", **columns),
            tried(release, file, score="agee", epsilon=1, **columns),
            tried(release, frame, score="risk", epsilon=1, data_name="people", **columns),
            tried(quote_release, frame, score="other", epsilon=1, data_name="people", **columns),
        ]

    return calls


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_neighbours_have_one_transcript(world: World, relation: str) -> None:
    rows = made_rows()
    one, other = (world(found, every_call(relation)) for found in (rows, NEIGHBOURS[relation](rows)))
    assert one == other
    assert sum("Error" in shown[:60] for shown in one) == 3


def test_the_test_sees_what_depends_on_the_rows(world: World) -> None:
    rows = made_rows()

    def exact(folder: Path) -> list[Any]:
        return [tried(evaluate, folder / "rows.csv", label="died", score="risk")]

    assert world(rows, exact) != world(NEIGHBOURS["replace-one"](rows), exact)
