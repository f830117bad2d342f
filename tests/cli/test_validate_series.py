"""`confide validate --every`: one command for a timer, editions, and a page of performance over time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import pytest

from confide.errors import FederationError
from confide.federation import question_terms
from confide.federation.coordinator.series import (
    POOLED,
    Edition,
    OtherSeriesError,
    Series,
    require_same_series,
    series_cost,
    series_names,
)
from confide.federation.question import Question
from confide.report.validation.series import missing_lines, promise_lines, series_page
from confide.tasks import validate as tasks_validate
from tests.cli.commands import confide
from tests.cli.hospitals import Hospitals, near, out_of_reach

ASK = ("--mode", "private", "--epsilon", "1/4")
PERIOD_AT = question_terms.Period.at


def live_in(month: int, patch: pytest.MonkeyPatch) -> None:
    """Set the coordinator's clock to a month of 2026."""
    now = datetime(2026, month, 15, tzinfo=UTC)
    patch.setattr(question_terms.Period, "at", classmethod(lambda cls, kind, time: PERIOD_AT(kind, now)))


def test_each_period_is_asked_once_and_the_page_shows_all(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    folder = tmp_path / "series"
    options = (*ASK, "--every", "month", "--series", folder)
    for month, spent in ((1, 0.25), (1, 0.25), (2, 0.375)):
        live_in(month, monkeypatch)
        answer = hospitals.ask(*options)
        assert answer.code == 0, answer.err
        status = json.loads(confide("site", "status", hospitals.site("north").path, "--json").out)
        assert status["ledger"]["spent"]["epsilon"] == spent  # own counts of the same data come from the ledger
    assert "nobody was asked" not in answer.err
    assert "nobody was asked" in hospitals.ask(*options).err
    editions = Series(folder).editions()
    assert [edition.name for edition in editions] == ["2026-01", "2026-02"]
    assert [edition.document["question"]["edition"] for edition in editions] == [24312, 24313]
    assert series_names(editions) == (POOLED, "north", "south", "west")
    page = (folder / "index.html").read_text()
    assert page == series_page(editions)
    for words in ("AUC", "Observed : expected", "Calibration slope", "2026-01", "2026-02", "north", "<svg"):
        assert words in page
    for edition in editions:
        auc = edition.estimate("auc", POOLED)
        assert auc is not None
        assert f"{auc.value:.3f}" in page


@pytest.mark.long
def test_the_promise_and_the_sum_spent_are_on_the_page_in_the_text_and_in_json(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    folder = tmp_path / "series"
    options = (*ASK, "--every", "quarter", "--series", folder)
    for month in (2, 5, 8):
        live_in(month, monkeypatch)
        answer = hospitals.ask(*options)
        assert answer.code == 0, answer.err
    page, text = (" ".join(words.split()) for words in ((folder / "index.html").read_text(), answer.out))
    for shown in (page, text):
        assert "All editions together, for somebody whose rows are in the data of each of them" in shown
        assert "epsilon = 0.75" in shown
        assert "Spent over the series" in shown
        assert "even if the coordinator and any 1 of the 3 sites put together everything" in shown
    assert "the question, 3 editions 0.75 north 0.5 south 0.5 west 0.5" in text
    document = json.loads(hospitals.ask(*options, "--json").out)
    assert document["schema"] == "confide.validation-series/1"
    assert (document["asked"], document["editions"]) == (False, ["2026-q1", "2026-q2", "2026-q3"])
    assert document["cost"]["guarantee"]["epsilon"] == 0.75
    assert document["latest"]["question"]["edition"] == 8106
    for name, spent in document["cost"]["spent_at_most"].items():
        status = json.loads(confide("site", "status", hospitals.site(name).path, "--json").out)
        assert spent == status["ledger"]["spent"]["epsilon"] == 0.5


@pytest.mark.parametrize(
    ("receipt", "spent"),
    [
        ({"charged": {"epsilon": 0.125, "delta": 0.0}, "reused": False}, Fraction(1, 8)),
        ({"charged": {"epsilon": 0.0, "delta": 0.0}, "reused": True}, Fraction(1, 4)),  # paid in a run that failed
        ({"charged": {"epsilon": 0.0, "delta": 0.0}, "reused": False}, Fraction(1, 4)),
        ({"charged": {"epsilon": 0.01, "rho": 0.5}, "reused": False}, Fraction(1, 4)),
        ({"charged": {"epsilon": 99}, "reused": False}, Fraction(1, 4)),
        ({"charged": {"epsilon": "much"}, "reused": False}, Fraction(1, 4)),
        ({"charged": {"epsilon": -1}, "reused": False}, Fraction(1, 4)),
        ({"charged": "nothing", "reused": False}, Fraction(1, 4)),
        (None, Fraction(1, 4)),  # it may have paid before it dropped out
    ],
)
def test_a_site_counts_with_the_full_price_unless_a_receipt_states_less(receipt: object, spent: Fraction) -> None:
    question = Question.checked(
        study="s", model="risk", mode="private", sites=("a", "b", "c"), epsilon="1/4", edition=24312
    )
    site = {"name": "a", "state": "answered", "receipt": receipt}
    edition = Edition(name="2026-01", document={"question": question.to_dict(), "sites": [site], "pooled": {}})
    cost = series_cost([edition, edition])
    assert cost.sites == {"a": 2 * spent}
    assert cost.guarantee is not None
    assert cost.guarantee.epsilon == Fraction(1, 2)


@pytest.mark.long
def test_a_question_that_got_no_result_counts_like_an_edition(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of all sites ends after some have paid. The edition is then asked with other terms."""
    near(hospitals, monkeypatch)
    live_in(1, monkeypatch)
    folder = tmp_path / "series"
    options = ("--every", "month", "--series", folder, "--mode", "private")
    with monkeypatch.context() as lost:
        lost.setattr(tasks_validate, "run_validation", _lose)
        assert hospitals.ask(*options, "--epsilon", "1/2").code == 1
        assert hospitals.ask(*options, "--epsilon", "1/2", "--purpose", "again").code == 1
    assert Series(folder).editions() == ()
    live_in(2, monkeypatch)
    assert hospitals.ask(*options, "--epsilon", "1/4").code == 0
    (edition,) = Series(folder).editions()
    assert [float(question.exact_epsilon) for question in edition.unanswered] == [0.5]
    cost = series_cost([edition])
    assert cost.unanswered == 1
    assert cost.guarantee is not None
    assert cost.guarantee.epsilon == Fraction(3, 4)
    assert set(cost.sites.values()) == {Fraction(3, 4)}
    page = (folder / "index.html").read_text()
    assert "One question that got no result is counted too" in page
    live_in(3, monkeypatch)
    assert hospitals.ask(*options, "--epsilon", "1/4").code == 0
    assert [len(edition.unanswered) for edition in Series(folder).editions()] == [1, 0]


def _lose(*given: object, **options: object) -> NoReturn:
    raise FederationError("the connection was lost")


def test_editions_that_protect_different_units_have_no_common_guarantee() -> None:
    terms = {"study": "s", "model": "risk", "mode": "private", "sites": ("a", "b", "c"), "epsilon": "1/4"}
    questions = [Question.checked(**terms), Question.checked(**terms, unit="person", rows_per_person=3)]  # type: ignore[arg-type]
    editions = [Edition(name=str(n), document={"question": q.to_dict(), "sites": []}) for n, q in enumerate(questions)]
    cost = series_cost(editions)
    assert cost.guarantee is None
    assert "do not add up" in next(iter(promise_lines(cost)))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("every", "name", "year"), [("month", "2026-11", 3), ("quarter", "2026-q4", 1), ("year", "2026", 0.25)]
)
def test_a_dry_run_names_the_period_and_the_price_of_a_year(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch, every: str, name: str, year: float
) -> None:
    out_of_reach(monkeypatch)
    live_in(11, monkeypatch)
    shown = provisioned.ask(*ASK, "--every", every, "--series", "x", "--dry-run")
    assert shown.code == 0, shown.err
    (line,) = (words.split() for words in shown.out.splitlines() if words.split()[:1] == ["edition"])
    assert line[1] == name
    assert f"which cost epsilon {year} at each site" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*ASK, "--every", "month"), "belong together"),
        ((*ASK, "--every", "week", "--series", "x"), "a period is one of"),
        ((*ASK, "--every", "month", "--series", "x", "--edition", "3"), "numbers the editions itself"),
        (("--mode", "secure-sum", "--every", "month", "--series", "x"), "is for the mode private"),
    ],
)
def test_what_makes_no_series_is_refused(provisioned: Hospitals, options: tuple[str, ...], said: str) -> None:
    answer = provisioned.ask(*options)
    assert answer.code == 2
    assert said in " ".join(answer.err.split())


@pytest.fixture
def monthly(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Hospitals, Path, tuple[object, ...]]:
    """Sites that answered one edition of a monthly series, in November; nobody can be asked any more."""
    near(hospitals, monkeypatch)
    live_in(11, monkeypatch)
    folder = tmp_path / "series"
    options = (*ASK, "--every", "month", "--series", folder)
    answer = hospitals.ask(*options)
    assert answer.code == 0, answer.err
    out_of_reach(monkeypatch)
    return hospitals, folder, options


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("other", "named"),
    [
        (("--model-name", "other"), "--model-name (other instead of risk)"),
        (("--study", "sepsis"), "--study (sepsis instead of stroke)"),
        (("--epsilon", "1"), "--epsilon (1 instead of 1/4)"),
        (("--noise", "gaussian", "--delta", "1e-6"), "--noise (gaussian instead of laplace)"),
        (("--site-share", "0"), "--site-share (0 instead of 1/2)"),
        (("--colluders", "2"), "--colluders (2 instead of 1)"),
        (("--grid", "uniform:10"), "--grid (uniform:10 instead of"),
        (("--bins", "5"), "--bins (5 instead of 10)"),
        (("--unit", "person", "--rows-per-person", "2"), "--unit (person instead of row)"),
        (("--level", "0.9"), "--level (0.9 instead of 0.95)"),
        (("--every", "quarter"), "--every (quarter instead of month)"),
    ],
)
def test_a_folder_with_the_series_of_another_question_is_refused_before_anybody_is_asked(
    monthly: tuple[Hospitals, Path, tuple[object, ...]], other: tuple[str, ...], named: str
) -> None:
    hospitals, folder, options = monthly
    files = sorted(folder.rglob("*"))
    for how in ((), ("--json",), ("--dry-run",), ("--dry-run", "--json")):
        answer = hospitals.ask(*options, *other, *how)
        assert (answer.code, answer.out) == (2, ""), answer.err
        said = " ".join(answer.err.split())
        assert f"{folder} holds the series of model 'risk', study stroke, mode private, epsilon 1/4, asked" in said
        assert named in said
        assert "Give another folder (--series)" in said
    assert sorted(folder.rglob("*")) == files


def test_a_question_to_other_sites_is_another_series(
    monthly: tuple[Hospitals, Path, tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hospitals, folder, options = monthly
    live_in(12, monkeypatch)
    document = json.loads((folder / "2026-11.json").read_text())
    document["sites"].append({"name": "east", "state": "silent", "message": ""})
    (folder / "2026-11.json").write_text(json.dumps(document))
    answer = hospitals.ask(*options, "--dry-run")
    assert answer.code == 2
    assert "--sites (north and south and west instead of east and north and south and west)" in " ".join(
        answer.err.split()
    )


def test_a_site_that_dropped_out_and_another_purpose_leave_the_series_the_same(tmp_path: Path) -> None:
    terms = {"study": "s", "model": "risk", "mode": "private", "epsilon": "1/4", "fewest": 4}
    asked = Question.checked(**terms, sites=("a", "b", "c", "d", "e"), edition=24322, purpose="first")  # type: ignore[arg-type]
    answered = asked.of(("a", "b", "c", "d"))
    sites = [{"name": name, "state": "answered"} for name in asked.sites]
    held = Edition(name="2026-11", document={"question": answered.to_dict(), "sites": sites, "level": 0.95})
    next_one = replace(asked, edition=24323, purpose="second")
    december = question_terms.Period(kind="month", number=24323)
    require_same_series(tmp_path, [held], next_one, december, level=0.95)
    with pytest.raises(OtherSeriesError) as refused:
        require_same_series(tmp_path, [held], replace(next_one, fewest=5), december, level=0.95)
    assert refused.value.differing == ("fewest",)


@pytest.mark.long
def test_a_stored_edition_has_a_report_too(monthly: tuple[Hospitals, Path, tuple[object, ...]], tmp_path: Path) -> None:
    """The report of a stored edition is the one that was written when it was asked."""
    hospitals, folder, options = monthly
    auc = Series(folder).editions()[0].estimate("auc", POOLED)
    assert auc is not None
    for more in ((), ("--json",)):
        report = tmp_path / f"report{len(more)}.html"
        answer = hospitals.ask(*options, "--report", report, *more)
        assert answer.code == 0, answer.err
        assert "nobody was asked" in answer.err
        assert str(report) in answer.err
        page = report.read_text(encoding="utf-8")
        assert "validation across sites (stroke, differentially private, edition 2026-11)" in page
        assert f"{auc.value:.3f}" in page


@pytest.mark.few(1)
@pytest.mark.parametrize(("damage", "why"), [("remove", "not the noisy counts"), ("change", "cannot be read")])
def test_a_report_that_cannot_be_made_is_said_to_be_missing(
    monthly: tuple[Hospitals, Path, tuple[object, ...]], tmp_path: Path, damage: str, why: str
) -> None:
    hospitals, folder, options = monthly
    outcome = folder / "outcomes" / "2026-11.json"
    if damage == "remove":
        outcome.unlink()
    else:
        outcome.write_text("{}")
    report = tmp_path / "report.html"
    answer = hospitals.ask(*options, "--report", report)
    assert answer.code == 0, answer.err
    assert not report.exists()
    said = " ".join(answer.err.split())
    assert "no report was written" in said
    assert why in said


def test_only_the_owner_can_read_a_series(monthly: tuple[Hospitals, Path, tuple[object, ...]]) -> None:
    _, folder, _ = monthly
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "outcomes").stat().st_mode & 0o777 == 0o700


@pytest.mark.long
def test_the_page_says_in_words_which_number_is_missing(
    monthly: tuple[Hospitals, Path, tuple[object, ...]],
) -> None:
    _, folder, _ = monthly
    (edition,) = Series(folder).editions()
    pooled = {
        name: value
        for name, value in edition.document["pooled"].items()
        if name not in ("calibration_slope", "calibration_intercept")
    }
    sites = [{**site, "result": None} for site in edition.document["sites"]]
    document = {**edition.document, "sites": sites, "pooled": {**pooled, "no_line": "end-cells"}}
    without = [Edition(name="2026-10", document=document), edition]
    line = next(line for line in missing_lines(without) if "all sites in 2026-10" in line)
    assert line.startswith("Calibration slope is not given for all sites in 2026-10. The calibration slope, or")
    for shown in (series_page(without), series_page(without[:1])):
        assert "is not given for all sites in 2026-10" in shown
