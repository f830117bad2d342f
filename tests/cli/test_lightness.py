"""What a user waits for: heavy packages load only when they are needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from confide import Ledger
from confide.examples import HEART_ATTACK
from tests.cli.commands import STRICT

HEAVY = (
    *("numpy", "scipy", "numba", "matplotlib", "ibis", "duckdb", "pandas", "pyarrow", "narwhals", "sklearn"),
    *("opendp", "flint", "sqlalchemy", "dp_accounting", "nvflare", "cryptography", "psutil", "onnxruntime"),
)


def loaded_by(program: str) -> set[str]:
    """Run a program and return which heavy packages it loaded."""
    report = f"\nimport json, sys\nsys.stderr.write(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    finished = subprocess.run(
        [sys.executable, *STRICT, "-c", program + report], capture_output=True, text=True, check=True
    )
    return set(json.loads(finished.stderr.splitlines()[-1]))


def run_cli(*arguments: str) -> str:
    return (
        f"import sys; sys.argv = ['confide', *{list(arguments)!r}]\n"
        "from confide.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
    )


VERBS = (
    *(
        "evaluate",
        "release",
        "plan",
        "select",
        "train",
        "predict",
        "validate",
        "federation",
        "site",
        "ledger",
        "attack",
    ),
    *("audit", "demo", "contest", "submit", "serve", "completion"),
)


@pytest.mark.few(3)
@pytest.mark.processes
@pytest.mark.parametrize("program", ["import confide", run_cli("--help"), *(run_cli(verb, "--help") for verb in VERBS)])
def test_import_and_help_load_nothing_heavy(program: str) -> None:
    assert loaded_by(program) == set()


@pytest.mark.processes
def test_a_small_file_is_evaluated_without_compiling_or_drawing() -> None:
    program = run_cli("evaluate", str(HEART_ATTACK), "--label", "died", "--score", "logistic")
    found = loaded_by(program)
    assert not found & {"numba", "matplotlib", "sklearn", "narwhals", "opendp", "flint", "sqlalchemy"}
    assert "duckdb" in found  # the check itself works


@pytest.mark.processes
def test_a_release_draws_no_pictures_unless_asked(tmp_path: Path) -> None:
    arguments = (
        "--label",
        "died",
        "--score",
        "logistic",
        "--epsilon",
        "1",
        "--ledger",
        str(tmp_path / "ledger.sqlite"),
    )
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.open_account("trial", epsilon=3, data=[HEART_ATTACK.read_bytes()])
    found = loaded_by(run_cli("release", str(HEART_ATTACK), *arguments))
    assert not found & {"numba", "matplotlib", "sklearn", "narwhals", "dp_accounting"}
    assert {"opendp", "sqlalchemy"} <= found


def test_every_public_name_exists() -> None:
    import confide

    for name in confide.__all__:
        assert getattr(confide, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'auc'"):
        _ = confide.auc
