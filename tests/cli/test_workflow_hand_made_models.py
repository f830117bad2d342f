"""Files of a workflow may come from anybody: whatever they hold, nothing shows of the rows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import Desk
from tests.cli.workflow_bench import COLUMNS, Bench, bench_at

ODD: list[Any] = [[0.0] * 29, [[0.0]], "x", None, True, {}, 10**400, "NaN", []]


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for bench in bench_at(desk, monkeypatch):
        bench.patients()
        bench.done("train", "patients.csv", *COLUMNS, "--account", "trial", "-o", "model.json")
        yield bench


@pytest.mark.few(5)
@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("field", ["intercept", "weights", "features", "frequencies", "width"])
def test_a_model_of_other_types_is_refused_alike(bench: Bench, field: str, odd: Any) -> None:
    """A list for the intercept was added to the rows, and failed with their number where it had another length."""
    plain = json.loads((bench.folder / "model.json").read_text())
    plain["model"][field] = odd if field in ("intercept", "width") else [odd] * len(plain["model"]["weights"])
    (bench.folder / "odd.json").write_text(json.dumps(plain))
    seen = []
    for rows in (240, 3):
        bench.patients("some.csv", [list(row) for row in _rows(bench)[:rows]])
        ask = ("release", "some.csv", "--model", "odd.json", "-m", "accuracy", "--account", "trial", "--dry-run")
        answer = bench.run(*ask)
        seen.append((answer.code, answer.out, answer.err))
    assert seen[0] == seen[1]
    assert seen[0][0] in (1, 2)
    assert "shapes" not in seen[0][2]
    assert "Traceback" not in seen[0][2]


def _rows(bench: Bench) -> list[list[str]]:
    return [line.split(",") for line in (bench.folder / "patients.csv").read_text().splitlines()[1:]]


def test_private_rows_are_no_public_list_of_words(bench: Bench) -> None:
    """Words to leave out are written into the model, and so published."""
    (bench.folder / "packed.txt.gz").write_bytes(gzip.compress((bench.folder / "patients.csv").read_bytes()))
    (bench.folder / "copy.txt").write_bytes((bench.folder / "patients.csv").read_bytes())
    text = ("-l", "died", "--text", "id", "--account", "trial")
    for option in ("--leave-out", "--vocabulary"):
        for file in ("patients.csv", "copy.txt", "packed.txt.gz"):
            answer = bench.run("train", "patients.csv", *text, option, file, "-o", "words.json")
            assert answer.code in (1, 2)
            assert not Path(bench.folder / "words.json").exists()
    grid = bench.run(
        "release", "patients.csv", "-l", "died", "-s", "age", "-e", "1", "-m", "roc", "--account", "trial",
        "--grid", "public:packed.txt.gz:age:8",
    )  # fmt: skip
    assert grid.code == 2


def test_what_is_unexpected_is_not_shown(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from confide.learning.workflow import Workflow

    def fail(*_: object) -> None:
        raise ValueError("shapes (29,) (1000,)")

    monkeypatch.setattr(Workflow, "counts", fail)
    command = ("release", "patients.csv", "--model", "model.json", "-m", "accuracy", "--account", "trial")
    answer = bench.run(*command)
    assert (answer.code, answer.out) == (1, "")
    assert "29" not in answer.err
    assert "CONFIDE_SHOW_ERRORS" in answer.err
    monkeypatch.setenv("CONFIDE_SHOW_ERRORS", "1")
    with pytest.raises(ValueError, match="shapes"):
        bench.run(*command)
