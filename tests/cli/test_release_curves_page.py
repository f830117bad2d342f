"""Pictures and pages of private curves: what is drawn, what is said, and that exact curves are never unmarked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import confide
from confide import ScoreCounts
from confide.ledger.receipts import Receipt
from confide.releases.curves import draw_curves
from confide.releases.operating import Target
from confide.releases.registry import prepare
from confide.releases.release import Release
from confide.report.curves import pr_joined
from confide.report.release import FOOTER, release_page
from confide.report.release_plots import EXACT, exact_shares, plot_releases
from tests.cli.desk import Desk
from tests.ledger.asking import Book
from tests.noises import RELATIONS, seeded
from tests.report.test_evaluation_page import Elements
from tests.report.test_release_page import shows

RNG = np.random.default_rng(5)
LABELS = (RNG.random(2237) < 0.3).astype(int)
SCORES = np.clip(RNG.normal(0.4 + 0.2 * LABELS, 0.2), 0.0, 1.0)
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)
EVERY = ("roc", "pr", "calibration", "counts")


def receipt_of(folder: Path, *metrics: str, counts: ScoreCounts = COUNTS, **terms: Any) -> Receipt[Release]:
    with Book(folder / "ledger.sqlite") as ledger:
        return ledger.release(prepare(metrics, counts, **{"epsilon": 1, "noise": seeded(2), **terms}), account="trial")


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(Elements(page).text))


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def curves() -> confide.releases.CurvesRelease:
    return draw_curves(COUNTS, epsilon=1, noise=seeded(2))


@pytest.fixture(scope="module", params=RELATIONS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    receipt = receipt_of(tmp_path_factory.mktemp("ledger"), *EVERY, neighbours=request.param, target="recall=0.9")
    return release_page(receipt, title="Private release")


class TestPictures:
    def test_roc_pr_and_calibration_stand_side_by_side(self, curves: confide.releases.CurvesRelease) -> None:
        axes = curves.plot().axes
        assert [ax.get_title(loc="left") for ax in axes] == [
            "ROC, private",
            "Precision–recall, private",
            "Calibration, private",
        ]
        for ax in axes:
            assert ax.get_xlabel()
            assert ax.get_ylabel()
            assert ax.get_aspect() == 1.0
            legend = ax.get_legend()
            assert legend is not None
            said = [text.get_text() for text in legend.get_texts()]
            assert said[1:3] == ["95 % band, these rows (noise)", "95 % band, population (noise and sampling)"]
            assert said[3].startswith(("chance", "perfect"))
            assert EXACT not in said

    def test_the_population_s_band_lies_below_and_is_lighter(self, curves: confide.releases.CurvesRelease) -> None:
        below, above = curves["roc"].plot().axes[0].collections[:2]
        lightness = [np.asarray(band.get_facecolor()).ravel()[:3].mean() for band in (below, above)]
        assert lightness[0] > lightness[1]

    def test_a_release_with_a_curve_draws_the_curve(self, curves: confide.releases.CurvesRelease) -> None:
        (ax,) = curves["roc"].plot().axes
        drawn = np.asarray(ax.lines[0].get_xydata())
        assert np.array_equal(drawn[:, 0], curves.roc.false_positive_rate)
        assert np.array_equal(drawn[:, 1], curves.roc.true_positive_rate)
        assert curves["auc"].plot().axes[0].get_xlabel() == "value"

    def test_counts_are_drawn_with_their_sums(self, curves: confide.releases.CurvesRelease) -> None:
        (ax,) = curves["counts"].plot().axes
        legend = ax.get_legend()
        assert legend is not None
        said = " ".join(text.get_text() for text in legend.get_texts())
        assert f"positives, private: {curves.counts.total_positives:,.0f}" in said
        assert f"negatives, private: {curves.counts.total_negatives:,.0f}" in said

    def test_a_threshold_that_was_chosen_is_ringed(self, curves: confide.releases.CurvesRelease) -> None:
        wanted = Target.parse("recall=0.9")
        for ax in plot_releases(curves.releases(target=wanted)).axes[:2]:
            legend = ax.get_legend()
            assert legend is not None
            assert any("for an estimated recall of 0.9" in text.get_text() for text in legend.get_texts())

    def test_small_risks_fill_the_picture_and_other_scores_have_no_diagonal(self) -> None:
        rare = ScoreCounts.from_arrays(np.arange(2237) % 50 == 0, SCORES / 20)
        small = draw_curves(rare, epsilon=5, grid="logit:64", noise=seeded(2))
        assert small["calibration"].plot().axes[0].get_xlim()[1] < 0.9
        other = draw_curves(
            ScoreCounts.from_arrays(LABELS, 8 * SCORES - 4), epsilon=1, grid="uniform:16:-4:4", noise=seeded(2)
        )
        (ax,) = other["calibration"].plot().axes
        assert ax.get_xlim() == (-4.0, 4.0)
        assert "perfect" not in ax.get_legend_handles_labels()[1]

    def test_notebooks_show_tables_guarantee_and_curves(self, curves: confide.releases.CurvesRelease) -> None:
        shown = curves._repr_html_()
        assert shown.count("<svg") == 4
        assert "epsilon = 1" in shown
        assert curves["pr"]._repr_html_().count("<svg") == 1
        assert "<svg" not in curves["auc"]._repr_html_()

    def test_points_of_a_pr_curve_are_joined_as_in_roc_space(self) -> None:
        # 100 positives: from 20 true and 5 false positives to 60 and 45; half-way 40 and 25 (Davis & Goadrich 2006).
        recall, precision = pr_joined(np.array([0.2, 0.6]), np.array([20 / 25, 60 / 105]), steps=2)
        assert recall == pytest.approx([0.2, 0.4, 0.6])
        assert precision == pytest.approx([0.8, 40 / 65, 60 / 105])

    def test_exact_shares_are_those_of_the_rows(self) -> None:
        counts = ScoreCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.9, 0.7])
        score, share = exact_shares(counts, np.array([0.0, 0.5, 0.6, 1.0]))
        assert score == pytest.approx([0.15, 0.8])
        assert share == pytest.approx([0.5, 1.0])


class TestPages:
    @pytest.mark.few(1)
    def test_a_page_holds_every_curve_as_a_picture_with_real_text(self, page: str) -> None:
        assert page.count("<figure>") == 5  # and the intervals of the numbers
        elements = Elements(page)
        assert "script" not in elements.tags
        said = words_of(page)
        for words in (
            "Released curves",
            "95 % band, these rows (noise)",
            "95 % band, population (noise and sampling)",
            "unachievable",
            "False-positive rate (1 − specificity)",
            "At the chosen threshold",
            FOOTER,
        ):
            assert words in said, words
        assert EXACT not in said

    @pytest.mark.few(1)
    def test_names_of_pictures_do_not_clash(self, page: str) -> None:
        names = re.findall(r'\bid="([^"]+)"', page)
        assert len(names) == len(set(names))

    @pytest.mark.few(1)
    def test_nothing_exact_is_on_the_page(self, page: str) -> None:
        exact = [
            confide.auc_score(COUNTS),
            confide.average_precision_score(COUNTS),
            confide.brier_score(COUNTS),
            confide.metrics.observed_expected_ratio(COUNTS),
            COUNTS.prevalence,
            *COUNTS.scores[:: len(COUNTS) // 50],
        ]
        for value in exact:
            if value % 1:
                assert not shows(page, value)

    def test_a_shape_that_is_assumed_is_said_to_be(self, tmp_path: Path) -> None:
        def said(**terms: Any) -> str:
            return words_of(release_page(receipt_of(tmp_path, "roc", **terms), title="Private release"))

        assert "is an assumption" not in said()
        assert "The shape (binormal) is an assumption" in said(shape="binormal")
        symmetric = said(mechanism="symmetric-binormal")
        assert "The shape is an assumption (normal scores with equal spread in both classes)" in symmetric

    def test_an_interval_without_end_is_written_so(self, tmp_path: Path) -> None:
        few = ScoreCounts.from_arrays(LABELS[:9], SCORES[:9])
        receipt = receipt_of(
            tmp_path, "calibration", counts=few, epsilon="0.01", neighbours="add-remove-one", grid="uniform:4"
        )
        assert receipt.releases[0].intervals.sample.upper == np.inf
        page = release_page(receipt, title="Private release")
        assert "to ∞" in page
        assert " inf" not in words_of(page)


class TestReveal:
    ASKED = ("-e", 1, "--account", "trial", "-m", "curves,counts")

    def test_a_page_that_is_not_private_says_so_three_times(self, desk: Desk) -> None:
        answer = desk.ask(*self.ASKED, "--report", "secret.html", "--reveal")
        assert answer.code == 0
        assert "warning: secret.html shows exact curves" in answer.err
        page = (desk.folder / "secret.html").read_text(encoding="utf-8")
        said = words_of(page)
        assert said.index("NOT PRIVATE") < said.index("Released curves")
        assert "color: #b00020" in page
        assert page.count(f">{EXACT}</text>") == 4
        assert "may be published" not in said
        assert said.rstrip().endswith("Made with confide.")
        assert "Do not publish this page" in said

    @pytest.mark.few(1)
    @pytest.mark.parametrize("labels", [np.zeros(83, dtype=int), np.ones(83, dtype=int)], ids=["none", "all"])
    def test_rows_of_one_class_do_not_fail_after_the_charge(self, desk: Desk, labels: Any) -> None:
        desk.write("rows.csv", labels)
        answer = desk.ask(*self.ASKED, "--positive", "1", "--report", "secret.html", "--reveal")
        assert answer.code == 0, answer.err
        assert (desk.folder / "secret.html").read_text(encoding="utf-8").count(f">{EXACT}</text>") == 2

    def test_the_same_request_without_it_may_be_published(self, desk: Desk) -> None:
        shown = desk.ask(*self.ASKED, "--report", "out.html", "--json")
        again = desk.ask(*self.ASKED, "--report", "secret.html", "--json", "--reveal")
        public, secret = ((desk.folder / name).read_text(encoding="utf-8") for name in ("out.html", "secret.html"))
        assert "may be published" in public
        assert EXACT not in public
        assert "NOT PRIVATE" not in public
        assert public != secret
        first, second = json.loads(shown.out), json.loads(again.out)
        free = {"epsilon": 0.0, "delta": 0.0}
        first["ledger"] |= {"reused": True, "charged": free, "full_price": free}
        assert first == second
        assert EXACT not in again.out
