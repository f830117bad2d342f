"""Imports point one way along the data's journey, and third parties stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import confide

PACKAGE = Path(confide.__file__).parent

# A part may import parts of a lower layer, and itself. Parts of one layer do not know each other.
LAYERS = (
    {"device", "errors", "examples", "files", "normal", "postgresql_reach"},
    {"blocks", "ports", "provenance"},
    {"counts", "features", "_lazy"},
    {"grid", "predictions"},
    {"kernels"},
    {"curves", "sources"},
    {"metrics"},
    {"intervals", "privacy"},
    {"evaluation", "releases"},
    {"attacks", "audits", "ledger"},
    {"contest", "federation", "selection"},
    {"learning"},
    {"estimators"},
    {"tasks"},
    {"report"},
    {"client", "service"},
    {"cli"},
    {"__main__"},
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Constructors that live on the value but are made from its sources, and results that draw themselves: inside
# functions, and nowhere else.
LAZY = {
    ("attacks", "confide.report.attack.frames"),
    ("attacks", "confide.report.attack.page"),
    ("attacks", "confide.report.attack.plots"),
    ("attacks", "confide.report.attack.text"),
    ("counts", "confide.sources.arrays"),
    ("counts", "confide.sources.frames"),
    ("counts", "confide.sources.tables"),
    ("evaluation", "confide.report.evaluation.frames"),
    ("evaluation", "confide.report.evaluation.page"),
    ("evaluation", "confide.report.evaluation.plots"),
    ("evaluation", "confide.report.evaluation.text"),
    ("federation", "confide.report.validation.frames"),
    ("federation", "confide.report.validation.page"),
    ("federation", "confide.report.validation.plots"),
    ("ledger", "confide.report.release.receipts"),
    ("releases", "confide.report.plan.frames"),
    ("releases", "confide.report.plan.page"),
    ("releases", "confide.report.plan.plots"),
    ("releases", "confide.report.release.frames"),
    ("releases", "confide.report.release.page"),
    ("releases", "confide.report.release.plots"),
    ("releases", "confide.report.release.text"),
    ("tasks", "confide.report.audit.frames"),
    ("tasks", "confide.report.audit.page"),
    ("tasks", "confide.report.audit.plots"),
    ("tasks", "confide.report.release.frames"),
    ("tasks", "confide.report.release.page"),
    ("tasks", "confide.report.release.plots"),
    ("tasks", "confide.report.validation.notebook"),
}

# The modules that hold these values.
HOMES = (
    "attacks/exposure.py",
    "counts.py",
    "evaluation/evaluation.py",
    "federation/coordinator/validation.py",
    "ledger/receipts.py",
    "releases/confusion.py",
    "releases/curves_release.py",
    "releases/plan_result.py",
    "releases/release.py",
    "tasks/audit.py",
    "tasks/release_result.py",
    "tasks/site_status.py",
    "tasks/validate.py",
)

ROOMS = {
    "ibis": {"sources"},
    "duckdb": {"sources"},
    "pyarrow": {"sources"},
    "narwhals": {"sources"},
    "matplotlib": {"report"},
    "numba": {"kernels"},
    "docx": {"report"},
    "typer": {"cli"},
    "rich": {"cli", "report"},
    "opendp": {"privacy"},
    "flint": {"privacy"},
    "dp_accounting": {"privacy"},
    "sqlalchemy": {"ledger", "service"},
    "psycopg": {"ledger", "service", "sources"},
    "pyspark": {"sources"},
    "sklearn": {"estimators"},
    "cryptography": {"federation"},
    "joblib": {"federation"},
    "nvflare": {"federation"},
    "psutil": {"federation"},
    "onnxruntime": {"federation"},
    "pandas": {"federation", "report"},  # what a model that a site runs takes, and what to_frame returns
    "fastapi": {"service"},
    "starlette": {"service"},
    "pydantic": {"service"},
    "uvicorn": {"service"},
    "jinja2": {"service"},
    "alembic": {"service"},
    "prometheus_client": {"service"},
    "python_multipart": {"service"},
    "array_api_compat": {"device"},
    "torch": {"kernels"},  # imported for tensors alone, when whoever made them has imported it
    "triton": {"kernels"},
    "cupy": set(),  # a user's arrays may be of these libraries; none of them is ever imported here
    "jax": set(),
    "polars": set(),
    "statsmodels": set(),
}


@dataclass(frozen=True)
class Import:
    """One imported module: by which file, in which part, and whether at run time and at the top."""

    file: str
    part: str
    module: str
    typing_only: bool
    top: bool


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imports_in(source: str, file: str, part: str) -> Iterator[Import]:
    def visit(node: ast.AST, typing_only: bool, top: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(file, part, name.name, typing_only, top)
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            for name in node.names:
                # `from confide.sources import arrays` imports a module too.
                deeper = prefix in ("confide", "confide.metrics", "confide.sources") or node.level > 0
                yield Import(file, part, f"{prefix}.{name.name}" if deeper else prefix, typing_only, top)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.body:
                yield from visit(statement, True, top)
            for statement in node.orelse:
                yield from visit(statement, typing_only, top)
        else:
            inside = top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, typing_only, inside)

    yield from visit(ast.parse(source), False, True)


@cache
def every_import() -> tuple[Import, ...]:
    """Read the whole package, once a test asks."""
    return tuple(
        found
        for path in sorted(PACKAGE.rglob("*.py"))
        for found in imports_in(path.read_text(encoding="utf-8"), str(path.relative_to(PACKAGE)), part_of(path))
    )


def wrong_direction(found: Import) -> bool:
    """Whether a run-time import inside the package points up or sideways."""
    if found.typing_only or not found.module.startswith("confide.") or found.part == "__init__":
        return False
    target = found.module.split(".")[1]
    if target == found.part:
        return False
    return target not in RANK or RANK[target] >= RANK[found.part]


def test_every_part_has_a_layer() -> None:
    assert {found.part for found in every_import()} - {"__init__"} <= set(RANK)


def test_imports_point_down() -> None:
    wrong = {(f.part, f.module) for f in every_import() if wrong_direction(f)}
    assert wrong == LAZY


def test_the_exceptions_are_lazy() -> None:
    for found in every_import():
        if (found.part, found.module) in LAZY:
            assert found.file in HOMES
            assert not found.top


def test_imports_name_the_package() -> None:
    assert [f for f in every_import() if f.module.startswith(".")] == []


def test_the_package_itself_imports_only_the_lazy_loader() -> None:
    """`import confide` stays cheap: what it offers is loaded on first use."""
    loaded = {
        f.module
        for f in every_import()
        if f.file == "__init__.py" and not f.typing_only and f.module.startswith("confide")
    }
    assert loaded == {"confide._lazy"}
    assert [f for f in every_import() if f.part == "_lazy" and f.top and f.module.startswith("confide")] == []


@pytest.mark.parametrize("package", ROOMS)
def test_third_parties_stay_in_their_rooms(package: str) -> None:
    guests = {f.part for f in every_import() if f.module.split(".")[0] == package and not f.typing_only}
    assert guests <= ROOMS[package]


def test_every_third_party_is_declared() -> None:
    """A package that only happens to be installed here is missing on a user's machine."""
    own = {"confide", "__future__", *sys.stdlib_module_names}
    used = {found.module.split(".")[0] for found in every_import() if not found.typing_only} - own
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [named for extra in project["optional-dependencies"].values() for named in extra]
    declared = {re.split(r"[\[<>=!~ ;]", line)[0] for line in (*project["dependencies"], *extras)}
    names = {
        "array-api-compat": "array_api_compat",
        "scikit-learn": "sklearn",
        "ibis-framework": "ibis",
        "python-flint": "flint",
        "dp-accounting": "dp_accounting",
        "python-docx": "docx",
        "prometheus-client": "prometheus_client",
        "python-multipart": "python_multipart",
    }
    assert used - {names.get(name, name) for name in declared} <= COMES_WITH


