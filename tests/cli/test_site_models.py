"""`confide site add-model`: models are added, replaced and named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from confide.federation.site.config import SiteConfig
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, write_rows


def test_another_model_can_be_added_and_replaced(hospitals: Hospitals, tmp_path: Path) -> None:
    place, rows = hospitals.site("north"), write_rows(tmp_path / "other.csv", 9)
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    assert confide("site", "add-model", place.path, "--model-name", "sepsis", *columns).code == 0
    assert set(SiteConfig.load(place.path).models) == {"risk", "sepsis"}
    again = confide("site", "add-model", place.path, "--model-name", "risk", *columns)
    assert again.code == 2
    assert "--replace" in again.err
    newer = write_rows(tmp_path / "newer.csv", 10)
    columns = ("--data", newer, "--label", "died", "--score", "risk")
    assert confide("site", "add-model", place.path, "--model-name", "risk", *columns, "--replace").code == 0
    assert SiteConfig.load(place.path).models["risk"].data == str(newer.resolve())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--same-as", "rsk"), "Did you mean 'risk'?"),
        (("--same-as", "again"), "no other model 'again'"),
        (("--same-as", "risk", "--label", "died"), "leave the other options out"),
        (("--label", "died"), "--same-as MODEL"),
        (("--same-as", "risk", "--study", "a/b"), "the name of a study"),
    ],
)
def test_what_is_wrong_with_another_name_is_said(provisioned: Hospitals, options: tuple[str, ...], said: str) -> None:
    place = provisioned.site("north")
    before = place.config.read_text(encoding="utf-8"), place.policy.read_text(encoding="utf-8")
    answer = confide("site", "add-model", place.path, "--model-name", "again", *options)
    assert answer.code == 2
    assert said in answer.err
    assert (place.config.read_text(encoding="utf-8"), place.policy.read_text(encoding="utf-8")) == before


def test_a_running_site_is_restarted_for_data_in_another_folder(hospitals: Hospitals, tmp_path: Path) -> None:
    place = hospitals.site("north")
    (place.path / "run").mkdir(exist_ok=True)
    note = {"pid": os.getpid(), "began": psutil.Process().create_time(), "kit": str(place.kit)}
    (place.path / "run" / "engine.json").write_text(json.dumps(note))
    columns = ("--label", "died", "--score", "risk")
    data = place.path / SiteConfig.load(place.path).models["risk"].data
    more = write_rows(data.with_name("more.csv"), 8)
    beside = confide("site", "add-model", place.path, "--model-name", "same", "--data", more, *columns)
    (tmp_path / "elsewhere").mkdir()
    rows = write_rows(tmp_path / "elsewhere" / "other.csv", 9)
    elsewhere = confide("site", "add-model", place.path, "--model-name", "sepsis", "--data", rows, *columns)
    assert (beside.code, elsewhere.code) == (0, 0)
    assert "Restart it" not in beside.err
    assert f"Restart it:\n       confide site stop {place.path}" in elsewhere.err


@pytest.mark.parametrize(("typed", "said"), [("4", "two numbers with a comma"), ("4,-4", "the lower first")])
def test_a_range_is_two_numbers(hospitals: Hospitals, typed: str, said: str) -> None:
    columns = ("--data", hospitals.rows("north"), "--label", "died", "--score", "risk")
    answer = confide("site", "add-model", hospitals.site("north").path, "--model-name", "x", *columns, "--range", typed)
    assert answer.code == 2
    assert said in answer.err
