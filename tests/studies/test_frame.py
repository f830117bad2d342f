"""What all studies share: verdicts, published numbers, stored pieces, and resuming after a stop."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from studies.claims import Answer, Claim, Exceptions, Mean, Verdict
from studies.data_files import DataFile
from studies.exhibits import Exhibit, Paper, StudyReport
from studies.page import print_study, study_page
from studies.published import Comparison, Published
from studies.running import Piece, Preparation, run_pieces
from studies.store import Arrays, Store, code_digest

ROOT = Path(__file__).parents[2]


def test_verdicts_say_how_much_and_how_sure() -> None:
    clear, unclear, against = (Mean(value=value, standard_error=0.1) for value in (0.5, 0.1, -0.4))
    assert Verdict.of({"a": clear}).text == "holds (a: +0.50 ± 0.10)"
    assert Verdict.of({"a": clear, "b": against}).text == (
        "in part (clear in 1, contradicted in 1 of 2; least, b: −0.40 ± 0.10)"
    )
    assert Verdict.of({"a": unclear}).answer is Answer.UNCLEAR
    assert Verdict.of({"a": against, "b": against}).answer is Answer.FAILS
    assert Verdict.of({}).text == "unclear (nothing to compare)"
    assert Verdict.of({"a": Mean(value=1.0, standard_error=float("nan"))}).answer is Answer.UNCLEAR
    counted = Verdict.of({"exceptions among 9 swaps": Exceptions.counted(3)})
    assert counted.text == "does not hold (3 exceptions among 9 swaps)"
    some = Verdict.of({"sizes where it is so": Mean.exact(4.0), "sizes where it is not": Exceptions.counted(2)})
    assert some.text == "in part (clear in 1, contradicted in 1 of 2; most, 2 sizes where it is not)"
    for verdict in (Verdict.of({"a": clear, "b": against}), Verdict.of({}), counted, some):
        assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_published_numbers_agree_within_digits_and_chance() -> None:
    def agrees(ours: float, error: float, theirs: float = 0.0) -> bool:
        published = Published(value=0.25, where="Table 1", half_unit=0.005, standard_error=theirs)
        beside = Comparison(name="x", ours=Mean(value=ours, standard_error=error), published=published)
        again = Comparison.from_dict(json.loads(json.dumps(beside.to_dict())))
        assert again == beside or np.isnan(again.ours.value)
        return beside.agrees

    assert [agrees(0.2549, 0.0), agrees(0.2551, 0.0)] == [True, False]
    assert [agrees(0.27, 0.008), agrees(0.27, 0.007)] == [True, False]
    assert agrees(0.27, 0.006, theirs=0.006)
    assert not agrees(float("nan"), 0.0)
    assert Published(value=0.25, where="", read_off=True).text == "0.25*"


def _report(**more: object) -> StudyReport:
    settings: dict[str, object] = {
        "paper": Paper(study="toy", title="Toy", reference="A. Author", corrections="attacks"),
        "settings": {"seed": 0},
        "quick": True,
        "lead": "Lead.",
        "exhibits": (Exhibit(where="Figure 1", title="a <figure>"),),
        "claims": (Claim(where="Figure 1", sentence="It grows.", differences={"a": Mean.exact(1.0)}),),
    }
    return StudyReport(**(settings | more))  # type: ignore[arg-type]


def test_reports_show_each_claim_under_its_figure() -> None:
    from rich.console import Console

    report = _report()
    page = study_page(report)
    assert "Figure 1: a &lt;figure&gt;" in page
    assert "It grows. Here: holds (a: +1)." in page
    assert "1 claims tried: 1 hold, 0 do not hold" in page
    console = Console(record=True, width=100, file=io.StringIO())
    print_study(report, console)
    assert "Figure 1. It grows. Here: holds" in console.export_text()
    fails = Claim(where="Figure 1", sentence="It never falls.", differences={"falls": Exceptions.counted(2)})
    mixed = _report(claims=(*report.claims, fails))
    print_study(mixed, console)
    shown = console.export_text()
    place = shown.index("Figure 1. It never falls. Here: does not hold (2 falls).")
    assert shown.index("2 claims tried: 1 hold, 1 do not hold") < place < shown.index("Figure 1: a <figure>")
    assert study_page(mixed).index("These claims do not hold") < study_page(mixed).index("<h2>Figure 1")
    with pytest.raises(ValueError, match="no exhibit for Figure 2"):
        _report(claims=(Claim(where="Figure 2", sentence="", differences={}),))


def _square(value: int, log: str) -> Arrays:
    with Path(log).open("a") as file:
        file.write(f"{value}\n")
    return {"square": np.array([value * value]), "name": np.array([f"piece {value}"])}


POOLS = [(1, "processes"), (2, "threads"), pytest.param(2, "processes", marks=pytest.mark.processes)]


def _pieces(log: Path, count: int = 4) -> list[Piece]:
    return [Piece(name=f"piece {value}", work=_square, arguments=(value, str(log))) for value in range(count)]


@pytest.mark.parametrize(("jobs", "workers"), POOLS)
def test_finished_pieces_are_not_computed_again(tmp_path: Path, jobs: int, workers: str) -> None:
    log, store = tmp_path / "log", Store.open(tmp_path / "cache", "schalk", {"seed": 0})
    first = run_pieces(_pieces(log, 2), store, jobs=1)
    begun: list[str] = []
    every = run_pieces(_pieces(log), store, jobs=jobs, workers=workers, finished=begun.append)  # type: ignore[arg-type]
    assert list(every) == [f"piece {value}" for value in range(4)]
    assert [int(arrays["square"][0]) for arrays in every.values()] == [0, 1, 4, 9]
    assert every["piece 1"]["name"] == first["piece 1"]["name"]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert sorted(begun) == [f"piece {value}" for value in range(4)]


def test_stored_pieces_count_for_the_same_settings_and_code_only(tmp_path: Path) -> None:
    store = Store.open(tmp_path, "schalk", {"seed": 0})
    store.put("piece", {"x": np.arange(3.0)})
    assert Store.open(tmp_path, "schalk", {"seed": 1}).get("piece") is None
    assert Store.open(tmp_path, "stoddard", {"seed": 0}).get("piece") is None
    old = store.folder.parent.parent / "older-code" / "x"
    old.mkdir(parents=True)
    again = Store.open(tmp_path, "schalk", {"seed": 0})
    assert np.array_equal((again.get("piece") or {})["x"], [0.0, 1.0, 2.0])
    assert not old.exists()
    assert Store.open(tmp_path, "schalk", {"seed": 0}, fresh=True).get("piece") is None
    assert code_digest("schalk") != code_digest("stoddard")


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_a_damaged_piece_counts_as_absent(tmp_path: Path, kept: int) -> None:
    log, store = tmp_path / "log", Store.open(tmp_path / "cache", "schalk", {})
    run_pieces(_pieces(log, 1), store, jobs=1)
    (file,) = store.folder.glob("*.npz")
    file.write_bytes(file.read_bytes()[:kept])
    assert store.get("piece 0") is None
    found = run_pieces(_pieces(log, 1), store, jobs=1)
    assert (int(found["piece 0"]["square"][0]), log.read_text()) == (0, "0\n0\n")


_SLOW = """
import sys, time
from pathlib import Path
import numpy as np
from studies.running import Piece, run_pieces
from studies.store import Store

