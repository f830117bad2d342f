"""Every option of `confide evaluate` equals the argument of `confide.evaluate`; bad values name their flag."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import confide as library
from tests.cli.commands import Answer, confide

SIZE = 120
BANNER = "Exact numbers, not differentially private."


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with all that an option can name, among them a score with empty cells."""
    rng = np.random.default_rng(4)
    died = rng.random(SIZE) < 0.4
    scores = {
        name: np.round(1.0 / (1.0 + np.exp(0.8 - died - rng.normal(size=SIZE))), 6) for name in ("new", "old", "third")
    }
    place = np.arange(SIZE)
    columns: dict[str, list[Any]] = {
        "died": ["yes" if each else "no" for each in died],
        **{name: values.tolist() for name, values in scores.items()},
        "holes": ["" if k in (5, 9) else value for k, value in enumerate(scores["new"].tolist())],
        "times": (1 + place % 3).tolist(),
        "sampling": (0.5 + place % 4).tolist(),
        "sex": np.where(rng.random(SIZE) < 0.5, "f", "m").tolist(),
        "site": (place % 2).tolist(),
        "patient": [f"p{k}" for k in place // 3],
        "part": np.where(died, np.cumsum(died) % 3, np.cumsum(~died) % 3).tolist(),
    }
    file = tmp_path_factory.mktemp("options") / "rows.csv"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return file


def document(answer: Answer) -> dict[str, Any]:
    """Read standard output, which holds JSON and nothing else, without the date and the command."""
    assert answer.code == 0, answer.err
    parsed: dict[str, Any] = json.loads(answer.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    parsed["provenance"].pop("date")
    assert parsed["provenance"].pop("command").startswith("confide evaluate ")
    return parsed


OPTIONS: dict[str, tuple[list[object], dict[str, Any]]] = {
    "one score": (["-s", "new"], {"score": "new"}),
    "scores with commas": (["-s", "new,old"], {"score": ["new", "old"]}),
    "scores repeated": (["--score", "new", "--score", "old", "-s", "third"], {"score": ["new", "old", "third"]}),
    "weight": (["-s", "new", "--weight", "times"], {"score": "new", "weight": "times"}),
    "survey weight": (["-s", "new", "--survey-weight", "sampling"], {"score": "new", "survey_weight": "sampling"}),
    "group": (["-s", "new", "--group", "sex"], {"score": "new", "group": "sex"}),
    "groups crossed": (["-s", "new", "-g", "sex", "--group", "site"], {"score": "new", "group": ["sex", "site"]}),
    "groups with commas": (["-s", "new", "-g", "sex,site"], {"score": "new", "group": ["sex", "site"]}),
    "cluster": (["-s", "new,old", "--cluster", "patient"], {"score": ["new", "old"], "cluster": "patient"}),
    "fold": (["-s", "new", "--fold", "part"], {"score": "new", "fold": "part"}),
    "missing": (["-s", "holes", "--missing", "drop"], {"score": "holes", "missing": "drop"}),
    "missing of two": (["-s", "holes,old", "--missing", "drop"], {"score": ["holes", "old"], "missing": "drop"}),
    "imputed": (["--imputed", "risk=new,old"], {"imputed": {"risk": ["new", "old"]}}),
    "imputed beside a score": (
        ["-s", "third", "--imputed", "risk=new,old"],
        {"score": "third", "imputed": {"risk": ["new", "old"]}},
    ),
    "thresholds": (["-s", "new", "-t", 0.2, "--threshold", 0.7], {"score": "new", "thresholds": [0.2, 0.7]}),
    "cost ratio": (["-s", "new", "--cost-ratio", 5], {"score": "new", "cost_ratio": 5.0}),
    "specificity": (["-s", "new", "--specificity", "0.9:1"], {"score": "new", "specificity": (0.9, 1.0)}),
    "sensitivities": (
        ["-s", "new", "--sensitivity", "0.9:1", "--sensitivity", "0.5:.75"],
        {"score": "new", "sensitivity": [(0.9, 1.0), (0.5, 0.75)]},
    ),
    "level": (["-s", "new", "--level", 0.8], {"score": "new", "level": 0.8}),
    "plain": (["-s", "new", "--interval", "plain"], {"score": "new", "interval": "plain"}),
    "logit": (["-s", "new", "--interval", "logit"], {"score": "new", "interval": "logit"}),
    "bootstrap": (["-s", "new", "--interval", "bootstrap"], {"score": "new", "interval": "bootstrap"}),
    "seed": (["-s", "new", "--seed", 9], {"score": "new", "seed": 9}),
    "no replicates": (["-s", "new", "--replicates", 0], {"score": "new", "replicates": 0}),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_equals_its_argument(case: str, data: Path) -> None:
    flags, arguments = OPTIONS[case]
    if "--replicates" not in flags:
        flags, arguments = [*flags, "--replicates", 100], {**arguments, "replicates": 100}
    expected = library.evaluate(data, label="died", positive="yes", **arguments).to_dict()
    expected["provenance"].pop("date")
    expected["provenance"].pop("command", None)
    answer = confide("evaluate", data, "-l", "died", "--positive", "yes", *flags, "--json")
    assert document(answer) == expected
    assert BANNER in answer.err
    assert BANNER not in answer.out


@pytest.mark.long
def test_options_change_the_answer(data: Path) -> None:
    """Comparing with Python alone would not see an option that both ignore."""
    documents = [
        json.dumps(
            document(
                confide("evaluate", data, "-l", "died", "--positive", "yes", *flags, "--replicates", 100, "--json")
            )
        )
        for case, (flags, _) in OPTIONS.items()
        if case not in ("no replicates", "groups with commas")
    ]
    assert len(set(documents)) == len(documents)


def test_text_leaves_the_banner_to_standard_error(data: Path) -> None:
    answer = confide("evaluate", data, "-l", "died", "--positive", "yes", "-s", "new", "--replicates", 0)
    assert answer.code == 0
    assert BANNER in answer.err
    assert "AUC" in answer.out
    assert BANNER not in answer.out


BAD: dict[str, tuple[list[object], str]] = {
    "range without colon": (["--specificity", "0.9"], "--specificity"),
    "range in words": (["--sensitivity", "low:high"], "--sensitivity"),
    "empty range": (["--specificity", "1:0.9"], "--specificity"),
    "range beyond 1": (["--sensitivity", "0.9:2"], "--sensitivity"),
    "unknown interval": (["--interval", "wald"], "--interval"),
    "interval of clusters": (["--interval", "plain", "--cluster", "patient"], "--interval"),
    "bootstrap without replicates": (["--interval", "bootstrap", "--replicates", 0], "--replicates"),
    "few replicates": (["--replicates", 5], "--replicates"),
    "replicates in words": (["--replicates", "many"], "--replicates"),
    "unknown rule": (["--missing", "impute"], "--missing"),
    "no model": (["--imputed", "new,old"], "--imputed"),
    "model named twice": (["--imputed", "m=new,old", "--imputed", "m=third,old"], "--imputed"),
    "one imputed column": (["--imputed", "m=old"], "--imputed"),
    "imputed column that is a score": (["--imputed", "m=new,old"], "--imputed"),
    "level": (["--level", 95], "--level"),
    "cost": (["--cost-ratio", 0], "--cost-ratio"),
    "group that is not there": (["--group", "ward"], "ward"),
    "cluster that is not there": (["--cluster", "ward"], "ward"),
    "fold that is not there": (["--fold", "ward"], "ward"),
    "group named twice": (["--group", "sex", "--group", "sex"], "--group"),
    "weights of two kinds": (["--weight", "times", "--survey-weight", "sampling"], "not both"),
    "weighted clusters": (["--weight", "times", "--cluster", "patient"], "cannot be combined"),
    "folds of clusters": (["--fold", "part", "--cluster", "patient"], "cannot be combined"),
    "one fold": (["--fold", "died"], "fold"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_values_are_bad_usage(case: str, data: Path, tmp_path: Path) -> None:
    flags, named = BAD[case]
    places = ["--report", tmp_path / "report.html", "--tables", tmp_path / "tables", "--figures", tmp_path / "figures"]
    answer = confide("evaluate", data, "-l", "died", "--positive", "yes", "-s", "new", *flags, *places, "--json")
    expected = 1 if case == "one fold" else 2  # a fold with one class only is a matter of the data
    assert answer.code == expected, answer.err
    assert not answer.out
    assert named in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "report.html").exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_missing_scores_are_refused_by_default(data: Path) -> None:
    answer = confide("evaluate", data, "-l", "died", "--positive", "yes", "-s", "holes", "--json")
    assert answer.code == 1
    assert not answer.out


@pytest.mark.long
def test_figures_and_tables_are_written(data: Path, tmp_path: Path) -> None:
    answer = confide(
        *("evaluate", data, "-l", "died", "--positive", "yes", "-s", "new,old", "--replicates", 0, "--json"),
        *("--figures", tmp_path / "drawn", "--tables", tmp_path / "written"),
    )
    assert document(answer)["rows"] == SIZE
    drawn, written = (sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("drawn", "written"))
    assert {Path(name).suffix for name in drawn} == {".svg", ".pdf", ".png"}
    assert {Path(name).suffix for name in written} >= {".csv", ".tex", ".md"}
    assert "numbers.csv" in written
    assert f"figures: {len(drawn)} files" in answer.err
    assert f"tables: {len(written)} files" in answer.err
    with (tmp_path / "written" / "numbers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (auc,) = (row for row in rows if (row["model"], row["metric"], row["group"]) == ("new", "auc", ""))
    assert float(auc["value"]) == document(answer)["models"][0]["auc"]["value"]


def test_the_data_file_is_never_written_over(data: Path, tmp_path: Path) -> None:
    """A table, figure or report in the place of the data is refused before anything is computed."""
    rows = data.read_bytes()
    for flag, name in (("--tables", "numbers.csv"), ("--figures", "roc.svg")):
        folder = tmp_path / flag.strip("-")
        folder.mkdir()
        file = folder / name
        file.write_bytes(rows)
        answer = confide("evaluate", file, "-l", "died", "--positive", "yes", "-s", "new", flag, folder, "--json")
        assert answer.code in (1, 2), flag
        assert not answer.out
        assert file.read_bytes() == rows
        assert [path.name for path in folder.iterdir()] == [name]
    answer = confide("evaluate", data, "-l", "died", "--positive", "yes", "-s", "new", "--tables", data)
    assert answer.code == 2
    assert data.read_bytes() == rows
