"""The simulated validation studies as a whole: the published table comes out, and page and command work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import nbinom
from studies.claims import Claim
from studies.page import print_study
from studies.schalk.claims import claims
from studies.schalk.compiled_fits import exact_studies
from studies.schalk.data import SHARES_AS_WRITTEN, row_numbers, simulated
from studies.schalk.errors import Errors, SampleMean
from studies.schalk.plan import PIECE, Settings, pieces
from studies.schalk.plots import shade_of
from studies.schalk.private_mode import PrivateMode, counted, pooled_noise, table_aucs
from studies.schalk.published import BINS, TABLE_1, bin_name, bins_of
from studies.schalk.report import PAPER, schalk_report
from studies.schalk.running import FINE, Plain, SimulationResult, rates, run
from studies.schalk.study import Study

from confide.counts import ScoreCounts
from confide.errors import ParameterError
from confide.federation.modes.noisy_scores import analytic_gaussian_scale
from confide.grid import Grid
from confide.metrics.ranking import auc_score
from tests.cli.commands import Answer
from tests.studies.commands import studies


@pytest.fixture(scope="module")
def study() -> Study:
    """A small study with every kind of noise."""
    settings = Settings.checked(repetitions=120)
    return Study(settings=settings, found=run(settings, jobs=2))


@pytest.fixture(scope="module")
def plain() -> Study:
    """As many studies as the paper's, without noise."""
    rows = simulated(10_000, np.random.default_rng(0))
    at = np.arange(1, 29) / 29.0
    found = exact_studies(rows, rates(at), rates((np.arange(FINE) + 0.5) / FINE))
    from scipy.special import ndtr

    return Study(
        settings=Settings.checked(),
        found=SimulationResult(
            plain=Plain(
                rows=row_numbers(rows),
                auc=found.auc,
                glm=ndtr(found.intercept / np.hypot(1.0, found.slope)),
                area=found.area,
                reversed=found.reversed.astype(np.float64),
            ),
            noisy={},
            private={},
        ),
    )


@pytest.mark.long
def test_table_1_comes_out(plain: Study) -> None:
    """Signs in every bin; medians within 0.0003 of the published ones, 0.0008 in the two highest bins.

    Numbers are compared with the direction chosen by medians, as in the published table.
    """
    for straight, ours, theirs in zip(plain.table_1(), plain.table_1(turned=True), TABLE_1, strict=True):
        assert np.sign(straight.mean) == np.sign(theirs.mean), ours.name
        assert np.sign(straight.median) == np.sign(theirs.median), ours.name
        near = 0.0003 if ours.bin < 18 else 0.0008
        assert ours.median == pytest.approx(theirs.median, abs=near), ours.name
        assert ours.first == pytest.approx(theirs.first, abs=1.5 * near), ours.name
        assert ours.third == pytest.approx(theirs.third, abs=1.5 * near), ours.name
        assert 380 < ours.count < 590
    for ours, theirs in zip(plain.table_1()[4:], TABLE_1[4:], strict=True):
        assert ours.mean == pytest.approx(theirs.mean, abs=0.0008), ours.name
        assert ours.deviation == pytest.approx(theirs.deviation, rel=0.35), ours.name


@pytest.mark.long
def test_the_lowest_bins_owe_their_means_to_the_direction(plain: Study) -> None:
    """Published means of 0.0040 and 0.0027 come out only if AUCs below 0.5 are turned."""
    turned, straight = plain.table_1(turned=True), plain.table_1()
    assert turned[0].mean == pytest.approx(TABLE_1[0].mean, abs=0.0015)
    assert turned[1].mean == pytest.approx(TABLE_1[1].mean, abs=0.0015)
    assert straight[0].mean < 0.001
    assert straight[1].mean < 0.001
    assert turned[0].highest == pytest.approx(0.05, abs=0.005)
    assert straight[0].highest < 0.015
    assert turned[8:] == straight[8:]


@pytest.mark.long
def test_the_area_between_curves_comes_out(plain: Study) -> None:
    assert plain.area().value == pytest.approx(0.032, abs=0.0012)
    assert np.quantile(plain.areas(), (0.25, 0.75)) == pytest.approx((0.021, 0.043), abs=0.0015)


@pytest.mark.long
def test_shares_as_written_cannot_give_the_published_table() -> None:
    """With shares from 0.5 on, AUCs lie about 1 - g/2, so hardly one is above 0.8; in the table four of ten are."""
    at = rates(np.array([0.3, 0.6]))
    written = exact_studies(simulated(2_000, np.random.default_rng(1), shares=SHARES_AS_WRITTEN), at, at)
    assert (written.auc > 0.8).mean() < 0.03
    fixed = exact_studies(simulated(400, np.random.default_rng(2), shares=(0.6, 0.6)), at, at)
    assert fixed.auc.mean() == pytest.approx(0.7, abs=0.01)
    assert sum(row.count for row in TABLE_1[12:]) > 4_000


