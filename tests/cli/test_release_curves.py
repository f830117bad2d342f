"""`confide release` for curves as a user types it: what it prints, charges, refuses and keeps private."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cli.desk import LABELS, SCORES, Desk
from tests.noises import FORBIDDEN, Deaf

ASKED = ("-e", "1", "--account", "trial")
CURVES = ("-m", "roc,pr,calibration")


def releases(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["metric"]: one for one in document.get("releases", [document])}


class TestWhatItPrints:
    def test_json_has_points_and_bands(self, desk: Desk) -> None:
        found = releases(desk.document(*ASKED, "-m", "curves,counts"))
        assert list(found) == ["roc", "pr", "calibration", "counts"]
        coordinates = {"roc": "false_positive_rate", "pr": "recall", "calibration": "mean_score"}
        for metric, x in coordinates.items():
            curve = found[metric]["curve"]
            assert x in curve["points"]
            for name in ("sample", "population"):
                band = curve["bands"][name]
                assert set(band) == {x, "lower", "upper"}
                assert len({len(values) for values in band.values()}) == 1
                assert all(low <= high for low, high in zip(band["lower"], band["upper"], strict=True))
        rows = found["counts"]["curve"]["points"]
        assert len(rows["positives"]) == len(found["counts"]["options"]["grid"]) - 1
        assert sum(rows["positives"] + rows["negatives"]) == 83  # the number of rows is public here

    def test_the_table_names_curves_and_says_what_matters(self, desk: Desk) -> None:
        shown = " ".join(desk.ask(*ASKED, "-m", "curves,counts", "--target", "recall=0.9").out.split())
        for words in (
            "ROC curve, area",
            "PR curve, average precision",
            "calibration, observed : expected",
            "rows",
            "threshold for an estimated recall of 0.9",
            "At the chosen threshold",
            "mixed evenly within a cell",
            "their intervals allow for any order",
            "outside the grid count in its end cells",
            "made proper (concave)",
            "Bands are simultaneous: they cover the whole curve",
        ):
            assert words in shown, words

    def test_a_dry_run_names_the_price_and_charges_nothing(self, desk: Desk) -> None:
        desk.open_account("trial")
        before = desk.files()
        desk.hear(FORBIDDEN)
        quote = desk.document(*ASKED, *CURVES, "--target", "recall=0.9", "--dry-run")
        assert desk.files() == before
        assert quote["price"]["epsilon"] == 1.0
        assert quote["split"] == [{"metrics": ["roc", "pr", "calibration", "threshold"], "epsilon": 1.0, "delta": 0.0}]

    def test_a_target_chooses_a_threshold_with_what_it_achieves(self, desk: Desk) -> None:
        found = releases(desk.document(*ASKED, *CURVES, "--target", "recall=0.8"))["threshold"]
        assert found["options"]["target"] == "recall"
        assert found["options"]["at_least"] == 0.8
        assert found["parts"]["recall"] >= 0.8
        for measure in ("recall", "specificity"):
            interval = found["parts"][f"{measure}_intervals"]["sample"]
            assert interval["lower"] <= found["parts"][measure] <= interval["upper"]

    def test_a_safe_threshold_calls_more_positive(self, desk: Desk) -> None:
        rng = np.random.default_rng(2)
        labels = (rng.random(2000) < 0.5).astype(int)
        desk.write("many.csv", labels, np.clip(rng.normal(0.4 + 0.2 * labels, 0.15), 0.0, 1.0))
        asked = (*ASKED, "-m", "roc", "--grid", "uniform:200", "--target", "recall=0.8")  # edges closer than noise
        plain, safe = (
            releases(desk.document(*asked, *more, file="many.csv"))["threshold"] for more in ((), ("--safe",))
        )
        assert safe["value"] < plain["value"]
        assert safe["parts"]["recall_intervals"]["sample"]["lower"] >= 0.8
        assert "of 0.8, safe" in desk.ask(*asked, "--safe", file="many.csv").out

    def test_a_public_file_makes_a_grid_but_the_private_one_does_not(self, desk: Desk) -> None:
        desk.write("public.csv", np.array([0, 1] * 50), np.linspace(0.1, 0.9, 100))
        public = desk.folder / "public.csv"
        _, table = desk.document(*ASKED, "-m", "roc,counts", "--grid", f"public:{public}:risk:4")["releases"]
        np.testing.assert_allclose(table["options"]["grid"], np.linspace(0.1, 0.9, 5))
        spent = desk.document(*ASKED)["ledger"]["spent"]["epsilon"]
        desk.write("copy.csv")
        for private in ("rows.csv", "copy.csv"):
            answer = desk.ask(*ASKED, "-m", "roc", "--grid", f"public:{desk.folder / private}:risk:4")
            assert answer.code == 2
            assert "private rows" in answer.err
        assert desk.document(*ASKED)["ledger"]["spent"]["epsilon"] == spent

    def test_a_target_alone_adds_a_threshold_to_the_auc(self, desk: Desk) -> None:
        assert list(releases(desk.document(*ASKED, "--target", "specificity=0.9"))) == ["auc", "threshold"]


class TestOptions:
    @pytest.mark.parametrize(
        ("grid", "edges"),
        [
            ("arcsine:4", [0.0, 0.146, 0.5, 0.854, 1.0]),
            ("uniform:4", [0.0, 0.25, 0.5, 0.75, 1.0]),
            ("uniform:2:-4:4", [-4.0, 0.0, 4.0]),
            ("logit:4", [0.0, 0.001, 0.5, 0.999, 1.0]),
            ("edges:0,0.1,0.3,1", [0.0, 0.1, 0.3, 1.0]),
        ],
    )
    def test_public_grids(self, desk: Desk, grid: str, edges: list[float]) -> None:
        found = desk.document(*ASKED, "-m", "counts", "--grid", grid)
        assert [round(edge, 3) for edge in found["options"]["grid"]] == edges

    @pytest.mark.few(1)
    @pytest.mark.parametrize(("grid", "cells"), [("quantiles:4", 4), ("quantiles:4:-1:2", 4), ("medians:2", 4)])
    def test_grids_that_are_found(self, desk: Desk, grid: str, cells: int) -> None:
        found = desk.document(*ASKED, "-m", "counts", "--grid", grid)
        assert len(found["options"]["grid"]) <= cells + 1
        assert found["ledger"]["charged"]["epsilon"] == 1.0

    @pytest.mark.parametrize("strategy", ["flat", "tree:4", "haar"])
    def test_strategies(self, desk: Desk, strategy: str) -> None:
        found = desk.document(*ASKED, "-m", "roc", "--grid", "uniform:16", "--strategy", strategy)
        assert found["options"]["strategy"] == strategy

    def test_the_curve_of_one_number(self, desk: Desk) -> None:
        found = desk.document(*ASKED, "-m", "roc", "--mechanism", "symmetric-binormal")
        assert found["mechanism"] == "symmetric-binormal"
        assert "threshold" not in found["curve"]["points"]

    def test_an_auc_of_its_own_is_that_of_the_curve(self, desk: Desk) -> None:
        asked = (*ASKED, "-m", "roc,auc", "--grid", "uniform:8", "--with-auc")
        found = releases(desk.document(*asked))
        assert found["roc"]["value"] == found["auc"]["value"]
        assert found["roc"]["intervals"] == found["auc"]["intervals"]
        assert found["auc"]["mechanism"] == "local"
        shown = " ".join(desk.ask(*asked, "--report", "out.html").out.split())
        assert "has noise of its own, for a quarter of epsilon" in shown
        assert "has noise of its own" in (desk.folder / "out.html").read_text(encoding="utf-8")

    def test_average_precision_keeps_its_grid(self, desk: Desk) -> None:
        asked = ("-m", "average_precision", "--mechanism", "private-counts", "--grid")
        for grid in ("edges:0,0.1,0.3,1", "uniform:3"):
            assert len(desk.document(*ASKED, *asked, grid)["options"]["grid"]) == 4


class TestWhatItCosts:
    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        "other",
        [
            ("--level", "0.8"),
            ("--shape", "binormal"),
            ("--shape", "isotonic"),
            ("--target", "recall=0.9"),
            ("--target", "specificity=0.5", "--safe"),
            ("-m", "auc,brier,observed_expected"),
        ],
        ids=" ".join,
    )
    def test_more_from_the_same_table_costs_nothing(self, desk: Desk, other: tuple[str, ...]) -> None:
        first = desk.document(*ASKED, *CURVES)
        desk.hear(FORBIDDEN)
        again = desk.document(*ASKED, *CURVES, *other)
        assert again["ledger"]["reused"]
        assert again["ledger"]["charged"]["epsilon"] == 0.0
        assert again["releases"] != first["releases"]

    def test_an_auc_of_its_own_is_paid_in_the_same_charge_and_comes_again_at_another_level(self, desk: Desk) -> None:
        asked = (*ASKED, "-m", "roc", "--grid", "uniform:8", "--with-auc")
        first = desk.document(*asked)
        assert first["ledger"]["charged"]["epsilon"] == 1.0
        desk.hear(FORBIDDEN)
        again = desk.document(*asked, "--level", "0.8")
        assert (again["ledger"]["reused"], again["ledger"]["charged"]["epsilon"]) == (True, 0.0)
        assert again["value"] == first["value"]
        assert again["intervals"] != first["intervals"]

    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        "other",
        [
            ("--grid", "logit:64"),
            ("--grid", "quantiles:4"),
            ("--strategy", "haar"),
            ("-m", "recall"),
            ("-e", "2"),
            ("--with-auc",),
        ],
        ids=" ".join,
    )
    def test_another_table_costs_again(self, desk: Desk, other: tuple[str, ...]) -> None:
        desk.document(*ASKED, *CURVES)
        again = desk.document(*ASKED, *CURVES, *other)["ledger"]
        assert not again["reused"]
        assert again["charged"]["epsilon"] == (2.0 if "-e" in other else 1.0)


WRONG = [
    (("-m", "roc", "--grid", "hexagons:3"), "grid must look like"),
    (("-m", "roc", "--grid", "uniform:0"), "at least 1"),
    (("-m", "roc", "--grid", "uniform:4:1:0"), "ascending"),
    (("-m", "roc", "--grid", "uniform:99999"), "at most"),
    (("-m", "roc", "--grid", "edges:0,x,1"), "edges:0,0.1,0.3,1"),
    (("-m", "roc", "--grid", "edges:0.5"), "two or more"),
    (("-m", "roc", "--grid", "edges:0,1,0.5"), "ascending"),
    (("-m", "roc", "--grid", "edges:0,nan,1"), "finite"),
    (("-m", "roc", "--grid", "quantiles:7"), "2, 4, 8"),
    (("-m", "roc", "--grid", "medians:99"), "levels"),
    (("-m", "average_precision", "--grid", "quantiles:8"), "grid must look like"),
    (("-m", "roc", "--shape", "square"), "shape must be one of"),
    (("--shape", "concave"), "are for curves"),
    (("-m", "roc", "--strategy", "bush"), "strategy must be"),
    (("--strategy", "haar"), "are for curves"),
    (("-m", "roc", "--mechanism", "laplace-per-point", "--strategy", "haar"), "leave strategy out"),
    (("--target", "recall=1.5"), "between 0 and 1"),
    (("--target", "recall=0"), "between 0 and 1"),
    (("--target", "recall=nan"), "between 0 and 1"),
    (("--target", "recall"), "looks like recall=0.9"),
    (("--target", "precision=0.9"), "recall or specificity"),
    (("--target", "recall=0.9", "--target", "recall=0.8"), "one --target"),
    (("--safe",), "give a --target"),
    (("-m", "roc", "--reveal"), "--report"),
    (("-m", "auc", "--reveal", "--report", "out.html"), "ask for roc"),
    (("-m", "pr", "--mechanism", "symmetric-binormal"), "leave out pr"),
    (("-m", "roc", "--mechanism", "symmetric-binormal", "--shape", "concave"), "leave out shape"),
    (("-m", "roc,recall", "-t", "1.5"), "inside the grid"),
    (("-m", "roc,recall", "-t", "0.9", "--grid", "uniform:4:0:0.5"), "inside the grid"),
    (("--with-auc",), "ask for roc"),
    (("-m", "roc", "--mechanism", "symmetric-binormal", "--with-auc"), "leave out with_auc"),
    (("-m", "roc", "-t", "0.3"), "for the measures of a confusion matrix"),
]


@pytest.mark.few(10)
@pytest.mark.parametrize(
    ("wrong", "words"), WRONG, ids=lambda given: given if isinstance(given, str) else " ".join(given)
)
def test_wrong_options_are_refused_before_anything_is_read_or_charged(
    desk: Desk, wrong: tuple[str, ...], words: str
) -> None:
    desk.open_account("trial")
    before = desk.files()
    desk.hear(FORBIDDEN)
    answer = desk.ask(*ASKED, *wrong, file="does-not-exist.csv")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert "does-not-exist" not in answer.err
    assert desk.files() == before


class TestWhatItKeepsPrivate:
    DATA = (
        (LABELS, SCORES),
        (np.ones(83, dtype=int), SCORES),
        (np.zeros(83, dtype=int), SCORES),
        (1 - LABELS, SCORES[::-1] ** 2),
    )

    def seen(self, desk: Desk, number: int, *options: str) -> tuple[Any, str]:
        """What is shown of one dataset, and the page, when noise drowns everything."""
        labels, scores = self.DATA[number]
        desk.write("rows.csv", labels, scores)
        desk.hear(Deaf().noise())
        answer = desk.ask(*ASKED, *options, "--ledger", f"{number}.sqlite", "--report", "out.html")
        desk.hear_the_system_again()
        assert answer.code == 0, answer.err
        return answer, (desk.folder / "out.html").read_text(encoding="utf-8")

    @pytest.mark.long
    @pytest.mark.parametrize(
        "options",
        [
            ("-m", "curves,counts,auc,recall", "--target", "recall=0.9"),
            ("-m", "curves,counts", "--neighbours", "add-remove-one", "--json"),
            ("-m", "curves,counts", "--grid", "uniform:16", "--strategy", "haar", "--shape", "binormal"),
            ("-m", "curves", "--mechanism", "gaussian", "--delta", "1e-6"),
            ("-m", "roc", "--mechanism", "symmetric-binormal"),
            ("-m", "curves,auc,counts", "--with-auc"),
        ],
        ids=" ".join,
    )
    def test_with_noise_that_drowns_everything_all_data_look_alike(self, desk: Desk, options: tuple[str, ...]) -> None:
        """Streams and the page with its pictures are the same, byte by byte, whatever labels and scores are."""
        everything = [self.seen(desk, number, *options) for number in range(len(self.DATA))]
        assert "<svg" in everything[0][1]
        assert all(other == everything[0] for other in everything)

    def test_the_number_of_rows_looks_alike_under_add_remove_one(self, desk: Desk) -> None:
        seen = []
        for rows in (83, 40, 2):
            desk.write("rows.csv", LABELS[:rows], SCORES[:rows])
            desk.hear(Deaf().noise())
            book = ("--ledger", f"{rows}.sqlite", "--neighbours", "add-remove-one", "--report", "out.html")
            answer = desk.ask(*ASKED, "-m", "curves,counts", *book)
            seen.append((answer, (desk.folder / "out.html").read_bytes()))
        assert all(other == seen[0] for other in seen)

    def test_what_is_revealed_does_not_look_alike(self, desk: Desk) -> None:
        """The broken twin: the check above finds exact curves when they are there, and streams stay private."""
        (first, page), (second, other) = (self.seen(desk, number, "-m", "curves", "--reveal") for number in (0, 3))
        assert page != other
        assert first == second
