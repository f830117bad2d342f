"""Errors about labels and scores name the column and the next step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import confide
from confide.errors import LabelError, ParameterError
from tests.cli.commands import confide as command

WORDS = pd.DataFrame({"sex": ["male", "female"] * 3, "risk": np.linspace(0.1, 0.9, 6)})
THREE = WORDS.assign(sex=[1, 2, 3] * 2)


@pytest.mark.parametrize(
    ("frame", "positive", "says"),
    [(WORDS, None, "column 'sex': labels are not 0/1"), (THREE, 2, "column 'sex': labels have more than two values")],
    ids=["words", "three"],
)
def test_an_error_about_labels_names_their_column(
    frame: pd.DataFrame, positive: Any, says: str, tmp_path: Path
) -> None:
    with pytest.raises(LabelError, match=re.escape(says)):
        confide.evaluate(frame, label="sex", score="risk", positive=positive)
    file = tmp_path / "rows.csv"
    frame.to_csv(file, index=False)
    with pytest.raises(LabelError, match=re.escape(says)):
        confide.evaluate(file, label="sex", score="risk", positive=positive)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([np.linspace(0, 1, 6), np.linspace(1, 0, 6)], "as a dictionary"),
        ([[0.1, 0.2, 0.3], [0.1, 0.2]], "as a dictionary"),
        (np.zeros((6, 2)), "predict_proba"),
        (np.zeros((6, 2)).tolist(), "predict_proba"),
    ],
    ids=["two arrays", "two lists of other lengths", "columns", "pairs"],
)
def test_scores_of_two_dimensions_get_the_hint_that_fits(scores: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        confide.evaluate([0, 1] * 3, scores)


def test_each_command_says_what_it_does_with_other_labels() -> None:
    assert "All others are negative" in " ".join(command("release", "--help").out.replace("│", " ").split())
    assert "The positive label of two" in " ".join(command("evaluate", "--help").out.replace("│", " ").split())
