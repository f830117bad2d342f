"""`confide site`: what is written, what is looked at before, what an administrator is shown and what never."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zipfile
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from confide.federation.flare.federation import Federation
from confide.federation.policy import Policy
from confide.federation.policy_template import default_policy
from confide.federation.question import Question
from confide.federation.site.data import SiteConfig
from confide.federation.site.register import Register
from confide.ledger.ledger import Ledger
from tests.cli.commands import Answer, confide
from tests.cli.hospitals import COLUMNS, NAMES, Hospitals, near, write_rows

KIT = ("kits", "north.zip")


def fresh(provisioned: Hospitals, folder: Path, *options: object) -> Answer:
    """Set up another site from the same kit."""
    return confide("site", "init", provisioned.coordinator.joinpath(*KIT), folder, *options)


def test_a_site_is_its_owners_alone(provisioned: Hospitals) -> None:
    place = provisioned.site("north")
    assert {"site.toml", "site.key", "policy.toml", "ledger.db", "kit"} <= {path.name for path in place.path.iterdir()}
    for path in (place.path, *place.path.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert place.policy.read_text(encoding="utf-8") == default_policy(studies=["stroke"])
    model = SiteConfig.load(place.path).models["risk"]
    assert model.data == str(provisioned.rows("north").resolve())
    with Ledger(place.ledger) as ledger:
        (account,) = ledger.accounts()
    assert account.caps.total.epsilon == 3
    assert account.spent.epsilon == 0


def test_it_ends_by_saying_what_to_do_next(provisioned: Hospitals, tmp_path: Path) -> None:
    answer = fresh(provisioned, tmp_path / "site", *COLUMNS, "--data", provisioned.rows("north"))
    assert answer.code == 0, answer.err
    assert f"confide site start {tmp_path / 'site'}" in answer.err
    assert "policy.toml" in answer.err
    assert "Compare fingerprints with the other sites by telephone" in answer.err
    status = json.loads(confide("site", "status", tmp_path / "site", "--json").out)
    assert f"for other sites to pin:\n  {status['fingerprint']}" in answer.out


def test_budgets_that_are_asked_for_stand_in_the_policy(provisioned: Hospitals, tmp_path: Path) -> None:
    options = (*COLUMNS, "--data", provisioned.rows("north"), "--budget", "5", "--epsilon-per-study", "0.25", "--json")
    answer = fresh(provisioned, tmp_path / "site", *options)
    assert answer.code == 0, answer.err
    policy = Policy.load(tmp_path / "site" / "policy.toml")
    assert (policy.epsilon_in_all, policy.epsilon_per_study) == (Fraction(5), Fraction(1, 4))
    assert json.loads(answer.out)["ledger"] == {
        "account": "validation",
        "spent": 0.0,
        "remaining": 5.0,
        "cap": 5.0,
        "studies": {},
    }


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--label", "died", "--score", "rsk"), 2, "Did you mean 'risk'?"),
        (("--label", "died"), 2, "--score"),
        (("--label", "died", "--score", "risk", "--model-file", "ROWS", "--features", "risk"), 2, "--score"),
        (("--label", "died", "--model-file", "ROWS"), 2, "features"),
        (("--label", "died", "--model-file", "gone.onnx", "--features", "risk"), 2, "there is no file"),
        (("--label", "risk", "--score", "risk"), 2, "both label and score"),
        (("--label", "risk", "--score", "died"), 1, "label"),
        (("--label", "died", "--score", "risk", "--budget", "none"), 2, "epsilon"),
        (("--label", "died", "--score", "risk", "--positive", "yes"), 2, "positive"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    provisioned: Hospitals, tmp_path: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    rows = provisioned.rows("north")
    given = [rows if option == "ROWS" else option for option in options]
    answer = fresh(provisioned, tmp_path / "site", "--model-name", "risk", "--data", rows, *given)
    assert answer.code == code, answer.err
    assert said in answer.err
    assert list(tmp_path.iterdir()) == []


def test_rows_that_cannot_be_counted_are_not_quoted(provisioned: Hospitals, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("died,risk\n1,0.7134\n0,\n1,0.2718\n", encoding="utf-8")
    answer = fresh(provisioned, tmp_path / "site", *COLUMNS, "--data", rows)
    assert answer.code == 1
    assert not any(value in answer.err + answer.out for value in ("0.7134", "0.2718"))
    assert not (tmp_path / "site").exists()


def test_a_folder_that_holds_something_is_refused(provisioned: Hospitals, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    answer = fresh(provisioned, tmp_path, *COLUMNS, "--data", provisioned.rows("north"))
    assert answer.code == 2
    assert "exists already" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("existed", [False, True])
def test_a_file_that_is_no_kit_leaves_nothing_behind(provisioned: Hospitals, tmp_path: Path, existed: bool) -> None:
    kit, folder = tmp_path / "kit.zip", tmp_path / "site"
    with zipfile.ZipFile(kit, "w") as packed:
        packed.writestr("../evil", "x")
    if existed:
        folder.mkdir()
    answer = confide("site", "init", kit, folder, *COLUMNS, "--data", provisioned.rows("north"))
    assert answer.code == 1
    assert "no kit" in answer.err
    assert folder.exists() is existed
    assert not existed or list(folder.iterdir()) == []


def test_status_shows_the_fingerprint_and_nothing_of_the_rows(provisioned: Hospitals) -> None:
    place = provisioned.site("south")
    document = json.loads(confide("site", "status", place.path, "--json").out)
    own = load_pem_private_key(place.key.read_bytes(), password=None)
    fingerprint = sha256(own.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()
    assert document["schema"] == "confide.site/1"
    assert (document["name"], document["fingerprint"]) == ("south", fingerprint)
    assert (document["running"], document["pid"], document["requests"]) == (False, None, [])
    text = confide("site", "status", place.path)
    assert fingerprint in text.out
    assert "not running" in text.out
    port = Federation.load(provisioned.coordinator).port
    home = {name: document[name] for name in ("federation", "server", "port", "connected")}
    assert home == {"federation": "stroke", "server": "localhost", "port": port, "connected": False}
    assert f"Federation stroke, server localhost, port {port}: not connected\n" in text.out
    assert max(len(line.rstrip()) for line in text.out.splitlines()) <= 110


def test_status_at_eighty_columns_is_readable(provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.cli.output._PIPE_WIDTH", 80)
    text = confide("site", "status", provisioned.site("south").path)
    tables = text.out.partition("Models")[2]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= 80
    assert "private: most epsilon in all" in text.out


def test_status_tells_what_was_asked_and_spent(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    assert hospitals.ask("--mode", "private", "--epsilon", "1/2").code == 0
    assert hospitals.ask("--mode", "private", "--epsilon", "2").code == 1
    document = json.loads(confide("site", "status", hospitals.site("north").path, "--json").out)
    assert document["ledger"] | {"account": ""} == {
        "account": "",
        "spent": 0.5,
        "remaining": 2.5,
        "cap": 3.0,
        "studies": {"stroke": 0.5},
    }
    assert [line["state"] for line in document["requests"]] == ["answered", "answered", "refused"]
    assert document["requests"][-1]["coordinator"] == "coordinator@stroke.confide"
    text = " ".join(confide("site", "status", hospitals.site("north").path, "--requests", "1").out.split())
    assert "epsilon_per_study" in text
    assert "takes part" not in text
    with hospitals.site("north").log.open("a") as log:
        log.write('{"at": "2026-0')  # the machine went down
    assert confide("site", "status", hospitals.site("north").path).code == 0


def test_stopping_what_does_not_run_is_no_error(provisioned: Hospitals) -> None:
    answer = confide("site", "stop", provisioned.site("west").path)
    assert answer.code == 0
    assert "not running" in answer.err


def test_a_site_does_not_start_with_a_policy_that_cannot_be_read(hospitals: Hospitals) -> None:
    hospitals.site("north").policy.write_text("minimum_sell = 3\n", encoding="utf-8")
    answer = confide("site", "start", hospitals.site("north").path, "--background")
    assert answer.code == 2
    assert "Did you mean 'minimum_cell'?" in answer.err
    assert not (hospitals.site("north").path / "run").exists()


def test_a_folder_that_is_no_site_is_refused(tmp_path: Path) -> None:
    for command in ("start", "stop", "status"):
        answer = confide("site", command, tmp_path)
        assert answer.code == 2
        assert "confide site init" in answer.err


def test_another_model_can_be_added_and_replaced(hospitals: Hospitals, tmp_path: Path) -> None:
    place, rows = hospitals.site("north"), write_rows(tmp_path / "other.csv", 9)
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    assert confide("site", "add-model", place.path, "-n", "sepsis", *columns).code == 0
    assert set(SiteConfig.load(place.path).models) == {"risk", "sepsis"}
    again = confide("site", "add-model", place.path, "-n", "risk", *columns)
    assert again.code == 2
    assert "--replace" in again.err
    newer = write_rows(tmp_path / "newer.csv", 10)
    columns = ("--data", newer, "--label", "died", "--score", "risk")
    assert confide("site", "add-model", place.path, "-n", "risk", *columns, "--replace").code == 0
    assert SiteConfig.load(place.path).models["risk"].data == str(newer.resolve())


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
        answer = confide("site", "add-model", place.path, "-n", "again", *columns)
        assert answer.code == 2, data
        assert "confide site add-model FOLDER --model-name again --same-as risk" in answer.err
        assert place.config.read_text(encoding="utf-8") == before
    shared = confide("site", "add-model", place.path, "-n", "again", "--same-as", "risk")
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
    answer = confide("site", "add-model", place.path, "-n", "again", *columns)
    assert answer.code == 2
    assert "were asked about without noise under the name 'risk'" in answer.err
    assert confide("site", "add-model", place.path, "-n", "risk", *columns).code == 0


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
    from confide.cli.site_setup import check_site

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
    assert check_site(place) == "north"


def test_an_administrator_hears_how_long_comparing_takes(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from confide.cli.site_setup import check_site

    place = hospitals.site("north")
    write_rows(place.path / "more.csv", 3)
    with place.config.open("a", encoding="utf-8") as file:
        file.write('\n[models.again]\ndata = "more.csv"\nlabel = "died"\nscore = "risk"\n')
    check_site(place)
    assert "comparing" not in capsys.readouterr().err
    monkeypatch.setattr("confide.cli.site_setup._SLOW", 0.0)
    check_site(place)
    assert "comparing the rows of all models took" in capsys.readouterr().err


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
    some = confide("site", "add-model", place, "-n", "some", *options)
    assert some.code == 0, some.err
    said = " ".join(some.err.split())
    assert "note: the model gave no score for 1 of 3 rows (ValueError)" in said
    assert "not all scores lie between" not in said
    assert "0.75" not in said
    joblib.dump(Picky(0.0), file)
    none = confide("site", "add-model", place, "-n", "none", *options)
    assert none.code == 1
    assert "the model could not score any of the rows (ValueError); check that the features" in " ".join(
        none.err.split()
    )
    rows.write_text("died,x\n", encoding="utf-8")
    empty = confide("site", "add-model", place, "-n", "empty", *options)
    assert empty.code == 1
    assert "the table has no rows" in empty.err
    assert set(SiteConfig.load(place).models) == {"risk", "some"}


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
    answer = confide("site", "add-model", place.path, "-n", "again", *options)
    assert answer.code == 2
    assert said in answer.err
    assert (place.config.read_text(encoding="utf-8"), place.policy.read_text(encoding="utf-8")) == before


def test_a_site_names_the_studies_that_it_takes_part_in(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (*COLUMNS, "--data", hospitals.rows("north"))
    assert fresh(hospitals, tmp_path / "two", *columns, "--study", "a", "--study", "b 2").code == 0
    assert Policy.load(tmp_path / "two" / "policy.toml").studies == ("a", "b 2")
    assert fresh(hospitals, tmp_path / "one", *columns).code == 0
    assert Policy.load(tmp_path / "one" / "policy.toml").studies == ("stroke",)
    near(hospitals, monkeypatch)
    refused = hospitals.ask("--mode", "private", "--epsilon", "1/2", "--study", "stroke-2")
    assert refused.code == 1
    assert "ask its administrator to add it to studies in policy.toml" in " ".join(refused.out.split())


def test_a_running_site_is_restarted_for_data_in_another_folder(hospitals: Hospitals, tmp_path: Path) -> None:
    place = hospitals.site("north")
    (place.path / "run").mkdir(exist_ok=True)
    note = {"pid": os.getpid(), "began": psutil.Process().create_time(), "kit": str(place.kit)}
    (place.path / "run" / "engine.json").write_text(json.dumps(note))
    columns = ("--label", "died", "--score", "risk")
    data = place.path / SiteConfig.load(place.path).models["risk"].data
    more = write_rows(data.with_name("more.csv"), 8)
    beside = confide("site", "add-model", place.path, "-n", "same", "--data", more, *columns)
    (tmp_path / "elsewhere").mkdir()
    rows = write_rows(tmp_path / "elsewhere" / "other.csv", 9)
    elsewhere = confide("site", "add-model", place.path, "-n", "sepsis", "--data", rows, *columns)
    assert (beside.code, elsewhere.code) == (0, 0)
    assert "Restart it" not in beside.err
    assert f"Restart it:\n       confide site stop {place.path}" in elsewhere.err


def test_scores_beyond_their_range_are_noted(hospitals: Hospitals, tmp_path: Path) -> None:
    rows = tmp_path / "logits.csv"
    rows.write_text("died,risk\n1,2.5\n0,-1.5\n", encoding="utf-8")
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    answer = confide("site", "add-model", hospitals.site("north").path, "-n", "logits", *columns)
    assert answer.code == 0
    assert "--grid uniform:100:-4:4" in answer.err
    assert not any(value in answer.err for value in ("2.5", "1.5"))
    wide = confide(
        "site", "add-model", hospitals.site("north").path, "-n", "logits", *columns, "--replace", "--range", "-4,4"
    )
    assert wide.code == 0, wide.err
    assert "--grid" not in wide.err
    assert SiteConfig.load(hospitals.site("north").path).models["logits"].range == (-4.0, 4.0)


@pytest.mark.parametrize(("typed", "said"), [("4", "two numbers with a comma"), ("4,-4", "the lower first")])
def test_a_range_is_two_numbers(hospitals: Hospitals, typed: str, said: str) -> None:
    columns = ("--data", hospitals.rows("north"), "--label", "died", "--score", "risk")
    answer = confide("site", "add-model", hospitals.site("north").path, "-n", "x", *columns, "--range", typed)
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize(("positives", "noted"), [(0, True), (4, True), (5, False)])
def test_an_administrator_hears_of_a_class_that_is_too_small(
    hospitals: Hospitals, tmp_path: Path, positives: int, noted: bool
) -> None:
    rows = tmp_path / "few.csv"
    lines = [f"{int(row < positives)},0.{row + 10}" for row in range(30)]
    rows.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
    columns = ("--data", rows, "--label", "died", "--score", "risk")
    answers = (
        confide("site", "add-model", hospitals.site("north").path, "-n", "few", *columns),
        fresh(hospitals, tmp_path / "site", "-n", "few", *columns),
    )
    for answer in answers:
        assert answer.code == 0, answer.err
        assert ("in modes without noise this site will not take part" in answer.err) is noted
        assert "smallest_class" not in answer.out


def test_a_new_kit_in_an_old_folder_keeps_what_the_site_is_and_spent(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the documentation says to do where a federation is made anew."""
    near(hospitals, monkeypatch)
    options = ("--mode", "private", "--epsilon", "1", "--json")
    before = json.loads(hospitals.ask(*options).out)
    shutil.rmtree(hospitals.coordinator)
    named = [word for name in NAMES for word in ("--site", name)]
    assert confide("federation", "init", hospitals.coordinator, "--name", "stroke", *named).code == 0
    for name in NAMES:
        old, new = hospitals.site(name).path, tmp_path / f"new-{name}"
        kit = hospitals.coordinator / "kits" / f"{name}.zip"
        assert confide("site", "init", kit, new, *COLUMNS, "--data", hospitals.rows(name)).code == 0
        shutil.rmtree(old / "kit")
        (new / "kit").rename(old / "kit")
    after = json.loads(hospitals.ask(*options).out)
    assert after["pooled"] == before["pooled"]
    assert [site["receipt"]["charged"] for site in after["sites"]] == [0, 0, 0]