def test_bins_are_open_on_the_left() -> None:
    assert bins_of(np.array([0.4, 0.5, 0.51, 0.525, 0.526, 1.0])).tolist() == [-1, -1, 0, 0, 1, 19]
    assert [bin_name(0), bin_name(18)] == ["(0.5, 0.525]", "(0.95, 0.975]"]
    assert (len(TABLE_1), sum(row.count for row in TABLE_1)) == (BINS, 9_911)


def test_errors_add_up_to_the_means_of_all() -> None:
    rng = np.random.default_rng(0)
    auc, errors = rng.uniform(0.45, 1.0, 500), rng.random(500)
    errors[3] = np.nan
    summed = Errors(Errors.of(errors[:200], auc[:200]).sums + Errors.of(errors[200:], auc[200:]).sums)
    known = np.isfinite(errors)
    assert summed.overall.value == pytest.approx(errors[known].mean())
    assert summed.overall.standard_error == pytest.approx(errors[known].std(ddof=1) / np.sqrt(known.sum()))
    inside = known & (auc > 0.7) & (auc <= 0.725)
    assert summed.bin(8).value == pytest.approx(errors[inside].mean())
    assert summed.bin(8).count == inside.sum()
    assert summed.worst.value == max(mean.value for mean in summed.bins)
    assert Errors.of(np.array([]), np.array([])).to_dict()["overall"]["mean"] is None


def test_the_noise_of_all_sites_has_its_law() -> None:
    """Shape 5/3: as its variance says, and as the probability of 0, each within 5 standard errors (1e-6)."""
    noise = pooled_noise(0.5, (200_000,), np.random.default_rng(0))
    ratio = np.exp(-0.5)
    variance = 2.0 * 5.0 / 3.0 * ratio / (1.0 - ratio) ** 2
    assert noise.var() == pytest.approx(variance, rel=0.05)
    chance = float((nbinom.pmf(np.arange(400), 5.0 / 3.0, 1.0 - ratio) ** 2).sum())
    assert (noise == 0.0).mean() == pytest.approx(chance, abs=5.0 * np.sqrt(chance / 200_000))


def test_without_noise_the_private_mode_is_the_auc_of_the_cells() -> None:
    rows = simulated(5, np.random.default_rng(0))
    tables = counted(rows, 24)
    found = PrivateMode(epsilon=80.0, cells=24).aucs(rows, np.random.default_rng(0))
    grid = Grid.arcsine(24)
    for number, auc in enumerate(found):
        positives = rows.positives[rows.positive_starts[number] : rows.positive_starts[number + 1]]
        negatives = rows.negatives[rows.negative_starts[number] : rows.negative_starts[number + 1]]
        labels = np.repeat([1, 0], [positives.size, negatives.size])
        counts = ScoreCounts.from_arrays(labels, np.concatenate((positives, negatives)))
        assert auc == pytest.approx(auc_score(counts.project(grid)), abs=1e-12)
        assert tables[number].sum() == positives.size + negatives.size
    assert table_aucs(np.zeros((1, 2, 4))).tolist() == [0.5]


def test_half_of_epsilon_is_as_good_as_half_the_epsilon() -> None:
    assert PrivateMode(epsilon=1.0, cells=8, share=0.5).pooled == PrivateMode(epsilon=0.5, cells=8).pooled


def test_the_grid_is_the_papers() -> None:
    settings = Settings.checked()
    assert settings.repetitions == 10_000
    assert len([mode for mode in settings.noisy if mode.sensitivity < 1.0]) == 125
    assert all(
        mode.scale == analytic_gaussian_scale(mode.epsilon, mode.delta, mode.sensitivity) for mode in settings.noisy[:9]
    )
    assert sum(pieces(Settings.checked(repetitions=250))) == 250
    assert Settings.checked(quick=True).repetitions == 500
    for wrong in ({"repetitions": 99}, {"repetitions": True}, {"seed": -1}):
        with pytest.raises(ParameterError, match="must be a whole number"):
            Settings.checked(**wrong)


@pytest.mark.long
def test_threads_change_nothing(study: Study) -> None:
    again = run(Settings.checked(repetitions=120), jobs=1)
    assert np.array_equal(again.plain.auc, study.plain.auc)
    for mode, errors in again.noisy.items():
        assert np.array_equal(errors.described.sums, study.found.noisy[mode].described.sums)
    for ours, private in again.private.items():
        assert np.array_equal(private.sums, study.found.private[ours].sums)
    assert study.plain.auc.size == 120
    assert PIECE < 120


