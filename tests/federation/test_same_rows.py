"""The same rows under two names, found by what files hold: where an administrator sets a site up, and nowhere else."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from confide.errors import ParameterError
from confide.federation.site.checks import ANYWHERE, check_copies, check_rows_apart, require_new_rows
from confide.federation.site.config import SiteConfig, SiteModel

ROWS = "event,risk,other\n1,0.5,0.5\n0,0.25,0.125\n1,0.75,0.75\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "m.onnx").write_bytes(b"model")
    for name in ("rows.csv", "m.onnx"):
        shutil.copy(tmp_path / name, tmp_path / f"copy-{name}")
    (tmp_path / "changed.csv").write_text(ROWS.replace("0.25", "0.26"))
    return tmp_path


def by_column(**terms: Any) -> SiteModel:
    return SiteModel(**{"data": "rows.csv", "label": "event", "score": "risk", **terms})


def run_here(**terms: Any) -> SiteModel:
    return SiteModel(
        **{"data": "rows.csv", "label": "event", "features": ("risk", "other"), "model_file": "m.onnx", **terms}
    )


@pytest.mark.parametrize(
    ("one", "other", "copies"),
    [
        (by_column(), by_column(data="copy-rows.csv"), True),
        (by_column(), by_column(data="changed.csv"), False),
        (by_column(), by_column(data="absent.csv"), False),
        (by_column(), by_column(data="copy-rows.csv", score="other"), False),
        (run_here(), run_here(data="copy-rows.csv"), True),
        (run_here(), run_here(model_file="copy-m.onnx"), True),
        (run_here(), run_here(data="copy-rows.csv", model_file="copy-m.onnx", features=("other", "risk")), True),
        (run_here(), run_here(model_file="absent.onnx"), False),
        (run_here(), run_here(data="copy-rows.csv", features=("risk",)), False),
        (run_here(), by_column(data="copy-rows.csv"), False),
    ],
)
def test_copies_of_files_are_one_entry(folder: Path, one: SiteModel, other: SiteModel, copies: bool) -> None:
    config = SiteConfig(name="a", models={"m": one, "n": other}, folder=folder)
    if copies:
        with pytest.raises(ParameterError, match="'m' and 'n' have the same rows and scores"):
            check_copies(config)
    else:
        check_copies(config)


@pytest.mark.parametrize(
    ("rows", "refused"),
    [
        (ROWS, True),
        ("x,event,risk\n1,0,0.75\n2,1,0.5\n3,0,0.25\n", True),  # other columns, another order, other labels
        (ROWS.replace("0.25", "0.26"), False),
        (ROWS + "0,0.25,0.5\n", False),
    ],
)
def test_a_new_model_has_other_scores_than_those_that_are_there(folder: Path, rows: str, refused: bool) -> None:
    (folder / "new.csv").write_text(rows)
    config = SiteConfig(name="a", models={"m": by_column(), "gone": by_column(data="absent.csv")}, folder=folder)
    model = by_column(data="new.csv", range=(0.0, 0.6))
    counts = SiteConfig(name="a", models={"n": by_column(data="new.csv", range=ANYWHERE)}, folder=folder).counts("n")
    if refused:
        with pytest.raises(ParameterError, match=r"model 'm' has these rows and scores already.*--same-as m"):
            require_new_rows(config, "n", model, counts)
        require_new_rows(config, "m", model, counts)  # in its own place
    else:
        require_new_rows(config, "n", model, counts)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (by_column(score="twin"), True),
        (by_column(score="twin", label="reverse"), True),
        (by_column(data="rows.csv.gz"), True),
        (by_column(data="lines.csv"), True),
        (by_column(data="shuffled.csv"), True),
        (by_column(score="other"), False),
        (by_column(data="changed.csv"), False),
        (by_column(data="absent.csv"), False),
        (by_column(data="none.csv"), False),
    ],
)
def test_the_same_rows_are_found_in_whatever_file_and_column(folder: Path, other: SiteModel, same: bool) -> None:
    head, *lines = ROWS.splitlines()
    rows = [f"{line},{line.split(',')[1]},{1 - int(line[0])}" for line in lines]
    text = "\n".join((f"{head},twin,reverse", *rows)) + "\n"
    (folder / "rows.csv").write_text(text)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "lines.csv").write_bytes(text.replace("\n", "\r\n").encode())
    (folder / "shuffled.csv").write_text("\n".join((f"{head},twin,reverse", *rows[::-1])) + "\n")
    (folder / "none.csv").write_text(head + "\n")
    config = SiteConfig(name="a", models={"m": by_column(), "n": other}, folder=folder)
    check_copies(config)
    if same:
        with pytest.raises(ParameterError, match="'m' and 'n' have the same rows and scores"):
            check_rows_apart(config)
    else:
        check_rows_apart(config)
