"""The same rows and scores under two names are refused, when a model is added and when a site starts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from confide.tasks.site import check_site
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, near


def test_the_same_rows_under_another_name_are_refused_with_how_to_share_one_entry(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the same path, a link, a copy, the rows in another order, another label: whatever would be subtracted."""
    place, rows = hospitals.site("north"), hospitals.rows("north")
    lines = rows.read_text(encoding="utf-8").splitlines()
    (tmp_path / "linked.csv").symlink_to(rows)
    shutil.copy(rows, tmp_path / "copied.csv")
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    other = [f"{number % 2},{line.split(',')[1]}" for number, line in enumerate(lines[1:])]
    (tmp_path / "other.csv").write_text("\n".join([lines[0], *other]) + "\n")
    before = place.config.read_text(encoding="utf-8")
    for data in (rows, *(tmp_path / f"{name}.csv" for name in ("linked", "copied", "turned", "other"))):
        columns = ("--data", data, "--label", "died", "--score", "risk")
        answer = confide("site", "add-model", place.path, "--model-name", "again", *columns)
        assert answer.code == 2, data
        assert "confide site add-model FOLDER --model-name again --same-as risk" in answer.err
        assert place.config.read_text(encoding="utf-8") == before
    shared = confide("site", "add-model", place.path, "--model-name", "again", "--same-as", "risk")
    assert shared.code == 0, shared.err
    status = json.loads(confide("site", "status", place.path, "--json").out)
    assert status["models"]["again"] == status["models"]["risk"] | {"same_as": "risk"}
    assert "the same as risk" in confide("site", "status", place.path).out
    near(hospitals, monkeypatch)
    assert hospitals.ask("--mode", "disclosure-control").code == 0
    status = json.loads(confide("site", "status", place.path, "--json").out)
    assert status["answered_exactly"] == ["again", "risk"]


def test_rows_that_were_asked_about_keep_their_name(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model was answered about, then taken out of site.toml, and its file moved."""
    near(hospitals, monkeypatch)
    assert hospitals.ask("--mode", "disclosure-control").code == 0
    place, moved = hospitals.site("north"), tmp_path / "moved.csv"
    shutil.copy(hospitals.rows("north"), moved)
    place.config.write_text('[site]\nname = "north"\n', encoding="utf-8")
    columns = ("--data", moved, "--label", "died", "--score", "risk")
    answer = confide("site", "add-model", place.path, "--model-name", "again", *columns)
    assert answer.code == 2
    assert "were asked about without noise under the name 'risk'" in answer.err
    assert confide("site", "add-model", place.path, "--model-name", "risk", *columns).code == 0


def test_a_site_does_not_start_with_copies_of_one_file_under_two_names(hospitals: Hospitals) -> None:
    place = hospitals.site("north")
    shutil.copy(hospitals.rows("north"), place.path / "copy.csv")
    with place.config.open("a", encoding="utf-8") as file:
        file.write('\n[models.again]\ndata = "copy.csv"\nlabel = "died"\nscore = "risk"\n')
    answer = confide("site", "start", place.path, "--background")
    assert answer.code == 2
    assert "have the same rows and scores" in answer.err
    assert "same_as" in answer.err
    assert not (place.path / "run").exists()


def test_a_site_does_not_start_with_a_twin_of_a_column_under_another_name(hospitals: Hospitals) -> None:
    """Settings and bytes of files differ; rows and scores do not. Only answers without noise could be subtracted."""
    place = hospitals.site("north")
    head, *lines = hospitals.rows("north").read_text().splitlines()
    score = head.split(",").index("risk")
    (place.path / "twin.csv").write_text(
        "\r\n".join((f"{head},twin", *(f"{line},{line.split(',')[score]}" for line in lines)))
    )
    with place.config.open("a", encoding="utf-8") as file:
        file.write('\n[models.again]\ndata = "twin.csv"\nlabel = "died"\nscore = "twin"\n')
    answer = confide("site", "start", place.path, "--background")
    assert answer.code == 2
    assert "have the same rows and scores" in answer.err
    assert not (place.path / "run").exists()
    text = place.policy.read_text(encoding="utf-8")
    place.policy.write_text(re.sub(r"(?m)^modes = .*$", 'modes = ["private"]', text), encoding="utf-8")
    assert check_site(place.path).name == "north"


def test_a_site_does_not_start_with_a_policy_that_cannot_be_read(hospitals: Hospitals) -> None:
    hospitals.site("north").policy.write_text("minimum_sell = 3\n", encoding="utf-8")
    answer = confide("site", "start", hospitals.site("north").path, "--background")
    assert answer.code == 2
    assert "Did you mean 'minimum_cell'?" in answer.err
    assert not (hospitals.site("north").path / "run").exists()
