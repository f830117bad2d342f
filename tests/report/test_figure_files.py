"""Figures as files: every figure in every format, at the size and in the fonts that journals ask for."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import confide
from confide.errors import ConfideWarning, ParameterError, UsageError
from confide.report.evaluation.plots import (
    DRAWINGS,
    ONE_COLUMN,
    TWO_COLUMNS,
    check_figures,
    journal_size,
    write_figures,
)

RNG = np.random.default_rng(3)
LABELS = RNG.random(120) < 0.4
RISK = 1 / (1 + np.exp(-(RNG.standard_normal(120) + LABELS)))
SEX = np.where(RNG.random(120) < 0.5, "f", "m")


TWO_MODELS = confide.evaluate(LABELS, {"a_$b$ & <c>": RISK, "50 %": RISK**2}, groups=SEX, replicates=0)


def inches(written: str) -> float:
    assert written.endswith("pt")
    return float(written.removesuffix("pt")) / 72


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the figures of two models of which names have signs that mean something elsewhere."""
    folder = tmp_path_factory.mktemp("paper") / "deep" / "figures"
    written = write_figures(TWO_MODELS, folder)
    assert set(written) == set(folder.iterdir())
    return folder


@pytest.mark.long
def test_every_figure_has_every_format(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {f"{n}.{k}" for n in DRAWINGS for k in ("svg", "pdf", "png")}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", DRAWINGS)
def test_figures_are_as_wide_as_columns(folder: Path, name: str) -> None:
    wide = journal_size(TWO_MODELS, name)[0] / 25.4
    assert wide in (ONE_COLUMN / 25.4, TWO_COLUMNS / 25.4)
    root = ElementTree.parse(folder / f"{name}.svg").getroot()  # noqa: S314  # our own file
    assert inches(root.attrib["width"]) == pytest.approx(wide, rel=1e-4)
    assert inches(root.attrib["height"]) <= 9.3  # a page of a journal is 247 mm high
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", (folder / f"{name}.pdf").read_bytes())
    assert box is not None
    assert float(box[1]) / 72 == pytest.approx(wide, rel=1e-4)
    assert matplotlib.image.imread(folder / f"{name}.png").shape[1] == pytest.approx(300 * wide, abs=1)


def test_png_files_state_300_dots_an_inch(folder: Path) -> None:
    content = (folder / "roc.png").read_bytes()
    place = content.index(b"pHYs") + 4
    assert int.from_bytes(content[place : place + 4], "big") == round(300 / 0.0254)


@pytest.mark.parametrize("name", DRAWINGS)
def test_svg_needs_no_font_and_no_other_file(folder: Path, name: str) -> None:
    text = (folder / f"{name}.svg").read_text(encoding="utf-8")
    assert "<text" not in text
    assert "font-family" not in text
    assert not re.search(r'href="(?!#|data:)', text)


@pytest.mark.parametrize("name", DRAWINGS)
def test_pdf_embeds_its_fonts_as_truetype(folder: Path, name: str) -> None:
    content = (folder / f"{name}.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"/CIDFontType2" in content


def test_text_is_legible_and_lines_are_thin_at_that_size() -> None:
    from confide.report.evaluation import plots as figure_files

    evaluation = confide.evaluate(LABELS, {"one": RISK}, groups=SEX, replicates=0)
    for name in DRAWINGS:
        with figure_files._journal_style():
            drawn = figure_files._drawn(name, evaluation)
        sizes = {float(text.get_fontsize()) for text in drawn.findobj(matplotlib.text.Text) if text.get_text()}
        assert 5.0 <= min(sizes) <= max(sizes) <= 8.0
        assert max(line.get_linewidth() for line in drawn.findobj(matplotlib.lines.Line2D)) <= 1.2


@pytest.mark.long
def test_the_same_evaluation_gives_the_same_bytes(tmp_path: Path) -> None:
    ranks = confide.evaluate(LABELS, {"points": 10 * RISK}, replicates=0)
    for one, other in zip(*(write_figures(ranks, tmp_path / name) for name in "ab"), strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_figures_that_do_not_apply_are_left_out(tmp_path: Path) -> None:
    ranks = confide.evaluate(LABELS, {"points": 10 * RISK}, replicates=0)
    assert [path.name for path in write_figures(ranks, tmp_path, formats=["svg", "svg"])] == ["roc.svg", "pr.svg"]


def test_letters_that_the_font_lacks_give_one_warning_a_file(tmp_path: Path) -> None:
    evaluation = confide.evaluate(LABELS, {"漢字": 10 * RISK}, replicates=0)
    with pytest.warns(ConfideWarning, match="letters that the font of the figures lacks") as caught:
        written = write_figures(evaluation, tmp_path, formats=["svg"])
    assert len(caught) == len(written) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures(confide.evaluate(LABELS, {"é": 10 * RISK}, replicates=0), tmp_path, formats=["svg"])


def test_the_data_are_never_overwritten(tmp_path: Path) -> None:
    data = tmp_path / "roc.svg"
    data.write_text("died,risk\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is the file to be evaluated"):
        write_figures(confide.evaluate(LABELS, RISK, replicates=0), tmp_path, source=data)
    assert [path.name for path in tmp_path.iterdir()] == ["roc.svg"]
    assert data.read_text(encoding="utf-8") == "died,risk\n"


def test_wrong_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="`formats` must be some of svg, pdf, png; got jpg"):
        check_figures(tmp_path, formats=["svg", "jpg"])
    with pytest.raises(ParameterError, match="got none"):
        check_figures(tmp_path, formats=())


def test_one_column_is_narrow() -> None:
    assert journal_size(TWO_MODELS, "roc")[0] == ONE_COLUMN == 89.0
