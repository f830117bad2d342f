"""`confide evaluate` as a user types it: real files, and real processes where they matter."""

from __future__ import annotations

import gzip
import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Answer, confide, confide_process

HEART = ["--label", "died", "--score", "logistic", "--replicates", "0"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    from confide.examples import HEART_ATTACK

    return Path(shutil.copy(HEART_ATTACK, tmp_path / "heart.csv"))


def document(answer: Answer) -> dict[str, Any]:
    assert answer.code == 0, answer.err
    parsed: dict[str, Any] = json.loads(answer.out)
    return parsed


def numbers(answer: Answer) -> dict[str, Any]:
    """The document without its provenance, which names the command and the file."""
    found = document(answer)
    assert found.pop("provenance")["version"]
    return found


def test_json_has_the_published_schema(data: Path) -> None:
    found = document(
        confide("evaluate", data, *HEART, "--score", "age_only", "--group", "sex", "--threshold", 0.2, "--json")
    )
    assert found["schema"] == "confide.evaluation/2"
    assert (found["rows"], found["positives"], found["negatives"]) == (500, 138, 362)
    assert found["prevalence"] == pytest.approx(0.276)
    first, second = found["models"]
    assert (first["score"], second["score"]) == ("logistic", "age_only")
    assert set(first["auc"]) == {"value", "standard_error", "interval"}
    assert set(first["auc"]["interval"]) == {"lower", "upper", "level", "method"}
    assert list(first["aucpr"]) == [
        "average_precision",
        "lower_trapezoid",
        "upper_trapezoid",
        "interpolated_max",
        "interpolated_mean",
        "interpolated_median",
        "interpolated_convex",
        "binormal",
    ]
    for key in ("aucpr_minimum", "aucnpr"):
        assert isinstance(first[key], float), key
    for key in ("brier", "scaled_brier", "log_loss", "observed_expected"):
        assert first[key]["interval"]["lower"] < first[key]["value"] < first[key]["interval"]["upper"], key
    assert {"intercept", "slope"} <= set(first["calibration"])
    assert [entry["threshold"] for entry in first["thresholds"]] == [0.2]
    comparison, *others = found["comparisons"]
    assert [entry["metric"] for entry in others] == ["average_precision", "brier", "net_benefit"]
    keys = {"first", "second", "metric", "contrast", "difference", "standard_error", "z", "p_value", "interval"}
    assert set(comparison) == keys
    assert comparison["difference"] == pytest.approx(first["auc"]["value"] - second["auc"]["value"])
    assert [(group["group"], group["rows"]) for group in found["groups"]] == [("female", 200), ("male", 300)]


def test_json_equals_python(data: Path) -> None:
    import confide as library

    columns = [line.split(",") for line in data.read_text().splitlines()[1:]]
    expected = library.evaluate(
        [int(row[0]) for row in columns], {"logistic": [float(row[1]) for row in columns]}, replicates=0
    )
    found = document(confide("evaluate", data, *HEART, "--json"))
    origin = found.pop("provenance")
    assert origin["command"].endswith("--label died --score logistic --replicates 0 --json")
    assert origin["sha256"] == sha256(data.read_bytes()).hexdigest()
    assert found == {key: value for key, value in expected.to_dict().items() if key != "provenance"}


def test_numbers_agree_with_scikit_learn(data: Path) -> None:
    from sklearn.metrics import average_precision_score, brier_score_loss, log_loss, roc_auc_score

    columns = [line.split(",") for line in data.read_text().splitlines()[1:]]
    labels, scores = [int(row[0]) for row in columns], [float(row[1]) for row in columns]
    (model,) = document(confide("evaluate", data, *HEART, "--json"))["models"]
    assert model["auc"]["value"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert model["average_precision"]["value"] == pytest.approx(average_precision_score(labels, scores), abs=1e-12)
    assert model["brier"]["value"] == pytest.approx(brier_score_loss(labels, scores), abs=1e-12)
    assert model["log_loss"]["value"] == pytest.approx(log_loss(labels, scores), abs=1e-12)


def test_scores_that_are_not_probabilities_have_null_entries(tmp_path: Path) -> None:
    file = tmp_path / "margins.csv"
    file.write_text("label,margin\n" + "\n".join(f"{i % 2},{(i * 7 % 11) - 5 + i % 2}" for i in range(40)) + "\n")
    (model,) = document(confide("evaluate", file, "--label", "label", "--score", "margin", "--json"))["models"]
    for key in ("brier", "scaled_brier", "log_loss", "observed_expected", "calibration"):
        assert model[key] is None, key
    assert model["thresholds"] == []
    assert model["auc"]["value"] is not None


@pytest.mark.long
@pytest.mark.processes
def test_text_shows_the_numbers_and_the_comparison(data: Path) -> None:
    answer = confide_process("evaluate", data, *HEART, "--score", "age_only")
    assert answer.code == 0
    for expected in ("0.805", "0.759 to 0.844", "0.764", "logistic − age_only", "2.24   0.025", "prevalence 0.276"):
        assert expected in answer.out, expected
    assert answer.err.startswith("Exact numbers, not differentially private.")
    assert len(answer.err.splitlines()) == 1


def test_three_scores_have_a_joint_test(tmp_path: Path, data: Path) -> None:
    lines = data.read_text().splitlines()
    third = tmp_path / "three.csv"
    body = [f"{line},{float(line.split(',')[1]) ** 2 * 0.9 + (i % 5) / 50}" for i, line in enumerate(lines[1:])]
    third.write_text("\n".join([f"{lines[0]},third", *body]) + "\n")
    found = document(confide("evaluate", third, *HEART, "--score", "age_only", "--score", "third", "--json"))
    assert found["joint_comparison"]["degrees_of_freedom"] == 2
    of_auc = [entry for entry in found["comparisons"] if entry["metric"] == "auc"]
    assert len(of_auc) == 3
    for entry in of_auc:
        assert entry["simultaneous_interval"]["lower"] < entry["interval"]["lower"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".jsonl", ".ndjson"])
def test_every_file_format_gives_the_same_answer(data: Path, tmp_path: Path, ending: str) -> None:
    import polars as pl

    frame, file = pl.read_csv(data), tmp_path / f"copy{ending}"
    if ending == ".csv.gz":
        file.write_bytes(gzip.compress(data.read_bytes()))
    elif ending == ".parquet":
        frame.write_parquet(file)
    elif ending in (".jsonl", ".ndjson"):
        frame.write_ndjson(file)
    else:
        file = data
    expected = numbers(confide("evaluate", data, *HEART, "--json"))
    assert numbers(confide("evaluate", file, *HEART, "--json")) == expected


@pytest.mark.processes
def test_standard_input(data: Path) -> None:
    expected = numbers(confide("evaluate", data, *HEART, "--json"))
    assert numbers(confide_process("evaluate", "-", *HEART, "--json", given=data.read_bytes())) == expected


def test_positive_label_and_weights(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("outcome,risk,times\nPoor,0.9,2\nGood,0.1,1\nGood,0.4,3\nPoor,0.3,1\nGood,0.2,1\n")
    arguments = ["evaluate", file, "--label", "outcome", "--score", "risk", "--positive", "Poor", "--json"]
    assert document(confide(*arguments))["positives"] == 2
    weighted = document(confide(*arguments, "--weight", "times"))
    assert (weighted["rows"], weighted["positives"], weighted["negatives"]) == (5, 3, 5)


BAD = {
    "unknown column": (["--label", "dead", "--score", "logistic"], 2, "Did you mean 'died'"),
    "unknown score": (["--label", "died", "--score", "logistics"], 2, "Did you mean 'logistic'"),
    "unknown weight": ([*HEART, "--weight", "w"], 2, "no column 'w'"),
    "unknown group": ([*HEART, "--group", "sexx"], 2, "Did you mean 'sex'"),
    "text as score": (["--label", "died", "--score", "sex"], 1, "does not hold numbers"),
    "label of many values": (["--label", "logistic", "--score", "age_only"], 1, "more than two values"),
    "labels that are words": (["--label", "sex", "--score", "logistic"], 1, "--positive"),
    "no such positive": ([*HEART, "--positive", "dead"], 2, "no row has the positive label"),
    "level": ([*HEART, "--level", "95"], 2, "level must lie"),
    "twice": ([*HEART, "--score", "logistic"], 2, "named twice"),
    "report folder": ([*HEART, "--report", "nowhere/report.html"], 2, "does not exist"),
    "report over the data": ([*HEART, "--report", "heart.csv"], 2, "must end in .html"),
    "report that is no page": ([*HEART, "--report", "report.pdf"], 2, "must end in .html"),
    "label as score": (["--label", "died", "--score", "died"], 2, "both label and score"),
    "threshold": ([*HEART, "--threshold", "nan"], 2, "threshold"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_usage_has_a_clear_message_and_writes_nothing(case: str, data: Path) -> None:
    arguments, code, message = BAD[case]
    before = sorted(data.parent.iterdir())
    answer = confide("evaluate", data, *arguments, folder=data.parent)
    assert answer.code == code, answer
    assert message in answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert sorted(data.parent.iterdir()) == before


FILES = {
    "one class": ("label,score\n1,0.25\n1,0.75\n", 1, "same label"),
    "NaN": ("label,score\n1,0.25\n0,NaN\n", 1, "NaN"),
    "infinite": ("label,score\n1,0.25\n0,inf\n", 1, "infinite"),
    "missing score": ("label,score\n1,0.25\n0,\n1,0.75\n", 1, "missing"),
    "missing label": ("label,score\n1,0.25\n,0.5\n0,0.75\n", 1, "missing"),
    "three labels": ("label,score\n1,0.25\n0,0.5\n2,0.75\n", 1, "more than two values"),
    "negative weight": ("label,score,weight\n1,0.25,1\n0,0.5,-1\n", 1, "negative"),
    "zero weight": ("label,score,weight\n1,0.25,1\n0,0.5,0\n", 1, "zero"),
    "header only": ("label,score\n", 1, "no rows"),
    "empty": ("", 1, "empty"),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_data_is_refused_and_no_report_is_written(case: str, tmp_path: Path) -> None:
    text, code, message = FILES[case]
    file, report = tmp_path / "bad.csv", tmp_path / "report.html"
    file.write_text(text)
    weight = ["--weight", "weight"] if "weight" in text else []
    answer = confide("evaluate", file, "--label", "label", "--score", "score", *weight, "--report", report)
    assert answer.code == code, answer
    assert message in answer.err
    assert answer.out == ""
    assert not report.exists()
    for value in ("0.25", "0.75"):
        assert value not in answer.err


@pytest.mark.parametrize(
    ("name", "content"), [("bad.parquet", b"not parquet"), ("bad.jsonl", b'{"label": 1\n{{'), ("bad.csv.gz", b"x")]
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    answer = confide("evaluate", file, "--label", "label", "--score", "score")
    assert answer.code == 1, answer
    assert "cannot be read" in answer.err or "not a complete gzip file" in answer.err


@pytest.mark.parametrize("name", ["absent.csv", "scores.xlsx"])
def test_files_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    if name.endswith("xlsx"):
        (tmp_path / name).write_text("x")
    answer = confide("evaluate", tmp_path / name, "--label", "label", "--score", "score")
    assert answer.code == 2, answer
    assert "does not exist" in answer.err or "ending must be" in answer.err


@pytest.mark.processes
def test_a_process_ends_with_the_error_s_code(data: Path) -> None:
    assert confide_process("evaluate", data, "--label", "died", "--score", "sex").code == 1
    wrong = confide_process("evaluate", data, "--label", "dead", "--score", "logistic")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'died'" in wrong.err


def test_the_data_are_never_overwritten(data: Path) -> None:
    """A report's name must end in .html, so only data by a link of that name are in danger."""
    link = data.with_name("link.html")
    link.symlink_to(data)
    before = data.read_bytes()
    answer = confide("evaluate", data, *HEART, "--report", link)
    assert answer.code == 2
    assert "is the file to be evaluated" in answer.err
    assert data.read_bytes() == before


def test_names_are_shown_as_they_are_written(tmp_path: Path) -> None:
    file, report = tmp_path / "odd.csv", tmp_path / "report.html"
    groups = ("cost $x^2$", "b $\\frac{$")
    rows = "".join(f"{i % 2},{(i * 7 % 40) / 41},{groups[i % 3 == 0]}\n" for i in range(40))
    file.write_text("died,a $\\foo{$ 中,group\n" + rows, encoding="utf-8")
    answer = confide("evaluate", file, "-l", "died", "-s", "a $\\foo{$ 中", "--group", "group", "--report", report)
    assert answer.code == 0, answer.err
    text = report.read_text(encoding="utf-8")
    for name in ("a $\\foo{$ 中", "cost $x^2$", "b $\\frac{$"):
        assert text.count(name) >= 2, name  # in a table and in a picture


def test_names_are_never_taken_for_markup(tmp_path: Path) -> None:
    file = tmp_path / "markup.csv"
    file.write_text("died,[a],[/b],group\n" + "".join(f"{i % 2},{i % 7},{i % 5},[/x]\n" for i in range(40)))
    answer = confide("evaluate", file, "-l", "died", "-s", "[a]", "-s", "[/b]", "--group", "group")
    assert answer.code == 0, answer.err
    for name in ("[a]", "[/b]", "[/x]"):
        assert name in answer.out


@pytest.mark.few(1)
@pytest.mark.processes
@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_terminal_without_our_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    file = tmp_path / "letters.csv"
    file.write_text("died,é\n" + "".join(f"{i % 2},{i % 7}\n" for i in range(40)), encoding="utf-8")
    answer = confide_process("evaluate", file, "-l", "died", "-s", "é", *arguments)
    assert answer.code == 0, answer.err
    if arguments:
        assert json.loads(answer.out)["models"][0]["score"] == "é"


@pytest.mark.long
def test_weighted_means_that_weights_were_given(data: Path) -> None:
    lines = data.read_text().splitlines()
    data.write_text("\n".join([f"{lines[0]},one", *(f"{line},1" for line in lines[1:])]) + "\n")
    for scores in (["--score", "logistic"], ["--score", "logistic", "--score", "age_only"]):
        found = document(confide("evaluate", data, "--label", "died", *scores, "--weight", "one", "--json"))
        assert found["design"]["weighted"] is True
        assert document(confide("evaluate", data, "--label", "died", *scores, "--json"))["design"]["weighted"] is False


def test_a_demo_folder_that_is_a_file(data: Path) -> None:
    answer = confide("demo", "--folder", data)
    assert answer.code == 2
    assert "is a file" in answer.err


@pytest.mark.processes
def test_help_has_examples_and_version_is_shown() -> None:
    assert "confide evaluate scores.csv" in confide("evaluate", "--help").out
    assert confide_process("--version").out.startswith("confide 0.")


def test_whether_scores_are_probabilities_is_decided_for_all_rows(tmp_path: Path) -> None:
    """A group whose scores happen to lie in [0, 1] has no more probabilities than the others."""
    file = tmp_path / "marker.csv"
    lines = [
        f"{i % 2},{0.1 + (i * 7 % 20) / 25 + (2.0 if i < 40 else 0.0)},{'f' if i < 40 else 'm'}" for i in range(80)
    ]
    file.write_text("\n".join(["died,marker,sex", *lines]) + "\n", encoding="utf-8")
    found = document(confide("evaluate", file, "-l", "died", "-s", "marker", "--group", "sex", "--json"))
    assert [group["group"] for group in found["groups"]] == ["f", "m"]
    for model in (*found["models"], *(group["models"][0] for group in found["groups"])):
        for name in ("observed_expected", "brier", "log_loss", "calibration"):
            assert model[name] is None, name
        assert model["thresholds"] == []  # there is no usual threshold for such scores
        assert model["youden"]["net_benefit"] is None
