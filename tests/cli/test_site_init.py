"""`confide site init`: what is written, what is checked before, and what an administrator reads."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

from confide.federation.crypto.identity import readable_fingerprint
from confide.federation.policy import Policy, default_policy
from confide.federation.question import Question
from confide.federation.site.config import SiteConfig
from confide.ledger.ledger import Ledger
from tests.cli.commands import confide
from tests.cli.hospitals import COLUMNS, MODES, NAMES, Hospitals, init_again, near

REQUESTED = {"site.key", "request.key", "north.request"}


def test_a_site_is_its_owners_alone(provisioned: Hospitals) -> None:
    place = provisioned.site("north")
    assert {"site.toml", "site.key", "policy.toml", "site.db", "kit"} <= {path.name for path in place.path.iterdir()}
    for path in (place.path, *place.path.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert place.policy.read_text(encoding="utf-8") == default_policy(studies=["stroke"], modes=MODES[1].split(","))
    model = SiteConfig.load(place.path).models["risk"]
    assert model.data == str(provisioned.rows("north").resolve())
    with Ledger(place.database) as ledger:
        (account,) = ledger.accounts()
    assert account.caps.total.epsilon == 3
    assert account.spent.epsilon == 0


def test_it_ends_by_saying_what_to_do_next(provisioned: Hospitals, tmp_path: Path) -> None:
    answer = init_again(provisioned, tmp_path / "site", *COLUMNS, "--data", provisioned.rows("north"))
    assert answer.code == 0, answer.err
    assert f"confide site start {tmp_path / 'site'}" in answer.err
    assert "policy.toml" in answer.err
    assert "Compare fingerprints with the other sites by telephone" in answer.err
    status = json.loads(confide("site", "status", tmp_path / "site", "--json").out)
    assert f"for other sites to pin:\n  {readable_fingerprint(status['fingerprint'])}" in answer.out
    assert readable_fingerprint(status["root"]) in answer.out


def test_budgets_that_are_asked_for_stand_in_the_policy(provisioned: Hospitals, tmp_path: Path) -> None:
    options = (*COLUMNS, "--data", provisioned.rows("north"), "--budget", "5", "--epsilon-per-study", "0.25", "--json")
    answer = init_again(provisioned, tmp_path / "site", *options)
    assert answer.code == 0, answer.err
    policy = Policy.load(tmp_path / "site" / "policy.toml")
    assert (policy.epsilon_in_all, policy.epsilon_per_study) == (Fraction(5), Fraction(1, 4))
    assert json.loads(answer.out)["ledger"] == {
        "account": "validation",
        "spent": {"epsilon": 0.0, "delta": 0.0},
        "remaining": {"epsilon": 5.0, "delta": 0.0},
        "cap": {"epsilon": 5.0, "delta": 0.0},
        "studies": {
            "stroke": {
                "spent": {"epsilon": 0.0, "delta": 0.0},
                "remaining": {"epsilon": 0.25, "delta": 0.0},
                "cap": {"epsilon": 0.25, "delta": 0.0},
            }
        },
    }


@pytest.mark.few(2)
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
    answer = init_again(provisioned, tmp_path / "site", "--model-name", "risk", "--data", rows, *given)
    assert answer.code == code, answer.err
    assert said in answer.err
    assert {path.name for path in (tmp_path / "site").iterdir()} == REQUESTED


MODE_NOTES = {
    (): "This site answers with noise only (private).",
    ("--modes", "disclosure-control,private"): "This site also answers without noise (disclosure-control), at no "
    'budget. For answers with noise only, set modes = ["private"] in policy.toml.',
    ("--modes", "secure-sum,private", "--modes", "private"): "This site also answers without noise (secure-sum), at no",
    ("--modes", "secure-sum"): "This site answers without noise (secure-sum), at no budget.",
    ("--modes", "private,noisy-scores"): "a mode for comparisons that promises nothing (noisy-scores), at no budget.",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("options", MODE_NOTES)
def test_a_site_says_in_which_modes_it_answers(
    provisioned: Hospitals, tmp_path: Path, options: tuple[str, ...]
) -> None:
    columns = (*COLUMNS, "--data", provisioned.rows("north"))
    answer = init_again(provisioned, tmp_path / "site", *columns, *options)
    assert answer.code == 0, answer.err
    assert MODE_NOTES[options] in " ".join(answer.err.split())
    named = tuple(dict.fromkeys(",".join(options[1::2]).split(","))) if options else Policy().modes
    assert Policy.load(tmp_path / "site" / "policy.toml").modes == named


def test_an_unknown_mode_is_refused_before_anything_is_written(provisioned: Hospitals, tmp_path: Path) -> None:
    columns = (*COLUMNS, "--data", provisioned.rows("north"))
    answer = init_again(provisioned, tmp_path / "site", *columns, "--modes", "privat")
    assert answer.code == 2
    assert "--modes: no mode 'privat'. Did you mean 'private'?" in answer.err
    assert {path.name for path in (tmp_path / "site").iterdir()} == REQUESTED


def test_the_folder_of_a_site_takes_no_kit_of_another_federation(hospitals: Hospitals, tmp_path: Path) -> None:
    folder, other = hospitals.site("north").path, tmp_path / "other"
    named = [word for name in NAMES for word in ("--site", name)]
    assert confide("federation", "init", other, "--name", "failure", *named).code == 0
    made = confide("site", "request", tmp_path / "new", "--name", "north")
    assert made.code == 0, made.err
    assert confide("federation", "sign", other, tmp_path / "new" / "north.request", "--compared").code == 0
    before = sorted(path.name for path in folder.iterdir())
    kit, columns = other / "kits" / "north.zip", (*COLUMNS, "--data", hospitals.rows("north"))
    answer = confide("site", "init", kit, folder, *columns)
    assert answer.code == 2
    assert f"{folder} is already a site of federation stroke; this kit is for failure. Choose another" in answer.err
    same = confide("site", "init", hospitals.coordinator / "kits" / "north.zip", folder, *columns)
    assert "renew its certificate with `confide site renew`" in same.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_site_that_is_set_up_makes_no_request_as_if_it_were_new(hospitals: Hospitals) -> None:
    folder = hospitals.site("north").path
    refused = confide("site", "request", folder, "--name", "north")
    assert refused.code == 2
    assert f"{folder} is already a site of federation stroke. Choose another folder" in refused.err
    assert f"leave --name out: confide site request {folder}" in refused.err
    assert not (folder / "north.request").exists()
    assert not hospitals.site("north").new_key.exists()
    renewal = confide("site", "request", folder)
    assert renewal.code == 0
    assert "Request for a new key of site north, which is a site of federation stroke" in renewal.out
    assert "confide site init" not in renewal.err
    assert f"confide site renew {folder} north.zip" in renewal.err


def test_arguments_in_the_wrong_order_are_recognised(hospitals: Hospitals) -> None:
    folder, kit = hospitals.site("north").path, hospitals.coordinator / "kits" / "north.zip"
    renewed = confide("site", "renew", kit, folder)
    assert (renewed.code, renewed.err) == (
        2,
        f"error: the folder comes first, then the kit: confide site renew {folder} {kit}\n",
    )
    columns = (*COLUMNS, "--data", hospitals.rows("north"))
    made = confide("site", "init", folder, kit, *columns)
    assert made.code == 2
    assert f"the kit comes first, then the folder: confide site init {kit} {folder}" in made.err


def test_the_kit_of_another_site_is_named_first(hospitals: Hospitals) -> None:
    answer = confide("site", "renew", hospitals.site("north").path, hospitals.coordinator / "kits" / "south.zip")
    assert answer.code == 1
    assert answer.err.startswith("error: this kit is for site 'south', and the site here is 'north'")


def test_rows_that_cannot_be_counted_are_not_quoted(provisioned: Hospitals, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("died,risk\n1,0.7134\n0,\n1,0.2718\n", encoding="utf-8")
    answer = init_again(provisioned, tmp_path / "site", *COLUMNS, "--data", rows)
    assert answer.code == 1
    assert not any(value in answer.err + answer.out for value in ("0.7134", "0.2718"))
    assert {path.name for path in (tmp_path / "site").iterdir()} == REQUESTED


def test_a_folder_that_holds_something_is_refused(provisioned: Hospitals, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    kit = provisioned.coordinator / "kits" / "north.zip"
    for words, said in (
        (("site", "request", tmp_path, "--name", "north"), "exists already"),
        (("site", "init", kit, tmp_path, *COLUMNS, "--data", provisioned.rows("north")), "confide site request"),
    ):
        answer = confide(*words)
        assert answer.code == 2
        assert said in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_that_is_no_kit_leaves_the_request_as_it_was(provisioned: Hospitals, tmp_path: Path) -> None:
    kit, folder = tmp_path / "kit.zip", tmp_path / "site"
    with zipfile.ZipFile(kit, "w") as packed:
        packed.writestr("../evil", "x")
    good = provisioned.signed("north", folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    answer = confide("site", "init", kit, folder, *COLUMNS, "--data", provisioned.rows("north"))
    assert answer.code == 1
    assert "not a site's kit" in answer.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert confide("site", "init", good, folder, *COLUMNS, "--data", provisioned.rows("north")).code == 0


def test_a_site_names_the_studies_that_it_takes_part_in(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (*COLUMNS, "--data", hospitals.rows("north"))
    assert init_again(hospitals, tmp_path / "two", *columns, "--study", "a", "--study", "b 2").code == 0
    assert Policy.load(tmp_path / "two" / "policy.toml").studies == ("a", "b 2")
    assert init_again(hospitals, tmp_path / "one", *columns).code == 0
    assert Policy.load(tmp_path / "one" / "policy.toml").studies == ("stroke",)
    near(hospitals, monkeypatch)
    refused = hospitals.ask("--mode", "private", "--epsilon", "1/2", "--study", "stroke-2")
    assert refused.code == 1
    assert "ask its administrator to add it to studies in policy.toml" in " ".join(refused.out.split())


@pytest.mark.long
def test_a_federation_that_is_made_anew_keeps_what_sites_are_and_spent(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the documentation says to do where the root is lost."""
    near(hospitals, monkeypatch)
    options = ("--mode", "private", "--epsilon", "1", "--json")
    before = json.loads(hospitals.ask(*options).out)
    shutil.rmtree(hospitals.coordinator)
    named = [word for name in NAMES for word in ("--site", name)]
    assert confide("federation", "init", hospitals.coordinator, "--name", "stroke", *named).code == 0
    for name in NAMES:
        place = hospitals.site(name).path
        kit = hospitals.signed(name, place)
        refused = confide("site", "renew", place, kit)
        assert refused.code == 1
        assert "another root" in refused.err
        assert confide("site", "renew", place, kit, "--compared").code == 0
    after = json.loads(hospitals.ask(*options).out)
    assert after["pooled"] == before["pooled"]
    assert [site["receipt"]["charged"]["epsilon"] for site in after["sites"]] == [0, 0, 0]


def test_the_defaults_that_help_names_are_those_of_the_policy() -> None:
    text = " ".join(confide("site", "init", "--help").out.split())
    policy = Policy()
    assert f"all studies together may spend. [default: {policy.epsilon_in_all}]" in text
    assert f"one study may spend, out of the budget. [default: {policy.epsilon_per_study}]" in text
    assert Question.checked(study="s", model="m", mode="secure-sum", sites=NAMES).minimum_cell == 1
