from __future__ import annotations

from pathlib import Path

import pytest
from studies.running import run_pieces
from studies.stoddard.data import CORPORA, Dataset, read_dataset
from studies.stoddard.plan import Settings, planned
from studies.stoddard.running import Ground, gathered, pieces, preparation
from studies.stoddard.study import Study

from tests.studies.texts import text_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep finished pieces apart from those of the clone."""
    monkeypatch.setenv("CONFIDE_STUDIES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small files of texts."""
    return text_folder(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="session")
def datasets(texts: Path) -> tuple[Dataset, ...]:
    return tuple(read_dataset(texts, corpus) for corpus in CORPORA.values())


@pytest.fixture(scope="session")
def study(datasets: tuple[Dataset, ...]) -> Study:
    """The whole study, quickly, on small files."""
    settings = Settings.checked(quick=True)
    ground = Ground.of(datasets, folds=settings.folds, seed=settings.seed)
    trials = planned(settings)
    found = run_pieces(pieces(trials, settings.folds), jobs=1, prepare=preparation(ground))
    return Study.of(settings, datasets, gathered(trials, settings.folds, found))
