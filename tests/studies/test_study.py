"""The study as a whole, on small files: every figure, the page and the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from studies.claims import Claim, Mean
from studies.page import print_study, study_page
from studies.stoddard.data import CORPORA, read_dataset
from studies.stoddard.methods import METHODS
from studies.stoddard.plan import GRID, Settings, planned
from studies.stoddard.report import PAPER, stoddard_report
from studies.stoddard.results import TrialResult
from studies.stoddard.running import Ground
from studies.stoddard.study import Study
from studies.stoddard.tables import points
from studies.stoddard.trials import Trial, run_trials

from confide.errors import ParameterError
from tests.studies.commands import studies


def test_settings_are_checked() -> None:
    settings = Settings.checked(epsilons=["0.1", "2", "1/2", "2"], datasets=["sms"], folds=3)
    assert settings.epsilons == (Fraction(2), Fraction(1, 2), Fraction(1, 10))
    assert settings.epsilon == 2
    assert (settings.datasets, settings.folds, settings.grid) == (("sms",), 3, GRID)
    assert Settings.checked(quick=True).folds == 2
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"epsilons": []}, "at least one number"),
        ({"epsilons": ["0"]}, "greater than 0"),
        ({"datasets": ["sns"]}, "Did you mean 'sms'"),
        ({"folds": 1}, "folds must be"),
        ({"seed": -1}, "seed must be"),
    )
    for wrong, message in refused:
        with pytest.raises(ParameterError, match=message):
            Settings.checked(**wrong)


def test_trials_are_planned_once_and_where_they_fit() -> None:
    trials = planned(Settings())
    assert len(set(trials)) == len(trials)
    assert not [t for t in trials if t.method == "all" and t.dataset == "reuters"]
    assert {t.dataset for t in planned(Settings.checked(datasets=["reuters"]))} == {"reuters"}
    exact = [t for t in trials if METHODS[t.method].standing == "exact"]
    assert exact
    assert all(t.epsilon is None for t in exact)


def test_the_best_of_the_grid_is_shown(study: Study) -> None:
    shown = study.best("sms", "PTT TC")
    every = [outcome for trial, outcome in study.outcomes.by_trial.items() if trial == replace(shown.trial, k=trial.k)]
    assert len(every) == len(study.settings.grid)
    assert shown.mean.value == max(np.mean(outcome.values) for outcome in every)


def test_means_and_differences_by_hand() -> None:
    ours, theirs = (
        TrialResult(trial=Trial(dataset="sms", method="all"), values=values, features=1.0)
        for values in ((0.9, 0.8, 1.0), (0.7, 0.7, 0.7))
    )
    assert ours.mean.value == pytest.approx(0.9)
    assert ours.mean.standard_error == pytest.approx(0.1 / np.sqrt(3))
    assert ours.less(theirs).value == pytest.approx(0.2)
    assert points(ours.less(theirs)) == "+20.0 ± 5.8"
    assert points(theirs.less(ours)) == "−20.0 ± 5.8"


@pytest.mark.parametrize(
    ("differences", "holds"),
    [
        ((0.3, 0.5), "holds"),
        ((-0.3, -0.5), "does not hold"),
        ((0.1, -0.1), "unclear"),
        ((0.3, 0.1), "in part"),
        ((0.3, -0.3), "in part"),
    ],
)
def test_claims_hold_if_differences_are_clear(differences: tuple[float, ...], holds: str) -> None:
    named = {str(value): Mean(value=value, standard_error=0.1) for value in differences}
    assert Claim(where="Figure 1", sentence="", differences=named).verdict.answer == holds


def test_every_figure_is_there(study: Study) -> None:
    plain = json.loads(json.dumps(stoddard_report(study).to_dict(), allow_nan=False))
    assert plain["schema"] == "confide.study/1"
    assert set(plain["figures"]) == {"1", "2", "3", "4", "5"}
    assert set(plain["summary"]) == set(CORPORA)
    private = {entry["method"] for entry in plain["figures"]["1"]["sms"]["private"]}
    assert private == {key for key, method in METHODS.items() if method.standing != "exact"}
    assert {claim["where"] for claim in plain["claims"]} == {f"Figure {number}" for number in range(1, 6)}
    assert len(plain["trials"]) == len(planned(study.settings))


def test_verdicts_are_differences_fold_by_fold(study: Study) -> None:
    for verdict in study.summaries():
        gains = np.array(verdict.ours.values) - np.array(verdict.sampling.values)
        assert verdict.gain.value == pytest.approx(gains.mean())
        assert verdict.gains == (gains.mean() >= 0.05)
        assert METHODS[verdict.published.trial.method].standing == "not private"
        assert METHODS[verdict.separate.trial.method].standing == "sound"


def test_exact_selection_finds_the_words_that_reach_a_threshold(study: Study) -> None:
    counts = study.datasets["sms"].rows.counts().sum(axis=0)
    for threshold in study.settings.thresholds:
        assert study.wanted(threshold) <= np.count_nonzero(counts >= threshold)
        assert study.wanted(threshold) >= np.count_nonzero(counts >= 2 * threshold + 12)


@pytest.mark.long
def test_the_page_opens_offline_and_names_what_is_not_private(study: Study) -> None:
    page = study_page(stoddard_report(study))
    assert page.count("<svg ") == 3 + 1 + 2 + 3 + 6
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page
    for words in ("not private", "vocabulary of the whole file", "hash words", "looks at the data", "seed 0"):
        assert words in page
    assert "PTT TC (not private)" in page
    assert not re.search(r"\b(?:PTT|noisycut|clusters) (?:TC|DC|PI|IG)(?! \(not private\)|\*)", page)


def test_the_terminal_shows_every_number_table(study: Study, tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file:
        print_study(stoddard_report(study), Console(file=file, width=110, color_system=None))
    text = (tmp_path / "out.txt").read_text(encoding="utf-8")
    for words in ("Datasets", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5", "ours − PTT", "missed"):
        assert words in text


def test_the_command_writes_json_and_a_report(texts: Path, tmp_path: Path) -> None:
    report = tmp_path / "study.html"
    answer = studies(
        *("stoddard", "--data", texts, "--dataset", "reuters", "--quick", "--epsilon", "2", "--jobs", "1"),
        *("--json", "--report", report, "--seed", "7"),
    )
    assert answer.code == 0, answer.err
    plain = json.loads(answer.out)
    assert plain["settings"]["seed"] == 7
    assert set(plain["figures"]) == {"1", "4", "5"}
    assert answer.err == f"repeating the study\nreport: {report}\n"
    assert PAPER.title in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "nowhere"), "is not a folder"),
        (("--data", "{texts}", "--epsilon", "one"), "epsilon must be a finite number"),
        (("--data", "{texts}", "--epsilon", ","), "at least one number"),
        (("--data", "{texts}", "--dataset", "smss"), "Did you mean 'sms'"),
        (("--data", "{texts}", "--report", "study.txt"), "must end in .html"),
        (("--data", "{empty}"), "has no sentiment140_sample20k.csv.gz and no sms_spam.csv.gz"),
    ],
)
def test_wrong_usage_is_refused_first(texts: Path, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    answer = studies("stoddard", *(argument.format(texts=texts, empty=tmp_path) for argument in arguments))
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_the_real_messages(shared_data: Path) -> None:
    """SMS as in the paper; ours gains at least 5 points over all features with sampling."""
    held = read_dataset(shared_data, CORPORA["sms"])
    assert (len(held.rows), held.rows.class_sizes()[0]) == (5574, 747)
    fold = Ground.of([held], folds=10, seed=0).fold("sms", 0)
    asked = [
        Trial(dataset="sms", method="no privacy, all"),
        Trial(dataset="sms", method="all, sampling", epsilon=Fraction(1)),
        Trial(dataset="sms", method="joint naive Bayes", epsilon=Fraction(1)),
    ]
    exact, sampling, ours = (found.value for found in run_trials(fold, asked, 0))
    assert exact > 0.96
    assert ours - sampling > 0.05