def test_forgetting_asks_for_a_yes_and_lets_another_question_through(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    place = hospitals.site("north").path
    assert hospitals.ask("--mode", "secure-sum").code == 0
    assert hospitals.ask("--mode", "secure-sum", "--grid", "uniform:50").code == 1
    unsaid = confide("site", "forget", place, "risk")
    assert unsaid.code == 2
    assert "--yes" in unsaid.err
    for name in NAMES:
        assert confide("site", "forget", hospitals.site(name).path, "risk", "--yes").code == 0
    assert hospitals.ask("--mode", "secure-sum", "--grid", "uniform:50").code == 0
    wrong = confide("site", "forget", place, "rsk", "--yes")
    assert wrong.code == 2
    assert "Did you mean 'risk'?" in wrong.err


def test_there_may_be_nothing_to_forget(provisioned: Hospitals) -> None:
    answer = confide("site", "forget", provisioned.site("north").path, "risk", "--yes")
    assert answer.code == 2
    assert "nothing to forget" in answer.err
    assert Register(provisioned.site("north").path).fixed() == ()


def test_the_defaults_that_help_names_are_those_of_the_policy() -> None:
    text = " ".join(confide("site", "init", "--help").out.split())
    policy = Policy()
    assert f"spent in all. [default: {policy.epsilon_in_all}]" in text
    assert f"one study. [default: {policy.epsilon_per_study}]" in text
    assert Question.checked(study="s", model="m", mode="secure-sum", sites=NAMES).minimum_cell == 1


def test_an_administrator_hears_how_long_scoring_takes(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, others = (write_rows(tmp_path / f"{seed}.csv", seed) for seed in (13, 14))
    columns = ("--label", "died", "--score", "risk", "--data")
    place = hospitals.site("north").path
    assert "--timeout" not in confide("site", "add-model", place, "-n", "quick", *columns, some).err
    monkeypatch.setattr("confide.cli.site_setup._SLOW", 0.0)
    answer = confide("site", "add-model", place, "-n", "slow", *columns, others)
    assert answer.code == 0, answer.err
    assert "Tell the coordinator, whose first round needs that time (--timeout 60)" in " ".join(answer.err.split())
