"""Folders that tasks of a federation use: a coordinator's, a site's, and new ones."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import UsageError

if TYPE_CHECKING:
    from confide.federation.flare.federation import Federation
    from confide.federation.site.site_folder import SiteFolder

_PACKAGES = ("nvflare", "cryptography")


def require_engine() -> None:
    """Refuse to begin if the federation's packages are not installed."""
    if any(find_spec(package) is None for package in _PACKAGES):
        raise UsageError("validation across sites needs NVIDIA FLARE: pip install 'confide[federation]'")


def require_new_folder(folder: Path) -> None:
    """Refuse a folder that is not empty, or that could not be made."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; give a new or empty folder")
    if not folder.parent.is_dir():
        raise UsageError(f"the folder of {folder} does not exist; create it first")


def open_federation(folder: str | Path) -> Federation:
    """Read a coordinator's folder."""
    require_engine()
    from confide.federation.flare.federation import Federation

    if not Path(folder).is_dir():
        raise UsageError(f"there is no folder {folder}; make a federation with `confide federation init`")
    return Federation.load(folder)


def open_site(folder: str | Path) -> SiteFolder:
    """Find a site's folder."""
    require_engine()
    from confide.federation.site.site_folder import SiteFolder

    place = SiteFolder(Path(folder))
    if not place.config.is_file():
        raise UsageError(f"{folder} is not a site's folder; make one with `confide site init`")
    return place
