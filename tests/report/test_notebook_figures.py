"""Figures in a real notebook: each is displayed once, and the user's own settings and figures stay as they are."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

import pytest

pytestmark = pytest.mark.long

MAGIC = "%matplotlib inline"

DATA = """
import numpy as np
import confide
random = np.random.default_rng(0)
labels = random.random(300) < 0.4
scores = np.clip(random.normal(0.4 + 0.2 * labels, 0.2), 0.0, 1.0)
evaluation = confide.evaluate(labels, scores, replicates=0)
release = confide.release_auc(confide.ScoreCounts.from_arrays(labels, scores), epsilon=1)
"""

OWN = """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3]);
"""

PLOT, RELEASE, DISPLAY = (
    "evaluation.plot()",
    "release.plot()",
    "confide.RocCurveDisplay.from_predictions(labels, scores)",
)

SETTINGS = """
import json
import matplotlib
changing = ("backend", "backend_fallback")
print(json.dumps({key: str(matplotlib.rcParams[key]) for key in matplotlib.rcParams if key not in changing}))
"""


def executed(cells: list[str]) -> list[Any]:
    """The cells of a notebook after a kernel of its own ran them."""
    import nbformat
    from nbclient import NotebookClient

    written: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    notebook = nbformat.from_dict(  # type: ignore[no-untyped-call]
        {
            "nbformat": 4,
            "nbformat_minor": 4,
            "metadata": {},
            "cells": [{**written, "source": cell.strip(), "outputs": []} for cell in cells],
        }
    )
    NotebookClient(notebook, kernel_name="python3", timeout=600, startup_timeout=600).execute()
    return list(notebook.cells)


def images(cell: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


@cache
def own_settings(magic: str) -> dict[str, str]:
    """The settings of a notebook that never loads the package."""
    return settings(executed([magic, OWN, SETTINGS])[-1])


def settings(cell: Any) -> dict[str, str]:
    found: dict[str, str] = json.loads("".join(output.text for output in cell.outputs if output.name == "stdout"))
    return found


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    monkeypatch.delenv("MPLBACKEND", raising=False)


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("magic", [MAGIC, ""], ids=["magic", "no-magic"])
@pytest.mark.parametrize(
    "figures",
    [
        (OWN, PLOT, RELEASE, DISPLAY, OWN),
        (PLOT, OWN, DISPLAY, PLOT, OWN),
        (DISPLAY, OWN, RELEASE, OWN),
    ],
    ids=["own-first", "plot-first", "display-first"],
)
def test_each_cell_shows_one_figure_and_settings_stay(magic: str, figures: tuple[str, ...]) -> None:
    cells = executed([f"{magic}\n{DATA}", *figures, SETTINGS])
    assert [images(cell) for cell in cells[1:-1]] == [1] * len(figures)
    assert settings(cells[-1]) == own_settings(magic)
