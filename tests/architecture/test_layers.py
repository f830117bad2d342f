"""Imports point one way along the data's journey, and third parties stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import confide

PACKAGE = Path(confide.__file__).parent

# A part may import parts of a lower layer, and itself. Parts of one layer do not know each other. The server and the
# client of contests are parts of their own: the rules of a contest know neither. So are the parties of a federation:
# questions, policies and modes know neither sites nor the coordinator, and these two do not know each other.
LAYERS = (
    {"device", "errors", "examples", "atomic_files", "normal_distribution", "postgresql_reach"},
    {"blocks", "ports", "provenance"},
    {"counts", "features", "records", "_lazy"},
    {"grid", "counts_or_arrays"},
    {"kernels"},
    {"curves", "sources"},
    {"metrics"},
    {"intervals"},
    {"evaluation", "privacy"},
    {"releases"},
    {"attacks", "audits", "ledger"},
    {"contest", "federation", "learning"},
    {"federation.crypto"},
    {"federation.coordinator", "federation.site"},
    {"federation.flare"},
    {"tasks"},
    {"report"},
    {"contest.client", "contest.server"},
    {"cli"},
    {"__main__"},
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# Constructors that live on the value but are made from its sources, and results that draw themselves: inside
# functions, and nowhere else.
LAZY = {
    ("attacks", "confide.report.attack"),
    ("counts", "confide.sources.arrays"),
    ("counts", "confide.sources.frames"),
    ("counts", "confide.sources.tables"),
    ("evaluation", "confide.report.evaluation.pages"),
    ("evaluation", "confide.report.evaluation.plots"),
    ("evaluation", "confide.report.evaluation.text"),
    ("federation.coordinator", "confide.report.validation.pages"),
    ("federation.coordinator", "confide.report.validation.plots"),
    ("ledger", "confide.report.release"),
    ("releases", "confide.report.plan"),
    ("releases", "confide.report.release"),
    ("releases", "confide.report.release_plots"),
    ("tasks", "confide.report.audit"),
    ("tasks", "confide.report.release"),
    ("tasks", "confide.report.release_plots"),
    ("tasks", "confide.report.validation.sites"),
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
    "tasks/release.py",
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
    "sqlalchemy": {"contest.server", "records"},
    "psycopg": {"contest.server", "sources"},
    "pyspark": {"sources"},
    "sklearn": {"learning"},
    "cryptography": {"federation.crypto", "federation.flare", "federation.site"},
    "joblib": {"federation.site"},
    "nvflare": {"federation.flare"},
    "psutil": {"federation.flare"},
    "onnxruntime": {"federation.site"},
    "pandas": {"federation.site", "report"},  # what a model that a site runs takes, and what to_frame returns
    "fastapi": {"contest.server"},
    "starlette": {"contest.server"},
    "pydantic": {"contest.server"},
    "uvicorn": {"contest.server"},
    "jinja2": {"contest.server"},
    "prometheus_client": {"contest.server"},
    "python_multipart": {"contest.server"},
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
    return part_named(path.relative_to(PACKAGE).with_suffix("").parts)


def part_named(names: Sequence[str]) -> str:
    """Return the part of a module, given the names below the package: its own room, or an inner room with a layer."""
    inner = ".".join(names[:2])
    return inner if inner in RANK else names[0]


@cache
def rooms_and_modules() -> frozenset[str]:
    return frozenset(module_of(path) for path in PACKAGE.rglob("*.py"))


def imports_in(source: str, file: str, part: str) -> Iterator[Import]:
    def visit(node: ast.AST, typing_only: bool, top: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(file, part, name.name, typing_only, top)
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            for name in node.names:
                # `from confide.sources import arrays` imports a module too.
                deeper = f"{prefix}.{name.name}" in rooms_and_modules() or prefix == "confide" or node.level > 0
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
    target = part_named(found.module.split(".")[1:])
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
        "privacy/mechanisms",
        "privacy/noisy_",
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


# Modules of the command line that verbs share.
SHARED_CLI = {"__init__", "flags", "lazy_verbs", "main", "options", "output", "steps"}
VERBS = sorted(f"cli/{path.name}" for path in (PACKAGE / "cli").glob("*.py") if path.stem not in SHARED_CLI)
MOST_LINES = 60
"""Lines of code in one function of a verb, without its signature, its docstring (the help text) and blank lines."""


def longest_function(source: str) -> int:
    """Return the number of lines of code in the longest function, without signatures, docstrings and blank lines."""
    lines = source.splitlines()
    return max(
        (
            sum(bool(line.strip()) for line in lines[body[0].lineno - 1 : body[-1].end_lineno])
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef)
            for body in [node.body[1:] if ast.get_docstring(node) is not None else node.body]
            if body
        ),
        default=0,
    )


@pytest.mark.parametrize("file", VERBS)
def test_a_verb_is_options_a_task_and_rendering(file: str) -> None:
    assert longest_function((PACKAGE / file).read_text(encoding="utf-8")) <= MOST_LINES
    allowed = {"cli", "contest.client", "contest.server", "errors", "examples", "report", "tasks"}
    imported = [found.module for found in every_import() if found.file == file and not found.typing_only]
    rooms = {part_named(module.split(".")[1:]) for module in imported if module.startswith("confide.")}
    assert rooms - USED_BY.get(file, set()) <= allowed, "a verb calls tasks and renders results"


USED_BY = {
    "cli/contest_demo.py": {"ports"},  # the demonstration starts a server of its own
    "cli/federation_demo.py": {"federation"},  # progress of sites, and outcomes that are no error of a demonstration
    "cli/validate.py": {"federation", "federation.coordinator"},
}
"""Other parts that single verbs use."""


@pytest.mark.parametrize("file", VERBS)
def test_a_verb_imports_no_sibling(file: str) -> None:
    own = f"confide.{file.removesuffix('.py').replace('/', '.')}"
    siblings = {f"confide.{other.removesuffix('.py').replace('/', '.')}" for other in VERBS} - {own}
    assert not {found.module for found in every_import() if found.file == file} & siblings


def test_the_counter_of_lines_leaves_out_signatures_and_help_texts() -> None:
    assert (
        longest_function('def f(\n    a: int,\n):\n    """Two.\n\n    Three.\n    """\n    a += 1\n\n    return a\n')
        == 2
    )


def module_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def graph(imports: Sequence[Import], *, top: bool) -> dict[str, set[str]]:
    """Return which module imports which at run time: at the top alone, or anywhere but for results' own plots."""
    modules = {module_of(path) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    edges: dict[str, set[str]] = {}
    for found in imports:
        home = module_of(PACKAGE / found.file)
        target = found.module if found.module in modules else found.module.rpartition(".")[0]
        skipped = found.typing_only or (top and not found.top) or (found.part, found.module) in LAZY
        if home in modules and target in modules and target != home and not skipped:
            edges.setdefault(home, set()).add(target)
    return edges


def cycles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """Return groups of modules that import each other: what imports, or is imported by, nothing else is left out."""
    left = {home: set(targets) for home, targets in edges.items()}
    while True:
        imported = set().union(*left.values()) if left else set()
        kept = {
            home: targets & left.keys() for home, targets in left.items() if home in imported and targets & left.keys()
        }
        if kept == left:
            break
        left = kept
    groups = []
    while left:
        group, queue = set(), [next(iter(left))]
        while queue:
            home = queue.pop()
            if home not in group:
                group.add(home)
                queue += [*left[home], *(other for other, targets in left.items() if home in targets)]
        groups.append(group)
        left = {home: targets for home, targets in left.items() if home not in group}
    return groups


def test_no_modules_import_each_other() -> None:
    assert cycles(graph(every_import(), top=True)) == []


def test_no_import_inside_a_function_hides_a_cycle() -> None:
    """Imports inside functions wait for heavy libraries. They do not close a circle of modules."""
    assert cycles(graph(every_import(), top=False)) == []


def reached(edges: Mapping[str, set[str]], home: str) -> set[str]:
    """Return the modules that a module imports, directly or through others."""
    found: set[str] = set()
    queue = [home]
    while queue:
        new = edges.get(queue.pop(), set()) - found
        found |= new
        queue += new
    return found


@pytest.mark.parametrize("module", ["executor", "site_engine", "site_run"])
def test_a_site_loads_nothing_of_the_coordinator(module: str) -> None:
    home = f"confide.federation.flare.{module}"
    found = reached(graph(every_import(), top=False), home)
    assert not {name for name in found if name.startswith("confide.federation.coordinator")}


def test_the_server_loads_nothing_of_a_site() -> None:
    found = reached(graph(every_import(), top=True), "confide.federation.flare.controller")
    assert "confide.federation.coordinator.answers" in found  # the search works
    assert not {name for name in found if name.startswith("confide.federation.site.")}


def test_the_search_for_cycles_finds_them() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"d"}}) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}}) == [{"b", "c"}]
