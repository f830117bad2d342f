"""`confide federation`: kits and keys, who is connected, and the whole with real processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from confide.errors import UsageError
from confide.federation.flare.federation import Federation
from confide.ledger.ledger import Ledger
from confide.report.demonstrations import forget_step
from confide.sources.tables import count_table
from confide.tasks.federation_demo import DemoData, split_rows, write_rows
from tests.cli.commands import PLAIN, STRICT, confide, confide_process
from tests.cli.hospitals import NAMES, Hospitals
from tests.waiting import wait_until


def working_in(folder: Path) -> list[str]:
    """Processes whose command names something in a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if process.pid != os.getpid() and any(word.startswith(str(folder.resolve())) for word in words):
            found.append(" ".join(words))
    return found


def test_a_federation_is_its_owners_alone_and_has_a_kit_for_each_site(provisioned: Hospitals) -> None:
    folder = provisioned.coordinator
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert {path.name for path in (folder / "kits").iterdir()} == {f"{name}.zip" for name in NAMES}
    for kit in (folder / "kits").iterdir():
        assert b"PRIVATE KEY" not in kit.read_bytes()
    federation = Federation.load(folder)
    assert (federation.name, federation.server, federation.sites) == ("stroke", "localhost", NAMES)


def test_init_says_what_to_do_next(tmp_path: Path) -> None:
    answer = confide("federation", "init", "net", "--name", "trial", "--site", "a", "--site", "b", folder=tmp_path)
    assert answer.code == 0, answer.err
    assert "confide site request SITE --name a" in answer.err
    assert "confide federation sign net a.request --compared" in answer.err
    assert "confide site init a.zip" in answer.err
    assert "confide federation start net --background" in answer.err
    assert "need three sites" in answer.err
    assert "no request signed yet" in answer.out
    assert not (tmp_path / "net" / "kits").exists()


