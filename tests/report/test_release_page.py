"""The page of a release, and the demonstration: they may be published, work offline, and show nothing exact."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import confide
from confide import Ledger, ScoreCounts
from confide.examples import HEART_ATTACK
from confide.provenance import Provenance, PublicProvenance
from confide.releases.registry import ONLY_BY_CURVES, RELEASE_METRICS, prepare
from confide.report.release import release_page
from tests.cli.commands import Answer
from tests.cli.commands import confide as command
from tests.ledger.asking import Book
from tests.noises import RELATIONS, seeded
from tests.report.test_evaluation_page import Elements

RNG = np.random.default_rng(5)
LABELS = (RNG.random(1237) < 0.3).astype(int)
SCORES = np.clip(RNG.normal(0.4 + 0.2 * LABELS, 0.2), 0.0, 1.0)
COUNTS = ScoreCounts.from_arrays(LABELS, SCORES)
ORIGIN = PublicProvenance(version="9.9", date=date(2026, 3, 1))


def page_of(folder: Path, relation: str, account: str = "trial") -> str:
    with Book(folder / "ledger.sqlite") as ledger:
        numbers = [name for name in RELEASE_METRICS if name not in ONLY_BY_CURVES]
        receipt = ledger.release(
            prepare(numbers, COUNTS, epsilon=2, neighbours=relation, noise=seeded(2)), account=account
        )
    return release_page(receipt, title="Private release")


@pytest.fixture(scope="module", params=RELATIONS)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("ledger"), request.param)


def exact_values() -> dict[str, float]:
    matrix = confide.confusion_matrix(COUNTS, 0.5)
    measures = {name: float(getattr(matrix, name)) for name in RELEASE_METRICS if hasattr(matrix, name)}
    return {
        **measures,
        "auc": confide.auc_score(COUNTS),
        "average_precision": confide.average_precision_score(COUNTS),
        "brier": confide.brier_score(COUNTS),
        "prevalence": COUNTS.prevalence,
    }


def shows(page: str, value: float) -> bool:
    """Whether six digits of a value are there, rounded or cut off, and do not end another number, as coordinates do.

    A value of few digits, such as 0.276, is looked for as 0.276000: noise gives three of them now and then.
    """
    digits = {f"{value:.6f}", f"{value:.9f}"[:-3]}
    return any(re.search(rf"(?<![\d.]){re.escape(each)}", page) for each in digits)


def test_what_is_exact_would_be_found() -> None:
    assert shows("<td>0.8123456</td>", 0.8123456)
    assert shows("<td>0.812346</td>", 0.8123456)
    assert not shows("<td>0.276</td>", 0.276)
    assert not shows('<path d="M 10.812346 2"/>', 0.8123456)


def test_the_page_is_well_formed_and_works_offline(page: str) -> None:
    elements = Elements(page)
    assert "script" not in elements.tags
    assert "iframe" not in elements.tags
    for name, value in elements.attributes:
        assert not name.startswith("on"), name
        if name in ("src", "href", "xlink:href", "action"):
            assert str(value).startswith(("#", "data:")), value
    assert "url(http" not in page
    assert "@import" not in page


def test_the_page_shows_values_guarantee_and_split_but_no_ledger(page: str) -> None:
    text = re.sub(r"\s+", " ", " ".join(Elements(page).text))
    for words in (
        "AUC",
        "average precision",
        "Brier score",
        "recall at 0.5",
        "epsilon = 2",
        "How the budget was divided",
        "0.4",
    ):
        assert words in text, words
    assert "has spent epsilon 2 in total so far, this release included" in text
    for words in ("Ledger", "trial", "charged", "remaining"):  # the account is not for readers
        assert words not in text, words


def test_the_page_shows_nothing_exact(page: str) -> None:
    for name, value in exact_values().items():
        if value % 1:
            assert not shows(page, value), name


def test_numbers_on_the_page_are_rounded(page: str) -> None:
    """Long digits would be noise at best."""
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    assert cells
    for cell in cells:
        for digits in re.findall(r"\d+\.(\d+)", cell):
            assert len(digits) <= 6, cell


def test_the_number_of_rows_is_not_shown_under_add_remove_one(tmp_path: Path) -> None:
    page = page_of(tmp_path, "add-remove-one")
    assert not re.search(r"\b1,?237\b", " ".join(Elements(page).text))
    assert "number of rows" not in page


def test_names_are_escaped(tmp_path: Path) -> None:
    name = "<b>risk</b> & <script>alert(1)</script>"
    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare("auc", COUNTS, epsilon=2), account="trial")
    elements = Elements(release_page(receipt, title=name, about={"score": name}))
    assert "script" not in elements.tags
    assert " ".join(elements.text).count(name) == 3


def test_the_page_says_what_all_releases_of_the_account_promise_together(tmp_path: Path) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        ledger.release(prepare("brier", COUNTS, epsilon="1/2"), account="trial")
        receipt = ledger.release(prepare("auc", COUNTS, epsilon=1), account="trial")
    text = " ".join(Elements(release_page(receipt, title="t", origin=ORIGIN)).text)
    assert "is at most 73.2 % sure after seeing this." in text
    assert "has spent epsilon 1.5 in total so far, this release included" in text
    assert "is at most 81.8 % sure after seeing all its releases." in text
    assert receipt.released_at is not None
    for words in (receipt.released_at[:10], "confide 9.9", "2026-03-01"):
        assert words in text
    assert receipt.released_at not in text  # the time would tell how long the work took


def test_an_account_with_delta_states_it_in_the_total(tmp_path: Path) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        ledger.open_account("approximate", epsilon=3, delta="1e-5")
        prepared = prepare("recall", COUNTS, epsilon=1, delta="1e-6", mechanism="gaussian")
        receipt = ledger.release(prepared, account="approximate")
    text = " ".join(Elements(release_page(receipt, title="t")).text)
    assert "has spent epsilon 1 and delta 1e-06 in total so far" in text
    assert "is right at most" in text


def test_a_page_to_be_published_takes_no_origin_with_a_digest(tmp_path: Path) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare("auc", COUNTS, epsilon=1), account="trial")
    whole = Provenance(version="9.9", date=ORIGIN.date, sha256="0" * 64)
    with pytest.raises(TypeError, match="no digest"):
        release_page(receipt, title="t", origin=whole)  # type: ignore[arg-type]
    assert "0" * 64 not in release_page(receipt, title="t", origin=whole.public())


@pytest.mark.parametrize(
    ("metrics", "unsaid"),
    [
        (("recall",), ("AUC", "verage precision", "Brier", "urve")),
        (("brier",), ("AUC", "verage precision", "urve", "threshold")),
        (("auc",), ("verage precision", "Brier", "urve", "threshold")),
        (("prevalence", "observed_expected"), ("AUC", "verage precision", "Brier", "urve", "threshold")),
    ],
)
def test_the_page_does_not_speak_of_what_was_not_released(
    tmp_path: Path, metrics: tuple[str, ...], unsaid: tuple[str, ...]
) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare(metrics, COUNTS, epsilon=2, noise=seeded(2)), account="trial")
    text = " ".join(Elements(release_page(receipt, title="Private release")).text)
    for words in unsaid:
        assert words not in text, words


def test_a_release_and_a_page_of_it_say_the_same(tmp_path: Path) -> None:
    with Book(tmp_path / "ledger.sqlite") as ledger:
        receipt = ledger.release(prepare(["auc", "recall"], COUNTS, epsilon=1), account="trial")
    page = release_page(receipt, title="t")
    for release in receipt.releases:
        assert f"{release.value:.3f}" in page
        assert f"{release.intervals.population.lower:.3f} to {release.intervals.population.upper:.3f}" in page


@pytest.mark.long
@pytest.mark.documents
def test_the_demonstration_tells_the_whole_story_and_costs_nothing_the_second_time(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first, second = (command("demo", "--folder", folder, folder=tmp_path) for _ in range(2))
    for answer in (first, second):
        assert answer.code == 0, answer.err
        assert "refused (exit code 3)" in answer.out
        assert str((folder / "report.html").resolve()) in answer.err
    assert "nothing: answered before" not in first.out
    assert "nothing: answered before" in second.out
    assert len(released_lines(first)) >= 4
    assert released_lines(first) == released_lines(second)
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert ledger.account("heart-attack").spent.epsilon == 2
        assert ledger.verify().whole
    check_story((folder / "report.html").read_text(encoding="utf-8"))


def released_lines(answer: Answer) -> list[str]:
    return [
        line
        for line in answer.out.splitlines()
        if re.match(r" (ROC curve|PR curve|calibration|Brier score|recall|specificity)", line)
    ]


def check_story(page: str) -> None:
    """Published and secret parts in their order, offline, and nothing exact before the second."""
    elements = Elements(page)
    assert "script" not in elements.tags
    assert not re.search(r"""(src|href)=["']http""", page)
    text = " ".join(elements.text)
    places = [text.index(words) for words in ("To be published", "budget is used up", "Not to be published")]
    assert places == sorted(places)
    published = page.split("Not to be published")[0]
    rows = [line.split(",") for line in HEART_ATTACK.read_text(encoding="utf-8").splitlines()[1:]]
    counts = ScoreCounts.from_arrays([int(row[0]) for row in rows], [float(row[1]) for row in rows])
    for value in (confide.auc_score(counts), confide.brier_score(counts), counts.prevalence):
        assert not shows(published, value)
