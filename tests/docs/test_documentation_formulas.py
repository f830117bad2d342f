"""Formulas of the built documentation are MathML: pages need no script and no network for them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`")
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+?\$", re.DOTALL)
SLOW = "reference/python.md"  # Sphinx imports every module for it; it has no formulas


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("html")
    settings = ("-D", f"exclude_patterns=_build,{SLOW}")
    subprocess.run([sys.executable, "-m", "sphinx", "-q", *settings, str(ROOT / "docs"), str(out)], check=True)
    return out


def formulas(page: Path) -> int:
    return len(FORMULA.findall(CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))))


def in_docs() -> list[Path]:
    pages = (page for page in PAGES if page.is_relative_to(ROOT / "docs"))
    return [page for page in pages if not page.match(SLOW)]


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.documents
def test_every_formula_became_mathml(built: Path) -> None:
    counted = 0
    for page in in_docs():
        html = (built / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")
        assert html.count("<math") == formulas(page), page.name
        counted += formulas(page)
    assert counted > 50


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.documents
def test_pages_hold_no_tex_and_load_nothing_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\\[(\[]|\\frac|\\varepsilon|\$\$", text), page.name
        assert not re.search(r"<(script|link|img)[^>]*\b(src|href)=\"(https?:)?//", text), page.name


def test_an_unknown_command_of_tex_fails_the_build() -> None:
    from docutils.utils.math import MathError
    from docutils.utils.math.latex2mathml import tex2mathml

    with pytest.raises(MathError):
        tex2mathml(r"\nonsense{x}")