COMES_WITH = {"pyarrow", "pandas", "threadpoolctl", "pydantic", "starlette", "anyio", "h11", "torch", "triton"}
"""Packages that a declared one needs: Ibis brings PyArrow and pandas, scikit-learn threadpoolctl, uvicorn h11, FastAPI
the rest. PyTorch and its Triton are the user's own: without them, nobody has tensors."""


# What is imported at the top here is itself imported only when something is drawn, released or charged.
LATE = {
    "ibis": ("sources/postgresql_tables",),
    "matplotlib": ("report",),
    "scipy": (
        "intervals/private",
        "intervals/pareto_noise",
        "intervals/auc_spread",
        "intervals/joint_sizes",
        "privacy/mechanisms",
        "releases",
        "attacks",
        "audits",
        "learning",
    ),
}


@pytest.mark.parametrize("package", ["ibis", "duckdb", "pyarrow", "narwhals", "matplotlib", "scipy", "opendp", "docx"])
def test_slow_packages_are_imported_when_needed(package: str) -> None:
    eager = {f.file for f in every_import() if f.module.split(".")[0] == package and f.top and not f.typing_only}
    assert all(file.startswith(LATE.get(package, ())) for file in eager)


@pytest.mark.parametrize(
    ("source", "part", "wrong"),
    [
        ("from confide.metrics.ranking import auc_score", "curves", True),
        ("import confide.evaluation.evaluation", "intervals", True),
        ("from confide import report", "intervals", True),
        ("def f():\n    from confide.intervals.delong import x", "metrics", True),
        ("from confide.curves.roc import roc_curve", "sources", True),
        ("from confide.unheard import of", "cli", True),
        ("from confide.counts import ScoreCounts", "curves", False),
        ("from confide.metrics import ranking", "metrics", False),
        ("if TYPE_CHECKING:\n    from confide.grid import Grid", "counts", False),
    ],
)
def test_the_reader_of_imports_sees_what_is_wrong(source: str, part: str, wrong: bool) -> None:
    assert any(wrong_direction(found) for found in imports_in(source, "file.py", part)) is wrong