def test_another_site_can_be_let_in(hospitals: Hospitals) -> None:
    answer = confide("federation", "add-site", hospitals.coordinator, "east")
    assert answer.code == 0, answer.err
    assert Federation.load(hospitals.coordinator).sites == (*NAMES, "east")
    (hospitals.folder / "east.csv").write_bytes(hospitals.rows("north").read_bytes())
    assert hospitals.set_up("east").code == 0
    again = confide("federation", "add-site", hospitals.coordinator, "east")
    assert again.code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--site", "a", "--site", "a"), "named twice"),
        (("--site", "a b"), "a site's name"),
        (("--site", "a", "--server", "no host"), "server"),
        (("--site", "a", "--port", "0"), "port"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    answer = confide("federation", "init", tmp_path / "net", "--name", "trial", *options)
    assert answer.code == 2
    assert said in answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_refused(provisioned: Hospitals) -> None:
    before = (provisioned.coordinator / "federation.toml").read_bytes()
    answer = confide("federation", "init", provisioned.coordinator, "--name", "other", "--site", "a")
    assert answer.code == 2
    assert "exists already" in answer.err
    assert (provisioned.coordinator / "federation.toml").read_bytes() == before


def test_status_without_a_server_says_how_to_start_it(provisioned: Hospitals) -> None:
    answer = confide("federation", "status", provisioned.coordinator)
    assert answer.code == 0
    assert "not running" in answer.out
    assert f"confide federation start {provisioned.coordinator}" in answer.err
    document = json.loads(confide("federation", "status", provisioned.coordinator, "--json").out)
    assert document["schema"] == "confide.federation/1"
    assert (document["running"], document["connected"]) == (False, None)
    assert [site["name"] for site in document["sites"]] == list(NAMES)
    stopped = confide("federation", "stop", provisioned.coordinator)
    assert stopped.code == 0
    assert "not running" in stopped.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mode", "secure"), "Did you mean 'secure-sum'?"),
        (("--mode", "noisy-scores"), "no mode"),
        (("--sites", "2"), "--sites"),
        (("--report", "out.html"), "one mode"),
        (("--mode", "secure-sum", "--report", "out.pdf"), ".html"),
        (("--mode", "secure-sum", "--epsilon", "1"), "--mode private"),
        (("--epsilon", "0"), "epsilon"),
        (("--score", "risk"), "--data"),
        (("--data", "ROWS", "--score", "risk"), "--label"),
        (("--data", "ROWS", "--label", "died", "--score", "rsk"), "Did you mean 'risk'?"),
        (("--data", "ROWS", "--label", "died", "--score", "risk", "--site-column", "died"), "3 to 10 sites"),
        (("--data", "ROWS", "--label", "died", "--score", "risk", "--site-column", "x", "--sites", "3"), "--sites"),
        (("--data", "gone.csv", "--label", "died", "--score", "risk"), "there is no file"),
    ],
)
def test_a_demonstration_that_cannot_be_given_makes_nothing(
    provisioned: Hospitals, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    given = [provisioned.rows("north") if option == "ROWS" else option for option in options]
    answer = confide("federation", "demo", tmp_path / "demo", *given)
    assert answer.code == 2, answer.err
    assert said in answer.err
    assert list(tmp_path.iterdir()) == []


def test_rows_are_dealt_whole_and_come_back_as_they_were(provisioned: Hospitals, tmp_path: Path) -> None:
    whole = count_table(provisioned.rows("north"), label="died", score="risk")
    source = DemoData(file=provisioned.rows("north"), label="died", score="risk")
    parts = split_rows(source, 4)
    assert list(parts) == ["hospital-a", "hospital-b", "hospital-c", "hospital-d"]
    for name, rows in parts.items():
        write_rows(tmp_path / f"{name}.csv", source.columns, rows)
    counted = [count_table(tmp_path / f"{name}.csv", label="died", score="risk", one_class=True) for name in parts]
    assert {one.rows for one in counted} == {15}
    assert sum((one.counts for one in counted[1:]), counted[0].counts) == whole.counts
    assert stat.S_IMODE((tmp_path / "hospital-a.csv").stat().st_mode) == 0o600


def test_a_column_names_the_sites(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("died,risk,server\n1,0.5,2\n0,0.25,1\n0,0.5,north st.\n1,0.75,2\n", encoding="utf-8")
    source = DemoData(file=file, label="died", score="risk", site_column="server")
    assert {name: len(rows) for name, rows in split_rows(source, 5).items()} == {
        "site-1": 1,
        "site-2": 2,
        "north-st": 1,
    }
    file.write_text("died,risk,server\n1,0.5,a b\n0,0.25,a.b\n0,0.5,c\n", encoding="utf-8")
    with pytest.raises(UsageError, match="differ in case or punctuation alone"):
        split_rows(source, 5)


@pytest.mark.long
@pytest.mark.flare
@pytest.mark.processes
def test_the_demonstration_with_real_processes(provisioned: Hospitals, tmp_path: Path) -> None:
    """Three sites in processes of their own: sums are exact, ledgers are charged, and nothing runs on."""
    file, place = tmp_path / "rows.csv", tmp_path / "demo"
    parts = {name: provisioned.rows(name).read_text(encoding="utf-8").splitlines()[1:] for name in NAMES}
    lines = [f"{line},{name}" for name, part in parts.items() for line in part]
    file.write_text("\n".join(["died,risk,hospital", *lines]) + "\n", encoding="utf-8")
    columns = ("--data", file, "--label", "died", "--score", "risk")
    modes = ("--mode", "secure-sum", "--mode", "private", "--epsilon", "1/2")
    answer = confide_process("federation", "demo", place, *columns, "--site-column", "hospital", *modes, "--json")
    assert answer.code == 0, answer.out + answer.err
    document = json.loads(answer.out)
    assert document["schema"] == "confide.federation-demo/1"
    assert document["sites"] == list(NAMES)
    whole = confide("evaluate", file, "--label", "died", "--score", "risk", "--json")
    exact = json.loads(whole.out)["models"][0]["auc"]
    summed, private = (document["validations"][mode] for mode in ("secure-sum", "private"))
    assert summed["pooled"]["auc"]["value"] == pytest.approx(exact["value"], abs=1e-12)
    assert summed["pooled"]["auc"]["interval"]["upper"] == pytest.approx(exact["interval"]["upper"], abs=1e-9)
    assert document["all_rows"]["auc"] == pytest.approx(exact["value"], abs=1e-12)
    assert (summed["rounds"], private["rounds"]) == (2, 2)
    assert [site["receipt"]["charged"]["epsilon"] for site in private["sites"]] == [0.5, 0.5, 0.5]
    for site in NAMES:
        with Ledger(place / site / "site.db") as ledger:
            assert [account.spent.epsilon * 2 for account in ledger.accounts()] == [1]
    for mode, path in document["reports"].items():
        assert mode in Path(path).read_text(encoding="utf-8")
    wait_until(lambda: not working_in(tmp_path))


@pytest.mark.long
@pytest.mark.processes
def test_a_demonstration_that_is_stopped_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, *STRICT, "-m", "confide", "federation", "demo", "demo", "--sites", "3"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **PLAIN}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: working_in(tmp_path) or running.poll() is not None, 300)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == 130, said
    assert "stopped; the files made so far are in demo" in said
    wait_until(lambda: not working_in(tmp_path))  # a process that was just being started ends with its parent


