"""Every mechanism and every sampler has its proof beside it, which is looked at again when what it proves changes.

The last line of `<name>.proof.md` holds the hash of `<name>.py` without comments and docstrings. After a change:
read the proof, correct it, and then run `python -m tests.privacy.test_proofs <name>` to say so (all without a name).
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

import pytest

from confide.privacy import mechanisms

FOLDER = Path(mechanisms.__file__).parent
MECHANISMS = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
NOISE = FOLDER.parent / "noise"
SAMPLERS = sorted(path for path in NOISE.glob("*.py") if path.name != "__init__.py")
MODULES = [*MECHANISMS, *SAMPLERS, FOLDER.parent / "queries.py", FOLDER.parent / "concentration.py"]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "proofs.md"
LINE = re.compile(r"\n*<!-- proves (?P<name>\w+\.py) sha256:(?P<hash>[0-9a-f]{64}) -->\n*\Z")


def proof_of(module: Path) -> Path:
    return module.with_suffix(".proof.md")


def fingerprint(source: str) -> str:
    """The hash of what a module does: not of its comments, docstrings or layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                kept = [statement for statement in statements if not is_text(statement)]
                setattr(node, field, kept or (statements and [ast.Pass()]))
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a string alone: a docstring, or one below a constant."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def signed(proof: str, module: Path) -> str:
    """The proof with the line that says which source it proves."""
    line = f"<!-- proves {module.name} sha256:{fingerprint(module.read_text(encoding='utf-8'))} -->"
    return f"{LINE.sub('', proof).rstrip()}\n\n{line}\n"


@pytest.mark.parametrize(("folder", "modules"), [(FOLDER, MECHANISMS), (NOISE, SAMPLERS)], ids=["mechanisms", "noise"])
def test_every_module_has_a_proof_and_every_proof_a_module(folder: Path, modules: list[Path]) -> None:
    assert modules
    assert {path.name.removesuffix(".proof.md") for path in folder.glob("*.md")} == {path.stem for path in modules}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_page_of_proofs_includes_each(module: Path) -> None:
    place = proof_of(module).relative_to(FOLDER.parents[1])
    assert f"../../src/confide/{place.as_posix()}" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_proof_was_read_after_the_last_change(module: Path) -> None:
    found = LINE.search(proof_of(module).read_text(encoding="utf-8"))
    assert found, f"{proof_of(module).name} does not end with its line: run python -m tests.privacy.test_proofs"
    assert found["name"] == module.name
    assert found["hash"] == fingerprint(module.read_text(encoding="utf-8")), (
        f"{module.name} changed since {proof_of(module).name} was last read against it. Read the proof, correct it, "
        f"and then run: python -m tests.privacy.test_proofs {module.stem}"
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_module_names_its_proof(module: Path) -> None:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    assert f"Proof: {module.stem}.proof.md." in docstring


def test_comments_docstrings_and_layout_do_not_matter() -> None:
    plain = "def f(x):\n    return x + 1\nSHARE = 2\n"
    talkative = '"""Module."""\n# why\ndef f(x):\n    """Add."""\n    return (x  +  1)\nSHARE = 2\n"""A share."""\n'
    assert fingerprint(plain) == fingerprint(talkative)


@pytest.mark.parametrize(
    "changed", ["def f(x):\n    return x + 2\nSHARE = 2\n", "def f(x):\n    return x + 1\nSHARE = 3\n"]
)
def test_a_changed_number_matters(changed: str) -> None:
    assert fingerprint(changed) != fingerprint("def f(x):\n    return x + 1\nSHARE = 2\n")


def test_signing_twice_is_signing_once() -> None:
    once = signed("# A proof\n\nBecause.\n", MODULES[0])
    assert signed(once, MODULES[0]) == once
    assert once.startswith("# A proof\n\nBecause.\n")


def sign(names: list[str]) -> None:
    """Write into each proof, or those of these mechanisms, that it was read against its module as it is now."""
    for module in MODULES:
        if names and module.stem not in names:
            continue
        proof = proof_of(module)
        before = proof.read_text(encoding="utf-8")
        after = signed(before, module)
        if after != before:
            proof.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{proof.name} now says that it proves {module.name} as it is\n")


if __name__ == "__main__":
    sign(sys.argv[1:])
