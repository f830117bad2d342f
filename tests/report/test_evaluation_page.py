"""The HTML report: one file, no scripts, nothing from elsewhere, everything that was promised in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import confide
from confide.examples import HEART_ATTACK
from tests.cli.commands import confide as command


class Elements(HTMLParser):
    """Collects tags, attributes and text, and insists that tags are closed in order."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    report = tmp_path_factory.mktemp("report") / "out.html"
    scores = ["--score", "logistic", "--score", "age_only"]
    answer = command("evaluate", HEART_ATTACK, "--label", "died", *scores, "--group", "sex", "--report", report)
    assert answer.code == 0, answer.err
    assert str(report) in answer.err
    return report.read_text(encoding="utf-8")


@pytest.mark.long
def test_page_is_well_formed_and_needs_nothing_else(page: str) -> None:
    elements = Elements(page)
    assert "script" not in elements.tags
    assert "link" not in elements.tags
    for name, value in elements.attributes:
        assert not name.startswith("on")
        if name in ("src", "href", "xlink:href"):
            assert value is not None
            assert value.startswith(("#", "data:")), value
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)
    assert "default-src &#x27;none&#x27;" in page


@pytest.mark.long
def test_page_holds_every_picture_table_and_explanation(page: str) -> None:
    elements = Elements(page)
    assert elements.tags.count("svg") == 6
    text = " ".join(elements.text)
    for expected in (
        "True-positive rate (recall, sensitivity)",
        "unachievable",
        "Observed share of positives",
        "Net benefit (true positives per row)",
        "How to read this",
        "What was assumed",
        "AUCPR by estimator",
        "By group" if "By group" in text else "Groups",
        "0.805",
        "logistic − age_only",
        "not differentially private",
    ):
        assert expected in text, expected


@pytest.mark.long
def test_identifiers_do_not_clash(page: str) -> None:
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    clashing = {name for name in identifiers if identifiers.count(name) > 1}
    assert not clashing
    for used in re.findall(r'(?:href="#|url\(#)([^")]+)', page):
        assert used in identifiers


@pytest.mark.long
def test_page_is_the_same_each_time_and_not_large() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(3000) < 0.2
    evaluation = confide.evaluate(labels, np.clip(rng.random(3000) * 0.5 + 0.3 * labels, 0, 1))
    page = evaluation.to_html()
    assert page == evaluation.to_html()
    assert len(page) < 600_000


def test_names_from_the_file_are_escaped(tmp_path: Path) -> None:
    evaluation = confide.evaluate(
        [0, 1, 0, 1, 1, 0], {"<script>alert(1)</script>": [0.1, 0.8, 0.3, 0.6, 0.2, 0.4]}, replicates=0
    )
    for text in (evaluation.to_html(), evaluation._repr_html_()):
        assert "<script" not in text


def test_scores_that_are_not_probabilities_leave_two_pictures_out() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.4
    elements = Elements(confide.evaluate(labels, rng.standard_normal(200) + labels, replicates=0).to_html())
    assert elements.tags.count("svg") == 2


@pytest.mark.long
def test_million_rows_do_not_make_a_large_page() -> None:
    rng = np.random.default_rng(2)
    labels = rng.random(400_000) < 0.1
    page = confide.evaluate(labels, 1 / (1 + np.exp(-rng.standard_normal(400_000) - labels))).to_html()
    assert len(page) < 1_500_000
