"""Lazy attribute loading for packages.

`lazy_names` gives a package its `__all__` and its `__getattr__`. The package repeats its names as imports under
`TYPE_CHECKING`, so that type checkers and editors know them; a test compares the two lists.

The PyPI package `lazy_loader` is not used. Its `attach` does the same without the hints about extras. Its
`attach_stub` would save the second list, but it imports `ast` and parses a stub whenever a package is imported: 13 ms
or more in each process, nearly as long as the rest of `import confide`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: tuple[str, ...] = ()
) -> tuple[list[str], Callable[[str], Any]]:
    """Return a package's `__all__` and `__getattr__`.

    `homes` maps a module's name to the names that it defines, separated by spaces. `rooms` are subpackages that become
    attributes as well, but are not in `__all__`. A name that needs a package of an extra raises an error that says how
    to install it, if it is missing.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(home_of[name]), name)
        except ModuleNotFoundError as missing:
            message = missing_extra(missing, name)
            if message is None:
                raise
            from confide.errors import UsageError

            raise UsageError(message) from None
        setattr(sys.modules[package], name, value)
        return value

    return sorted(home_of), load


_EXTRAS = {
    "flint": ("python-flint", "private"),
    "opendp": ("OpenDP", "private"),
    "sqlalchemy": ("SQLAlchemy", "private"),
    "ibis": ("Ibis", "databases"),
    "pyarrow": ("PyArrow", "databases"),
    "sqlglot": ("SQLGlot", "databases"),
    "sklearn": ("scikit-learn", "learn"),
    "fastapi": ("FastAPI", "serve"),
    "uvicorn": ("Uvicorn", "serve"),
    "alembic": ("Alembic", "serve"),
    "jinja2": ("Jinja", "serve"),
    "prometheus_client": ("prometheus-client", "serve"),
    "python_multipart": ("python-multipart", "serve"),
    "cryptography": ("cryptography", "federation"),
    "psutil": ("psutil", "federation"),
    "pandas": ("pandas", ""),
}
"""Packages that the base install leaves out: the title of each, and its extra unless it is installed by itself."""


def missing_extra(missing: ModuleNotFoundError, what: str) -> str | None:
    """Return which package something needs and how to install it; None for a package of no extra.

    >>> missing_extra(ModuleNotFoundError(name="flint.types"), "release")
    "release needs python-flint: pip install 'confide[private]'"
    """
    package = (missing.name or "").split(".")[0]
    if package not in _EXTRAS:
        return None
    title, extra = _EXTRAS[package]
    wanted = f"'confide[{extra}]'" if extra else package
    return f"{what} needs {title}: pip install {wanted}"