@pytest.mark.long
def test_what_decides_comes_out_even_with_few_studies(study: Study) -> None:
    """Every gap is several times its standard error."""
    theirs = study.errors("described", 1.0, 1e-5, 0.1).overall.value
    assert study.private(1.0).overall.value < 0.5 * theirs
    assert study.errors("described", 0.5, 1e-5, 0.01).overall.value < 0.5 * study.private(0.5).overall.value
    assert study.private(10.0).overall.value < 0.5 * study.model_error().overall.value
    assert study.private(0.1, concave=True).overall.value < study.private(0.1).overall.value
    assert study.private(10.0, concave=True).overall.value > 3.0 * study.private(10.0).overall.value
    assert study.private(0.5, 8).overall.value < study.private(0.5, 24).overall.value
    assert study.private(1.0, 24, 0.5).overall.value == pytest.approx(study.private(0.5, 24).overall.value, rel=0.35)
    errors = [study.errors("described", 5.0, 1e-3, s).overall.value for s in (0.01, 0.1, 0.2, 0.3, 0.4, 1.0)]
    assert errors == sorted(errors)


@pytest.mark.long
def test_figure_5_fits_its_text_at_five_hundredths_only(study: Study) -> None:
    """At sensitivity 0.1, epsilon 0.5 and delta 0.1, said to be reliable, most bins are beyond 0.01."""
    said = study.errors("simulated", 0.5, 0.1, 0.1)
    assert said.within(0.01) <= 8
    assert said.within(0.05) >= 18
    assert said.overall.value == pytest.approx(0.025, abs=0.006)


def test_claims_hold_if_differences_are_clear() -> None:
    def claim(*values: float) -> str:
        named = {str(value): SampleMean(value=value, standard_error=0.1, count=9) for value in values}
        return Claim(where="", sentence="", differences=named).verdict.answer

    assert [claim(0.3, 0.5), claim(-0.3), claim(0.1), claim(0.3, 0.1), claim(0.3, -0.3)] == [
        *("holds", "does not hold", "unclear", "in part", "in part")
    ]


@pytest.mark.long
def test_everything_is_there_as_plain_data(study: Study) -> None:
    document = json.loads(json.dumps(schalk_report(study).to_dict(), allow_nan=False))
    assert (document["schema"], document["study"]) == ("confide.study/1", "schalk")
    assert len(document["noisy_scores"]["settings"]) == 150
    assert "not differentially private" in document["noisy_scores"]["promise"]
    assert len(document["private"]) == 25
    assert {entry["delta"] for entry in document["private"]} == {0.0}
    assert [row["published"]["count"] for row in document["table_1"]] == [row.count for row in TABLE_1]
    assert {claim["where"] for claim in document["claims"]} == {"Table 1", "Figure 4", "Figure 5", "Figure 6"}
    assert len(claims(study)) == len(document["claims"])


def test_shades_turn_at_the_limit() -> None:
    assert [shade_of(value) for value in (0.0, 0.0025, 0.003, 0.01, 0.0101, 0.06)] == [0, 0, 1, 2, 3, 5]


def test_the_terminal_shows_every_table(study: Study, tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file:
        print_study(schalk_report(study), Console(file=file, width=110, color_system=None))
    text = (tmp_path / "out.txt").read_text(encoding="utf-8")
    for words in ("Table 1", "Private mode", "Δ 0.01", "24 cells", "Figure 6", "not differentially private"):
        assert words in text


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    """The command with everything that it writes."""
    report = tmp_path_factory.mktemp("study") / "study.html"
    asked = ("--repetitions", "100", "--seed", "7", "--jobs", "1", "--json", "--report", report)
    return studies("schalk", *asked), report


@pytest.mark.long
def test_the_command_writes_json_and_a_report(ran: tuple[Answer, Path]) -> None:
    answer, report = ran
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["settings"] == Settings.checked(repetitions=100, seed=7).to_dict()
    assert answer.err == f"repeating the study\nreport: {report}\n"
    assert PAPER.title in report.read_text(encoding="utf-8")


@pytest.mark.long
def test_the_page_opens_offline_and_names_what_is_not_private(ran: tuple[Answer, Path]) -> None:
    page = ran[1].read_text(encoding="utf-8")
    assert page.count("<svg ") == 7 + 5 + 5 + 3
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page
    for words in ("not differentially private", "A quick look", "1 − g/2", "changes colour at 0.05", "AUC of 0.75"):
        assert words in page
    assert page.count("Noisy scores (not private), sensitivity 1, another person") >= 2
    assert not re.search(r"Noisy scores(?! \(not private\))", page)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--repetitions", "10"), "repetitions must be a whole number from 100"),
        (("--seed", "-1"), "seed must be"),
        (("--report", "study.txt"), "must end in .html"),
    ],
)
def test_wrong_usage_is_refused_first(arguments: tuple[str, ...], message: str) -> None:
    answer = studies("schalk", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