def slow(value):
    time.sleep(0.3)
    return {"x": np.array([value])}

if __name__ == "__main__":
    pieces = [Piece(name=str(value), work=slow, arguments=(value,)) for value in range(200)]
    run_pieces(pieces, Store(folder=Path(sys.argv[1])), jobs=2)
"""


@pytest.mark.processes
def test_a_killed_run_leaves_whole_pieces_and_no_process(tmp_path: Path) -> None:
    script, folder = tmp_path / "slow.py", tmp_path / "store"
    script.write_text(_SLOW)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen([sys.executable, script, folder], env=environment, start_new_session=True)
    _until(lambda: len(list(folder.glob("*.npz"))) >= 3)
    run.send_signal(signal.SIGKILL)
    run.wait()
    _until(lambda: not _alive(run.pid))
    store = Store(folder=folder)
    found = [arrays for arrays in (store.get(str(value)) for value in range(200)) if arrays is not None]
    assert len(found) == len(list(folder.glob("*.npz"))) >= 3


def _alive(group: int) -> bool:
    """Tell whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _until(done: object, seconds: float = 120.0) -> None:
    assert callable(done)
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.05)


_HELD: list[int] = []


def _hold(value: int) -> None:
    _HELD[:] = [value]


def _held() -> Arrays:
    return {"held": np.array(_HELD)}


@pytest.mark.parametrize(("jobs", "workers"), POOLS)
def test_each_process_is_prepared(jobs: int, workers: str) -> None:
    prepare = Preparation(begin=_hold, arguments=(7,))
    found = run_pieces([Piece(name="a", work=_held)], jobs=jobs, workers=workers, prepare=prepare)  # type: ignore[arg-type]
    assert found["a"]["held"].tolist() == [7]


def test_data_files_are_known_by_their_checksum(tmp_path: Path) -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    file = DataFile(name="x.csv", what="nothing", sha256=empty)
    assert (file.find(None), file.state(tmp_path)) == (None, "absent")
    (tmp_path / "x.csv").write_text("")
    assert (file.find(tmp_path), file.state(tmp_path)) == (tmp_path / "x.csv", "as published")
    (tmp_path / "x.csv").write_text("other")
    assert file.state(tmp_path) == "another version"
