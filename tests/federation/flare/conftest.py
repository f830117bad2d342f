"""A federation of three sites on this machine: a real server and real sites, each with processes of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from confide.federation.flare.processes import Running, find_running, start_server, start_site
from confide.federation.flare.session import FederationSession, open_session
from confide.federation.flare.signing import Federation, provision
from confide.federation.policy import default_policy
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from tests.federation.flare import registered
from tests.federation.joining import join
from tests.federation.network import MODES
from tests.ports import free_port
from tests.waiting import PATIENCE

SITES = ("east", "north", "west")
STUDIES = ("first", "noise")
MODELS = ("disclosed", "summed", "noised", "faulty", "shipped", "kept", "approved")
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A federation under way."""

    federation: Federation
    session: FederationSession
    folders: dict[str, SiteFolder]

    def pooled(self, model: str, sites: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All rows of some sites."""
        drawn = [drawn_rows(site) for site in sites]
        return np.concatenate([labels for labels, _ in drawn]), np.concatenate([scores[model] for _, scores in drawn])

    def running(self, site: str) -> Running:
        running = find_running(self.folders[site])
        assert running is not None
        return running


def python_path(folder: Path) -> str:
    """Let tests change engines as they start; return the folders in which engines then look for modules."""
    first = folder / "at-start"
    first.mkdir(exist_ok=True)
    (first / "sitecustomize.py").write_text(
        "from tests.federation.flare import dishonest, hostile, registered, unruly\n"
        "for module in (dishonest, hostile, registered, unruly):\n    module.install()\n"
    )
    return os.pathsep.join([str(first), str(_ROOT / "src"), str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def make_site(federation: Federation, name: str, folder: Path) -> SiteFolder:
    """A site with rows of its own, scored by several models so that questions about one do not bind another."""
    place = SiteFolder(folder)
    assert join(federation, name, place) == name
    labels, scores = drawn_rows(name)
    lines = [",".join(str(value) for value in row) for row in zip(labels, *scores.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join([",".join(["y", *scores]), *lines]) + "\n")
    models = {model: SiteModel(data="rows.csv", label="y", score=model) for model in MODELS}
    SiteConfig(name=name, models=models, folder=folder).write(folder)
    place.policy.write_text(default_policy(studies=STUDIES, modes=MODES))
    SiteRecords(place).begin()
    return place


def drawn_rows(site: str) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """A site's labels, and the scores that each model gives its rows; no two scores of a model share a cell."""
    random = np.random.default_rng(sum(site.encode()))
    labels = (random.random(150) < 0.4).astype(np.int64)
    drawn = {model: random.normal(0.4 + 0.2 * labels, 0.2) for model in MODELS}
    return labels, {model: np.clip(scores, 0.0, 1.0).round(4) for model, scores in drawn.items()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need the federation below; some modules have a network of their own, without processes."""
    here = Path(__file__).parent
    for item in items:
        used = "network" in getattr(item, "fixturenames", ()) and item.path.is_relative_to(here)
        if used and not hasattr(getattr(item, "module", None), "network"):
            item.add_marker(pytest.mark.flare)


@pytest.fixture(scope="package")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """Server and sites, started once, and stopped after the last test that needs them."""
    folder = tmp_path_factory.mktemp("network")
    federation = provision(folder / "federation", name="Test network", sites=SITES, port=free_port())
    folders = {name: make_site(federation, name, folder / name) for name in SITES}
    started: list[Running] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", python_path(folder))
        patch.setenv(registered.WANTED, "yes")
        try:
            started.append(start_server(federation, seconds=PATIENCE))
            started += [start_site(folders[name]) for name in SITES]
            with open_session(federation, timeout=PATIENCE) as session:
                assert session.wait_for(SITES, PATIENCE) == SITES
                yield Network(federation=federation, session=session, folders=folders)
        finally:
            for place in (federation.folder, *(site.path for site in folders.values())):
                started += [running for running in [find_running(place)] if running is not None]
            for running in started:
                running.stop()