def test_a_certificate_that_ends_soon_is_warned_about_and_renewed_by_a_command_on_each_side(
    hospitals: Hospitals,
) -> None:
    place = hospitals.site("north").path
    assert confide("site", "request", place).code == 0
    short = ("federation", "sign", hospitals.coordinator, place / "north.request", "--compared", "--days", 20)
    assert confide(*short).code == 0
    kit = hospitals.coordinator / "kits" / "north.zip"
    assert confide("site", "renew", place, kit).code == 0
    for words in (("site", "status", place), ("federation", "status", hospitals.coordinator)):
        shown = confide(*words)
        assert shown.code == 0, shown.err
        assert "warning" in shown.err
        assert "in 19 days" in shown.err
    before = json.loads(confide("site", "status", place, "--json").out)
    renewed = confide("federation", "renew", hospitals.coordinator)
    assert renewed.code == 0, renewed.err
    assert f"{kit}  to  north" in renewed.err
    assert confide("site", "renew", place, kit).code == 0
    after = json.loads(confide("site", "status", place, "--json").out)
    assert after["certificate"]["days"] == 359
    assert after == before | {"certificate": after["certificate"]}
    for words in (("site", "status", place), ("federation", "status", hospitals.coordinator)):
        assert "warning" not in confide(*words).err


def test_a_fingerprint_is_shown_before_anything_is_signed(hospitals: Hospitals, tmp_path: Path) -> None:
    made = confide("site", "request", tmp_path / "again", "--name", "north")
    fingerprint = made.out.strip().splitlines()[-1].strip()
    kit = hospitals.coordinator / "kits" / "north.zip"
    before = kit.read_bytes()
    refused = confide("federation", "sign", hospitals.coordinator, tmp_path / "again" / "north.request")
    assert refused.code == 2
    lines = [line.strip() for line in refused.err.splitlines()]
    assert lines[0] == "Not signed yet. Fingerprint of site north (SHA-256):"
    assert lines[1] == fingerprint
    assert "is not the one that was signed for before" in lines[2]
    assert f"confide federation sign {hospitals.coordinator} {tmp_path / 'again' / 'north.request'} --compared" in lines
    assert "error" not in refused.err
    assert kit.read_bytes() == before


def test_the_port_behind_a_balancer_changes_with_a_renewal(hospitals: Hospitals) -> None:
    before = Federation.load(hospitals.coordinator)
    assert before.listen is None
    assert confide("federation", "renew", hospitals.coordinator, "--port", "443", "--listen", "8102").code == 0
    moved = Federation.load(hospitals.coordinator)
    assert (moved.port, moved.listen, moved.listening_port) == (443, 8102, 8102)
    for settings in (moved.server_settings, moved.coordinator_settings):
        moved.check_kit(settings)
    assert confide("federation", "renew", hospitals.coordinator, "--listen", "443").code == 0
    alone = Federation.load(hospitals.coordinator)
    assert (alone.port, alone.listen) == (443, None)
    for settings in (alone.server_settings, alone.coordinator_settings):
        alone.check_kit(settings)


def test_the_demonstration_says_that_a_real_site_must_not_forget() -> None:
    demo = SimpleNamespace(data=SimpleNamespace(model_name="risk"))
    words = forget_step(demo)  # type: ignore[arg-type]
    assert "A real site must not do so: only if nobody saw the first answer" in words
