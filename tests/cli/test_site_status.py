"""`confide site status` and `stop`: the state of a site, and nothing of its rows."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from confide.federation.crypto.identity import readable_fingerprint
from confide.federation.flare.federation import Federation
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, near


def test_status_shows_the_fingerprint_and_nothing_of_the_rows(provisioned: Hospitals) -> None:
    place = provisioned.site("south")
    document = json.loads(confide("site", "status", place.path, "--json").out)
    own = load_pem_private_key(place.key.read_bytes(), password=None)
    fingerprint = sha256(own.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()
    assert document["schema"] == "confide.site/1"
    assert (document["name"], document["fingerprint"]) == ("south", fingerprint)
    assert (document["running"], document["pid"], document["requests"]) == (False, None, [])
    text = confide("site", "status", place.path)
    assert readable_fingerprint(fingerprint) in text.out
    assert document["certificate"]["days"] == 359
    assert not document["certificate"]["ends_soon"]
    assert "Certificate: valid until 20" in text.out
    assert "warning" not in text.err
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
        "spent": {"epsilon": 0.5, "delta": 0.0},
        "remaining": {"epsilon": 2.5, "delta": 0.0},
        "cap": {"epsilon": 3.0, "delta": 0.0},
        "studies": {
            "stroke": {
                "spent": {"epsilon": 0.5, "delta": 0.0},
                "remaining": {"epsilon": 0.5, "delta": 0.0},
                "cap": {"epsilon": 1.0, "delta": 0.0},
            }
        },
    }
    budget = " ".join(confide("site", "status", hospitals.site("north").path).out.split())
    assert "all studies 0.5 2.5 3 study stroke 0.5 0.5 1 The epsilons of a study's questions add up" in budget
    assert [line["state"] for line in document["requests"]] == ["answered", "answered", "refused"]
    assert document["requests"][-1]["coordinator"] == "coordinator@stroke.confide"
    text = " ".join(confide("site", "status", hospitals.site("north").path, "--requests", "1").out.split())
    assert "epsilon_per_study" in text
    assert "takes part" not in text


@pytest.mark.long
def test_a_study_with_gaussian_noise_is_counted_as_its_receipt_counts_it(
    provisioned: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon 1/2 by itself; the account of all studies pays 1.39 for the first question at its fixed order."""
    hospitals = provisioned.copy(tmp_path / "copied")
    for name in ("north", "south", "west"):
        shutil.rmtree(hospitals.site(name).path)
        options = ("--budget", "3", "--epsilon-per-study", "3", "--delta", "1e-6")
        assert hospitals.set_up(name, *options).code == 0
    near(hospitals, monkeypatch)
    asked = hospitals.ask(
        *("--mode", "private", "--epsilon", "1/2", "--noise", "gaussian", "--delta", "1e-6", "--site-share", "0"),
        "--json",
    )
    assert asked.code == 0, asked.err
    receipt = json.loads(asked.out)["sites"][0]["receipt"]
    place = hospitals.site("north").path
    ledger = json.loads(confide("site", "status", place, "--json").out)["ledger"]
    study = ledger["studies"]["stroke"]
    assert study["spent"]["epsilon"] == pytest.approx(0.5)
    assert study["remaining"]["epsilon"] == receipt["remaining"]["epsilon"] == ledger["remaining"]["epsilon"]
    shown = " ".join(confide("site", "status", place).out.split())
    assert "all studies 1.39 1.61 3" in shown
    assert "study stroke 0.5 1.61 3" in shown
    assert "A study is counted by its own answers alone" in shown
    lower = hospitals.site("north").policy
    lower.write_text(lower.read_text().replace("epsilon_per_study = 3", "epsilon_per_study = 1"))
    assert "study stroke 0.5 0.5 1" in " ".join(confide("site", "status", place).out.split())


def test_stopping_what_does_not_run_is_no_error(provisioned: Hospitals) -> None:
    answer = confide("site", "stop", provisioned.site("west").path)
    assert answer.code == 0
    assert "not running" in answer.err


def test_a_folder_that_is_no_site_is_refused(tmp_path: Path) -> None:
    for command in ("start", "stop", "status"):
        answer = confide("site", command, tmp_path)
        assert answer.code == 2
        assert "confide site init" in answer.err
