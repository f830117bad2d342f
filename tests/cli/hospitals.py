"""A small federation on disk: kits, sites with rows of their own, and a session that asks them in this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.federation.coordinator.rounds import validate
from confide.federation.coordinator.run_state import Progress
from confide.federation.flare import session as engine
from confide.federation.flare.federation import Federation
from confide.federation.flare.kits import site_identity
from confide.federation.protocol import Outcome
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from confide.federation.site.site import Site
from tests.cli.commands import Answer, confide
from tests.federation.settled_channel import SettledChannel

NAMES = ("north", "south", "west")
COLUMNS = ("--model-name", "risk", "--label", "died", "--score", "risk")


def write_rows(path: Path, seed: int, rows: int = 60) -> Path:
    """Rows whose scores are 0.01, 0.02, ..., so that exact sums over cells are those over rows."""
    random = np.random.default_rng(seed)
    scores = random.integers(1, 100, size=rows) / 100
    labels = (random.random(rows) < 0.15 + 0.6 * scores).astype(int)
    lines = [f"{label},{score}" for label, score in zip(labels, scores, strict=True)]
    path.write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
    return path


MODES = ("--modes", "disclosure-control,secure-sum,private")
"""Modes that these sites allow; a new site allows only the last of them."""


@dataclass(frozen=True)
class Hospitals:
    """A coordinator's folder and a folder for each site."""

    folder: Path

    @property
    def coordinator(self) -> Path:
        return self.folder / "net"

    def site(self, name: str) -> SiteFolder:
        return SiteFolder(self.folder / name)

    def rows(self, name: str) -> Path:
        return self.folder / f"{name}.csv"

    def set_up(self, name: str, *options: object) -> Answer:
        kit = self.signed(name, self.site(name).path)
        return confide("site", "init", kit, self.site(name).path, *COLUMNS, "--data", self.rows(name), *MODES, *options)

    def signed(self, name: str, folder: Path) -> Path:
        """Let a site make its request in a folder, and the coordinator sign it; return the kit."""
        named = () if SiteFolder(folder).config.exists() else ("--name", name)
        made = confide("site", "request", folder, *named)
        assert made.code == 0, made.err
        signed = confide("federation", "sign", self.coordinator, folder / f"{name}.request", "--compared")
        assert signed.code == 0, signed.err
        return self.coordinator / "kits" / f"{name}.zip"

    def ask(self, *options: object) -> Answer:
        return confide("validate", "--federation", self.coordinator, "--model-name", "risk", *options)

    def copy(self, folder: Path) -> Hospitals:
        """The same federation with sites that were asked nothing yet."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Hospitals(folder)


def init_again(hospitals: Hospitals, folder: Path, *options: object) -> Answer:
    """Set up the first site again, in another folder with other keys."""
    return confide("site", "init", hospitals.signed("north", folder), folder, *options)


@dataclass(frozen=True)
class NearSession:
    """What a session offers, with sites that are functions in this process."""

    federation: Federation
    hospitals: Hospitals

    def connected_sites(self) -> tuple[str, ...]:
        return self.federation.sites

    def run(
        self, question: Question, *, timeout: float, drop_after: float, valid_days: int, progress: Progress
    ) -> Outcome:
        channel = SettledChannel(self.replies(question))
        try:
            return validate(
                question,
                channel,
                root=self.federation.root,
                timeout=timeout,
                drop_after=drop_after,
                progress=progress,
            )
        finally:
            channel.settle()

    def replies(self, question: Question) -> Mapping[str, Any]:
        places = {name: self.hospitals.site(name) for name in question.sites}
        return {
            name: Site.open(place.path, site_identity(place), coordinator=self.federation.coordinator).reply
            for name, place in places.items()
        }


def near(hospitals: Hospitals, patch: pytest.MonkeyPatch) -> None:
    """Let commands ask these sites in this process instead of through the engine."""

    @contextmanager
    def open_session(federation: Federation, timeout: float) -> Iterator[NearSession]:
        yield NearSession(federation, hospitals)

    patch.setattr(engine, "open_session", open_session)


def out_of_reach(patch: pytest.MonkeyPatch) -> None:
    """Let every command fail that would ask anybody."""

    def open_session(federation: Federation, timeout: float) -> None:
        raise AssertionError("somebody was asked")

    patch.setattr(engine, "open_session", open_session)
