"""`confide.attack` and its kin give Python what the command line prints, with the same checks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import confide
from confide.attacks.from_curve.curve_report import CurveReport
from confide.attacks.from_curve.points import RocPoints
from confide.curves.roc import roc_curve
from confide.errors import DataError, ParameterError, UsageError
from confide.tasks.attack import attack, attack_contest, attack_curve, attack_labelings
from tests.cli.commands import confide as command

ROWS = [(0.9, 1), (0.8, 1), (0.7, 0), (0.6, 1), (0.5, 0), (0.4, 0), (0.3, 1), (0.2, 0)]
ADDED = (0.6, 1)


def printed(*arguments: object) -> object:
    answer = command("attack", *arguments, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


def refused(*arguments: object) -> str:
    answer = command("attack", *arguments)
    assert (answer.code != 0, answer.out) == (True, "")
    return answer.err


def curve_of(rows: list[tuple[float, int]], path: Path, *, digits: int | None = None, thresholds: bool = False) -> Path:
    scores, labels = zip(*rows, strict=True)
    points = RocPoints.of_curve(
        roc_curve(confide.ScoreCounts.from_arrays(labels, scores)), digits=digits, thresholds=thresholds
    )
    lines = ["fpr,tpr,threshold" if thresholds else "fpr,tpr"]
    for place, (ours, theirs) in enumerate(zip(points.false_positive_rate, points.true_positive_rate, strict=True)):
        cut = "" if points.thresholds is None else f",{points.thresholds[place]}"
        lines.append(f"{ours!r},{theirs!r}{cut}".replace("np.float64(", "").replace(")", ""))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    labels = (rng.random(40) < 0.4).astype(int)
    lines = [f"{label},{label + noise}" for label, noise in zip(labels, rng.normal(size=40), strict=True)]
    path = tmp_path / "scores.csv"
    path.write_text("died,risk\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_file_is_attacked_alike(file: Path) -> None:
    found = attack(file, ["auc:exact", "roc:digits=2"], label="died", score="risk", seed=3, class_sizes=True)
    same = printed(
        *(file, "-l", "died", "-s", "risk", "-r", "auc:exact", "-r", "roc:digits=2", "--seed", 3, "--class-sizes")
    )
    assert json.loads(json.dumps(found.to_dict())) == same
    counts = confide.ScoreCounts.from_table(file, label="died", score="risk")
    assert attack(counts, ["auc:exact", "roc:digits=2"], seed=3, class_sizes=True).to_dict() == found.to_dict()


def test_wrong_parameters_of_a_file_are_refused_before_it_is_read() -> None:
    for given, message in (
        ({"label": "died"}, "give `label` and `score`"),
        ({"label": "died", "score": "died"}, "cannot be both label and score"),
        ({"label": "died", "score": "risk", "sure": 1.5}, "sure must lie between"),
        ({"label": "died", "score": "risk", "releases": ["auc:digit=2"]}, "does not say how"),
        ({"label": "died", "score": "risk", "seed": 1, "generator": np.random.default_rng(0)}, "not both"),
    ):
        with pytest.raises(ParameterError, match=message):
            attack("nowhere.csv", **given)
    with pytest.raises(ParameterError, match="leave them out with counts"):
        attack(confide.ScoreCounts.from_arrays([0, 1], [0.1, 0.2]), label="died")


def test_labelings_are_counted_alike() -> None:
    found = attack_labelings(11, "17/24", positives=8, queries=True)
    assert found.to_dict() == printed("labelings", "-n", 11, "--auc", "17/24", "--positives", 8, "--queries")
    tied = attack_labelings(5, "0.75", ties=(1, 3, 1))
    assert tied.to_dict() == printed("labelings", "-n", 5, "--auc", "0.75", "--ties", "1,3,1")
    with pytest.raises(ParameterError, match="add up to `rows`, 6"):
        attack_labelings(6, "0.75", ties=(1, 3, 1))
    with pytest.raises(UsageError, match="a fraction is exact"):
        attack_labelings(6, "3/4", cut=True)
    with pytest.raises(UsageError, match="`queries` goes through every labeling"):
        attack_labelings(200, "0.75", queries=True)
    assert "--queries goes through every labeling" in refused("labelings", "-n", 200, "--auc", "0.75", "--queries")


def test_contests_are_rehearsed_alike() -> None:
    found = attack_contest(60, 40, oracle="accuracy", seed=5)
    same = printed("contest", "-n", 60, "-q", 40, "--oracle", "accuracy", "--seed", 5)
    assert json.loads(json.dumps(found.to_dict())) == same


class TestCurve:
    def test_the_curve_alone_tells_class_sizes_and_labels_of_ranks(self, tmp_path: Path) -> None:
        curve = curve_of(ROWS, tmp_path / "roc.csv")
        found = attack_curve(curve, rows=8)
        assert isinstance(found, CurveReport)
        assert list(found.sizes) == [(4, 4)]
        assert found.certain_ranks == 8
        assert json.loads(json.dumps(found.to_dict())) == printed("curve", curve, "--rows", 8)
        text = command("attack", "curve", curve, "--rows", 8).out
        assert text.splitlines() == [
            "9 points: 4 positives and 4 negatives",
            "labels that follow from the rank of a row alone: 8 of 8",
        ]

    def test_without_sizes_all_that_fit_are_counted(self, tmp_path: Path) -> None:
        curve = curve_of(ROWS, tmp_path / "roc.csv")
        found = attack_curve(curve)
        assert len(found.sizes) == 2500 * 2500
        assert found.certain_ranks is None
        assert "pairs of class sizes fit, for example 4 positives" in command("attack", "curve", curve).out

    @pytest.mark.parametrize("digits", [None, 2])
    def test_scores_tell_every_label(self, tmp_path: Path, digits: int | None) -> None:
        curve = curve_of(ROWS, tmp_path / "roc.csv", digits=digits)
        scores = tmp_path / "scores.csv"
        scores.write_text("risk\n" + "\n".join(str(score) for score, _ in ROWS) + "\n", encoding="utf-8")
        found = attack_curve(curve, scores=scores, score="risk", rows=8, digits=digits)
        assert found.labels is not None
        assert found.labels.probability.tolist() == [label for _, label in ROWS]
        assert attack_curve(curve, scores=[s for s, _ in ROWS], score="risk", rows=8, digits=digits).labels is not None
        rounding = () if digits is None else ("--digits", digits)
        same = printed("curve", curve, "--scores", scores, "-s", "risk", "--rows", 8, *rounding)
        assert json.loads(json.dumps(found.to_dict())) == same
        text = command("attack", "curve", curve, "--scores", scores, "-s", "risk", "-n", 8, *rounding).out
        assert "labels that follow from the scores: 8 of 8 (100 %)" in text

    def test_two_curves_tell_the_row_that_was_added(self, tmp_path: Path) -> None:
        after = curve_of(ROWS, tmp_path / "after.csv", thresholds=True)
        before = curve_of([row for row in ROWS if row != ADDED], tmp_path / "before.csv", thresholds=True)
        found = attack_curve(after, before=before, rows=8)
        assert found.added is not None
        (place,) = found.added.places
        assert (place.positive, place.above, place.lowest, place.below) == (True, 3, 0.6, 0.7)
        assert json.loads(json.dumps(found.to_dict())) == printed("curve", after, "--before", before, "-n", 8)
        text = command("attack", "curve", after, "--before", before, "-n", 8).out
        assert "positive, below 3 rows, score of at least 0.6 and below 0.7" in text

    def test_known_rows_are_found_on_the_curve(self, tmp_path: Path) -> None:
        curve = curve_of(ROWS, tmp_path / "roc.csv", thresholds=True)
        known = tmp_path / "known.csv"
        known.write_text("died,risk\n1,0.9\n0,0.5\n", encoding="utf-8")
        found = attack_curve(curve, known=known, label="died", score="risk", positives=4, negatives=4)
        assert found.known is not None
        assert (found.known.located, found.known.unknown) == (2, (3, 3))
        options = ("--known", known, "-l", "died", "-s", "risk", "--positives", 4, "--negatives", 4)
        assert json.loads(json.dumps(found.to_dict())) == printed("curve", curve, *options)
        assert "place on the curve is certain: 2 of 2" in command("attack", "curve", curve, *options).out

    def test_wrong_usage_is_refused(self, tmp_path: Path) -> None:
        curve = curve_of(ROWS, tmp_path / "roc.csv")
        known = tmp_path / "known.csv"
        known.write_text("died,risk\n1,0.9\n", encoding="utf-8")
        for arguments, message in (
            ((tmp_path / "nothing.csv",), "does not exist"),
            ((known,), "no column 'false_positive_rate'"),
            ((curve, "--rows", 9), "no class sizes fit the points; check --rows"),
            ((curve, "--known", known), "--label COL"),
            ((curve, "--known", known, "-l", "died"), "--score COL"),
            ((curve, "--known", known, "-l", "died", "-s", "risk"), "several class sizes fit"),
            ((curve, "-l", "died"), "give --known"),
            ((curve, "--before", curve), "too many to try; give --rows"),
            ((curve, "--before", curve, "--rows", 8), "do not differ by one row"),
        ):
            assert message in refused("curve", *arguments), message
        with pytest.raises(DataError, match="give `digits`"):
            attack_curve(curve, rows=9)
        falling = tmp_path / "falling.csv"
        falling.write_text("fpr,tpr\n0,0\n0.5,1\n0.2,1\n1,1\n", encoding="utf-8")
        assert "must rise from 0 to 1" in refused("curve", falling)
        falling.write_text("fpr,tpr\n0,0\n,1\n1,1\n", encoding="utf-8")
        assert "has no rate" in refused("curve", falling)
        falling.write_text("fpr,tpr\n0,0\nhalf,1\n1,1\n", encoding="utf-8")
        assert "does not hold numbers" in refused("curve", falling)
