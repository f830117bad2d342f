"""A site that Python administers is the one that `confide site` makes, with the same checks."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import pytest

from confide.errors import ConfideError, UsageError
from confide.federation.crypto.identity import readable_fingerprint
from confide.federation.policy import Policy
from confide.federation.site.config import SiteConfig
from confide.tasks.site import NewSite, add_model, check_site, forget_model, init_site, stop_site
from confide.tasks.site_status import site_status
from tests.cli.commands import confide
from tests.cli.hospitals import COLUMNS, Hospitals, init_again, near, write_rows
from tests.report.test_evaluation_page import Elements

ROWS = {"model_name": "risk", "label": "died", "score": "risk"}


def new_site(hospitals: Hospitals, folder: Path, **options: Any) -> NewSite:
    kit = hospitals.signed("north", folder)
    return init_site(kit, folder, **{"data": hospitals.rows("north"), **ROWS, **options})


def test_a_new_site_has_the_files_of_the_command(provisioned: Hospitals, tmp_path: Path) -> None:
    made = new_site(provisioned, tmp_path / "python", studies=["a"], epsilon_in_all=5, epsilon_per_study="1/4")
    options = ("--study", "a", "--budget", "5", "--epsilon-per-study", "0.25")
    answer = init_again(provisioned, tmp_path / "command", *COLUMNS, "--data", provisioned.rows("north"), *options)
    assert answer.code == 0, answer.err
    for name in ("site.toml", "policy.toml"):
        assert (made.folder.path / name).read_text() == (tmp_path / "command" / name).read_text()
    files = [sorted(path.name for path in (tmp_path / one).iterdir()) for one in ("python", "command")]
    assert files[0] == files[1]
    assert Policy.load(made.folder.policy).epsilon_per_study == Fraction(1, 4)


def test_findings_about_rows_are_not_printed_with_a_result(provisioned: Hospitals, tmp_path: Path) -> None:
    made = new_site(provisioned, tmp_path / "site")
    assert (made.check.beyond_range, made.check.small_class, made.check.unscored) == (False, False, "")
    assert not any(name in repr(made) for name in ("counts", "unscored", "beyond_range", "small_class"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "rsk"}, "Did you mean 'risk'"),
        ({"score": None}, "`score`"),
        ({"label": "risk"}, "both label and score"),
        ({"data": "gone.csv"}, "there is no file"),
        ({"epsilon_in_all": "none"}, "epsilon"),
        ({"studies": ["a/b"]}, "the name of a study"),
        ({"score_range": (4.0, -4.0)}, "the lower first"),
    ],
)
def test_wrong_parameters_leave_nothing_behind(
    provisioned: Hospitals, tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        new_site(provisioned, tmp_path / "site", **options)
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"site.key", "request.key", "north.request"}


def test_a_status_is_that_of_the_command(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    assert hospitals.ask("--mode", "private", "--epsilon", "1/2").code == 0
    place = hospitals.site("north").path
    status = site_status(place)
    assert status.to_dict() == json.loads(confide("site", "status", place, "--json").out)
    assert status.budget is not None
    assert (status.budget.spent, status.budget.remaining) == (Fraction(1, 2), Fraction(5, 2))
    shown = status._repr_html_()
    assert {"table", "script"} & set(Elements(shown).tags) == {"table"}
    assert all(
        escape(word) in shown
        for word in (status.name, readable_fingerprint(status.fingerprint), "risk", "Policy (policy.toml)")
    )
    assert len(site_status(place, requests=1).requests) == 1
    assert not status.running
    assert stop_site(place) is False


def test_a_second_name_for_the_same_rows_is_refused(hospitals: Hospitals, tmp_path: Path) -> None:
    place, copy = hospitals.site("north"), tmp_path / "copy.csv"
    shutil.copy(hospitals.rows("north"), copy)
    with pytest.raises(UsageError, match="exact answers under two names"):
        add_model(place.path, "again", data=copy, label="died", score="risk")
    assert add_model(place.path, "again", same_as="risk").check is None
    assert SiteConfig.load(place.path).aliases == {"again": "risk"}
    with pytest.raises(UsageError, match="`same_as` takes rows and scores"):
        add_model(place.path, "third", same_as="risk", label="died")
    with pytest.raises(UsageError, match="`data`, `label`"):
        add_model(place.path, "third", label="died")


def test_a_model_is_replaced_only_if_that_is_wanted(hospitals: Hospitals, tmp_path: Path) -> None:
    place, rows = hospitals.site("north").path, write_rows(tmp_path / "other.csv", 9)
    with pytest.raises(UsageError, match="`replace`"):
        add_model(place, "risk", data=rows, label="died", score="risk")
    added = add_model(place, "risk", data=rows, label="died", score="risk", replace=True, studies=["more"])
    assert added.check is not None
    assert not added.needs_restart
    assert SiteConfig.load(place).models["risk"].data == str(rows)
    assert Policy.load(added.folder.policy).studies == ("stroke", "more")
    assert check_site(place).seconds is None


def test_forgetting_needs_a_yes(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    place = hospitals.site("north").path
    assert hospitals.ask("--mode", "disclosure-control").code == 0
    with pytest.raises(UsageError, match="`yes`"):
        forget_model(place, "risk")
    assert site_status(place).answered_exactly == ("risk",)
    forget_model(place, "risk", yes=True)
    assert site_status(place).answered_exactly == ()
    with pytest.raises(ConfideError, match="nothing to forget"):
        forget_model(place, "risk", yes=True)