# Modules of the command line that verbs share: options, reading, writing, errors.
# Names that end as below are shared too.
SHARED_CLI = (
    "cli/__init__.py",
    "cli/errors.py",
    "cli/inputs.py",
    "cli/lazy_verbs.py",
    "cli/main.py",
    "cli/options.py",
    "cli/choices.py",
    "cli/output.py",
)
VERBS = sorted(
    str(path.relative_to(PACKAGE))
    for path in (PACKAGE / "cli").rglob("*.py")
    if str(path.relative_to(PACKAGE)) not in SHARED_CLI
    and not path.stem.endswith(("options", "output", "_common", "_progress", "_steps", "group", "__init__"))
)
MOST_LINES = 90
"""Lines of code in the module of a verb, without blank lines and without docstrings, which are the help texts."""


def code_lines(source: str) -> int:
    tree = ast.parse(source)
    documented = [
        node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body
    ]
    docstrings = {
        line
        for node in documented
        if ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    return sum(
        bool(line.strip()) for number, line in enumerate(source.splitlines(), start=1) if number not in docstrings
    )


@pytest.mark.parametrize("file", VERBS)
def test_a_verb_is_options_a_task_and_rendering(file: str) -> None:
    assert code_lines((PACKAGE / file).read_text(encoding="utf-8")) <= MOST_LINES
    allowed = {"cli", "client", "errors", "examples", "report", "service", "tasks"}
    imported = [found.module for found in every_import() if found.file == file and not found.typing_only]
    rooms = {module.split(".")[1] for module in imported if module.startswith("confide.")}
    assert rooms <= allowed, "a verb calls tasks and renders results; rules belong to lower rooms"


@pytest.mark.parametrize("file", VERBS)
def test_a_verb_imports_no_sibling(file: str) -> None:
    own = f"confide.{file.removesuffix('.py').replace('/', '.')}"
    siblings = {f"confide.{other.removesuffix('.py').replace('/', '.')}" for other in VERBS} - {own}
    assert not {found.module for found in every_import() if found.file == file} & siblings


def test_the_counter_of_lines_leaves_out_help_texts() -> None:
    assert code_lines('"""One."""\n\ndef f():\n    """Two.\n\n    Three.\n    """\n    return 1\n') == 2
