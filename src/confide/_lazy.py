"""Packages whose names load on first use, so that what few people need keeps nobody waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from confide.errors import UsageError


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """What a package offers, and its `__getattr__`: each name is loaded from the module that `homes` puts it in.

    A name that needs scikit-learn says how to get it where it is missing.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(home_of[name]), name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").split(".")[0] != "sklearn":
                raise
            raise UsageError(f"{name} needs scikit-learn: pip install 'confide[learn]'") from None

    return sorted(home_of), load
