"""Notes that an administrator reads about the site's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from confide.federation.site.config import SiteConfig
from confide.report.validation.sites import start_notes
from confide.tasks.site import check_site
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, init_again, write_rows


class Picky:
    """A model that fails for rows above a limit."""

    classes_ = (0, 1)

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def predict_proba(self, rows: Any) -> Any:
        if rows[0, 0] > self.limit:
            raise ValueError(f"{rows}")
        return np.full((1, 2), 0.5)


def test_an_administrator_hears_for_how_many_rows_a_model_fails(hospitals: Hospitals, tmp_path: Path) -> None:
    """A running site replies alike in all these cases, so here is where they must show."""
    rows, file, place = tmp_path / "rows.csv", tmp_path / "m.joblib", hospitals.site("north").path
    rows.write_text("died,x\n1,0.25\n0,0.5\n1,0.75\n", encoding="utf-8")
    options = ("--data", rows, "--label", "died", "--model-file", file, "--features", "x")
    joblib.dump(Picky(0.6), file)
    some = confide("site", "add-model", place, "--model-name", "some", *options)
    assert some.code == 0, some.err
    said = " ".join(some.err.split())
    assert "note: the model gave no score for 1 of 3 rows (ValueError)" in said
    assert "not all scores lie between" not in said
    assert "0.75" not in said
    joblib.dump(Picky(0.0), file)
    none = confide("site", "add-model", place, "--model-name", "none", *options)
    assert none.code == 1
    assert "the model could not score any of the rows (ValueError); check that the features" in " ".join(
        none.err.split()
    )
    rows.write_text("died,x\n", encoding="utf-8")
    empty = confide("site", "add-model", place, "--model-name", "empty", *options)
    assert empty.code == 1
    assert "the table has no rows" in empty.err
    assert set(SiteConfig.load(place).models) == {"risk", "some"}


def test_scores_beyond_their_range_are_noted(hospitals: Hospitals, tmp_path: Path) -> None:
    rows = tmp_path / "logits.csv"
    rows.write_text("died,risk\n1,2.5\n0,-1.5\n", encoding="utf-8")
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    answer = confide("site", "add-model", hospitals.site("north").path, "--model-name", "logits", *columns)
    assert answer.code == 0
    assert "--grid uniform:100:-4:4" in answer.err
    assert not any(value in answer.err for value in ("2.5", "1.5"))
    wide = confide(
        "site",
        "add-model",
        hospitals.site("north").path,
        "--model-name",
        "logits",
        *columns,
        "--replace",
        "--range",
        "-4,4",
    )
    assert wide.code == 0, wide.err
    assert "--grid" not in wide.err
    assert SiteConfig.load(hospitals.site("north").path).models["logits"].range == (-4.0, 4.0)


@pytest.mark.few(1)
@pytest.mark.parametrize(("positives", "noted"), [(0, True), (4, True), (5, False)])
def test_an_administrator_hears_of_a_class_that_is_too_small(
    hospitals: Hospitals, tmp_path: Path, positives: int, noted: bool
) -> None:
    rows = tmp_path / "few.csv"
    lines = [f"{int(row < positives)},0.{row + 10}" for row in range(30)]
    rows.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    answers = (
        confide("site", "add-model", hospitals.site("north").path, "--model-name", "few", *columns),
        init_again(hospitals, tmp_path / "site", "--model-name", "few", *columns),
    )
    for answer in answers:
        assert answer.code == 0, answer.err
        assert ("in modes without noise this site will not take part" in answer.err) is noted
        assert "smallest_class" not in answer.out


def test_an_administrator_hears_how_long_scoring_takes(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, others = (write_rows(tmp_path / f"{seed}.csv", seed) for seed in (13, 14))
    columns = ("--label", "died", "--score", "risk", "--data")
    place = hospitals.site("north").path
    assert "--timeout" not in confide("site", "add-model", place, "--model-name", "quick", *columns, some).err
    monkeypatch.setattr("confide.report.validation.sites.SLOW_SECONDS", 0.0)
    answer = confide("site", "add-model", place, "--model-name", "slow", *columns, others)
    assert answer.code == 0, answer.err
    assert "Tell the coordinator, whose first round needs that time (--timeout 60)" in " ".join(answer.err.split())


def test_an_administrator_hears_how_long_comparing_takes(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    place = hospitals.site("north")
    write_rows(place.path / "more.csv", 3)
    with place.config.open("a", encoding="utf-8") as file:
        file.write('\n[models.again]\ndata = "more.csv"\nlabel = "died"\nscore = "risk"\n')
    check = check_site(place.path)
    assert list(start_notes(check)) == []
    monkeypatch.setattr("confide.report.validation.sites.SLOW_SECONDS", 0.0)
    (note,) = start_notes(check)
    assert "comparing the rows of all models took" in note
