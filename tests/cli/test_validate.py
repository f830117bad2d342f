"""`confide validate`: what is refused before anybody is asked, what is printed, and what the exit code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confide.cli.steps import SiteProgress
from confide.federation.flare.federation import Federation
from confide.federation.policy import default_policy
from confide.federation.protocol import SiteReport
from confide.federation.question import Question
from confide.federation.site_state import ProgressState, SiteState
from confide.ledger.ledger import Ledger
from confide.report.validation.plan import attacker_lines, guarantee_sentences, plan_tables
from confide.tasks.requests.validate import ValidateRequest
from confide.tasks.validate import plan_validation, prepare_validation
from tests.cli.commands import confide
from tests.cli.hospitals import NAMES, Hospitals, NearSession, near, out_of_reach

PRIVATE = ("--mode", "private", "--epsilon", "1")


def pooled_file(hospitals: Hospitals, path: Path) -> Path:
    """All rows in one place, for those who may see them."""
    parts = [hospitals.rows(name).read_text().splitlines() for name in NAMES]
    path.write_text("\n".join([parts[0][0], *(line for part in parts for line in part[1:])]) + "\n")
    return path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mode", "privat", "--epsilon", "1"), "Did you mean 'private'?"),
        (("--mode", "private"), "needs --epsilon"),
        (("--mode", "private", "--epsilon", "-1"), "epsilon"),
        (("--mode", "secure-sum", "--epsilon", "1"), "leave it out"),
        (("--mode", "private", "--epsilon", "1", "--minimum-cell", "5"), "leave it out"),
        (("--mode", "secure-sum", "--edition", "2"), "leave it out"),
        (("--mode", "secure-sum", "--sites", "north,sout,west"), "Did you mean 'south'?"),
        (("--mode", "secure-sum", "--sites", "north,south"), "at least 3 sites"),
        (("--mode", "secure-sum", "--fewest", "2"), "needs all 3 of these sites"),
        (("--mode", "disclosure-control", "--fewest", "4"), "can go on with 1 to 3"),
        (("--mode", "secure-sum", "--grid", "uniform:0"), "cells"),
        (("--mode", "secure-sum", "--timeout", "0"), "timeout"),
        (("--mode", "secure-sum", "--level", "1"), "level"),
        (("--mode", "secure-sum", "--null-auc", "1.5"), "--null-auc"),
        (("--mode", "secure-sum", "--report", "out.pdf"), "must end in .html"),
        (("--mode", "secure-sum", "--report", "nowhere/out.html"), "does not exist"),
        (("--mode", "noisy-scores", "--epsilon", "5"), "--delta"),
    ],
)
def test_what_is_wrong_is_said_before_anybody_is_asked(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    out_of_reach(monkeypatch)
    answer = provisioned.ask(*options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_folder_that_is_no_federation_is_refused(tmp_path: Path) -> None:
    absent = confide("validate", "-f", tmp_path / "none", "--model-name", "risk", "--mode", "secure-sum")
    assert absent.code == 2
    assert "confide federation init" in absent.err
    other = confide("validate", "-f", tmp_path, "--model-name", "risk", "--mode", "secure-sum")
    assert other.code == 2
    assert "confide federation init" in other.err


def test_without_the_engine_it_says_what_to_install(provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confide.tasks.federation.find_spec", lambda name: None)
    answer = provisioned.ask(*PRIVATE, "--dry-run")
    assert answer.code == 2
    assert "confide[federation]" in answer.err


def test_a_dry_run_shows_question_promise_and_price_and_asks_nobody(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_of_reach(monkeypatch)
    document = json.loads(provisioned.ask(*PRIVATE, "--study", "s-1", "--dry-run", "--json").out)
    assert document["schema"] == "confide.validation-plan/1"
    assert document["epsilon"] == dict.fromkeys(NAMES, "1")
    assert document["question"]["study"] == "s-1"
    assert document["question"]["grid"] == "arcsine:20"
    assert document["expected"]["rows_stated"] is False
    assert document["expected"]["pooled"]["rows"] == 3_000
    assert "2.72 times" in document["promise"][0]
    exact = provisioned.ask("--mode", "secure-sum", "--dry-run")
    assert exact.code == 0
    assert "not differential privacy" in " ".join(exact.out.split())
    assert "no privacy budget: this mode has no noise" in exact.out
    assert exact.out.index("Promise to the people") < exact.out.index("not differential")
    assert "attacker" not in exact.out


def test_a_dry_run_begins_with_what_an_attacker_can_learn_in_the_words_of_the_report(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_of_reach(monkeypatch)
    shown = " ".join(provisioned.ask(*PRIVATE, "--dry-run").out.split())
    question = Question.checked(study="s", model="m", mode="private", sites=NAMES, epsilon="1")
    (sentence,) = attacker_lines(question)
    assert sentence == (
        "An attacker who was 50 % sure of the outcome in one row is at most 88.1 % sure after seeing this."
    )
    assert shown.startswith(sentence)
    assert guarantee_sentences(question)[0] == sentence


@pytest.mark.long
def test_a_dry_run_names_terms_that_cannot_be_mistaken(provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A biostatistician reads "threshold" as a decision threshold, and "interval 0.4" as an end of one."""
    out_of_reach(monkeypatch)
    shown = " ".join(provisioned.ask(*PRIVATE, "--dry-run").out.replace("│", " ").split())
    assert "sites needed to take masks off -" in shown
    assert "threshold" not in shown
    plan = plan_validation(
        prepare_validation(ValidateRequest(provisioned.coordinator, model_name="risk", mode="private", epsilon=1))
    )
    heads = [head for table in plan_tables(plan, rows="--rows") for head in table.head]
    assert [head for head in heads if "interval" in head] == [
        "width of the AUC's interval, these rows",
        *2 * ["width of the AUC's interval, population"],
    ]


@pytest.mark.long
def test_a_dry_run_says_how_accurate_the_answer_would_be(
    provisioned: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows give more cells and less error; the table says what it supposes."""
    out_of_reach(monkeypatch)
    few, many = (
        json.loads(provisioned.ask(*PRIVATE, "--rows", rows, "--dry-run", "--json").out) for rows in (3_000, 60_000)
    )
    assert few["question"]["grid"] == "arcsine:20"
    assert many["question"]["grid"] == "arcsine:56"
    assert "rows" not in many["question"]
    for name in ("roc_area_error", "auc_error", "auc_sample_width", "auc_population_width"):
        assert 0.0 < many["expected"]["pooled"][name] < few["expected"]["pooled"][name] < 0.2
        assert few["expected"]["pooled"][name] < few["expected"]["site"][name]
    shown = provisioned.ask(*PRIVATE, "--rows", 3_000, "--dry-run")
    assert "all sites, 3,000 rows" in " ".join(shown.out.split())
    assert "Rows as stated" in shown.out
    exact = provisioned.ask("--mode", "secure-sum", "--rows", 3_000)
    assert exact.code == 2
    assert "is for the mode private" in exact.err


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["disclosure-control", "secure-sum", "private"])
def test_a_dry_run_says_what_a_mode_rules_out_and_compares_the_modes(provisioned: Hospitals, mode: str) -> None:
    price = ("--epsilon", "1") if mode == "private" else ()
    shown = " ".join(provisioned.ask("--mode", mode, *price, "--rows", 3_000, "--dry-run").out.split())
    assert "Modes compared" in shown
    assert "Rows as stated, divided equally among the sites" in shown
    assert "Time: a run takes 10 to 20 seconds on free machines with files; databases and models" in shown
    refused = {"disclosure-control": "refuses mode secure-sum", "secure-sum": "refuses mode disclosure-control"}
    assert refused.get(mode, "No mode is ruled out") in shown


def test_exact_sums_are_those_of_all_rows(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    report = tmp_path / "report.html"
    answer = hospitals.ask("--mode", "secure-sum", "--null-auc", "0.6", "--report", report, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    whole = confide(
        "evaluate", pooled_file(hospitals, tmp_path / "all.csv"), "--label", "died", "--score", "risk", "--json"
    )
    exact = json.loads(whole.out)["models"][0]
    assert found["schema"] == "confide.validation/1"
    assert found["pooled"]["auc"]["value"] == pytest.approx(exact["auc"]["value"], abs=1e-12)
    assert found["pooled"]["brier"]["value"] == pytest.approx(exact["brier"]["value"], abs=1e-12)
    assert found["question"]["study"] == "stroke"
    assert found["test"]["a0"] == 0.6
    page = report.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert all(name in page for name in NAMES)
    assert str(report.resolve()) in answer.err
    for name in NAMES:
        assert f"  {name}: asked\n" in answer.err
        assert f"  {name}: answered\n" in answer.err


@pytest.mark.long
def test_private_mode_charges_each_ledger_once(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    first, again = (hospitals.ask(*PRIVATE, "--json") for _ in range(2))
    assert (first.code, again.code) == (0, 0), first.err + again.err
    told, repeated = json.loads(first.out), json.loads(again.out)
    assert told["pooled"]["auc"] == repeated["pooled"]["auc"]
    for name in NAMES:
        with Ledger(hospitals.site(name).database) as ledger:
            (account,) = ledger.accounts()
        assert account.spent.epsilon == 1
    assert [site["receipt"]["charged"]["epsilon"] for site in told["sites"]] == [1, 1, 1]
    assert [site["receipt"]["charged"]["epsilon"] for site in repeated["sites"]] == [0, 0, 0]


def test_a_new_edition_is_paid_for_anew(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    half = ("--mode", "private", "--epsilon", "1/2", "--site-share", "0", "--json")
    first, second = hospitals.ask(*half), hospitals.ask(*half, "--edition", "2")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert [site["receipt"]["charged"]["epsilon"] for site in json.loads(second.out)["sites"]] == [0.5, 0.5, 0.5]
    assert json.loads(first.out)["pooled"]["auc"] != json.loads(second.out)["pooled"]["auc"]


def test_a_refusal_is_told_with_its_reason_and_writes_nothing(
    hospitals: Hospitals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(hospitals, monkeypatch)
    policy = hospitals.site("south").policy
    policy.write_text(default_policy(studies=["sepsis"]), encoding="utf-8")
    report = tmp_path / "report.html"
    answer = hospitals.ask(*PRIVATE, "--report", report)
    assert answer.code == 1
    assert not report.exists()
    assert "Reply of each site" in answer.out
    assert "study 'stroke' was asked for" in " ".join(answer.out.split())
    assert "  south: refused\n" in answer.err
    assert answer.out.count("was ready") == 2
    assert "Nothing was charged or released" in answer.err
    for name in NAMES:
        with Ledger(hospitals.site(name).database) as ledger:
            assert ledger.accounts()[0].spent.epsilon == 0


def test_lack_of_budget_has_an_exit_code_of_its_own(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    policy = hospitals.site("west").policy
    for name in NAMES:
        assert (
            confide(
                "site", "add-model", hospitals.site(name).path, "--model-name", "r", "--same-as", "risk", "--study", "b"
            ).code
            == 0
        )
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("epsilon_in_all = 3", "epsilon_in_all = 1"), encoding="utf-8")
    assert hospitals.ask(*PRIVATE).code == 0
    answer = hospitals.ask("--mode", "private", "--epsilon", "1/2", "--study", "b", "--json")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert document["schema"] == "confide.validation-failure/1"
    states = {site["name"]: site["state"] for site in document["sites"]}
    assert states == {"north": "answered", "south": "answered", "west": "refused"}
    assert "Nothing was charged" in document["error"]
    assert "cannot pay" not in document["error"]


def test_fewer_sites_are_enough_where_that_is_allowed(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)
    hospitals.site("south").policy.write_text('modes = ["private"]\nstudies = ["stroke"]\n', encoding="utf-8")
    options = ("--mode", "disclosure-control", "--json")
    refused = hospitals.ask(*options)
    assert refused.code == 1
    answer = hospitals.ask(*options, "--fewest", "2")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["question"]["sites"] == ["north", "west"]
    assert "  south: refused: mode disclosure-control was asked for" in answer.err


def test_a_site_is_told_of_when_something_changes(capsys: pytest.CaptureFixture[str]) -> None:
    progress = SiteProgress(NAMES)
    for site, state in (
        *(("north", "not asked yet"), ("west", "not connected"), ("north", "asked"), ("north", "asked")),
        *(("west", "asked"), ("west", "silent"), ("north", "well")),
    ):
        progress(site, ProgressState(state))
    progress.settle([SiteReport(name="west", state=SiteState.SILENT, message="it is not connected")])
    assert capsys.readouterr().err.splitlines() == [
        "  north: not asked yet",
        "  west: not connected",
        "  north: asked",
        "  north: takes part",
        "  west: silent: it is not connected",
    ]


def test_who_stops_it_gets_the_code_of_shells(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    near(hospitals, monkeypatch)

    def stopped(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(NearSession, "run", stopped)
    answer = hospitals.ask(*PRIVATE)
    assert (answer.code, answer.out) == (130, "")
    assert "the sites were told" in answer.err


def test_a_server_that_does_not_answer_is_said_plainly(hospitals: Hospitals) -> None:
    answer = hospitals.ask(*PRIVATE, "--timeout", "1")
    assert answer.code == 1
    port = Federation.load(hospitals.coordinator).port
    assert f"the server at localhost:{port} does not answer; start it with `confide federation start`" in answer.err
    assert "seconds" not in answer.err


def test_a_server_of_an_unknown_name_is_said_at_once(hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object) -> None:
        raise OSError

    monkeypatch.setattr("confide.federation.flare.session.socket.getaddrinfo", unknown)
    answer = hospitals.ask(*PRIVATE)
    assert answer.code == 1
    assert "no machine called 'localhost' is known here" in answer.err


def test_sites_are_drawn_in_place_on_a_terminal() -> None:
    """One line for each site, coloured by its state; parameters in a site's message stay where no command runs."""
    progress = SiteProgress(NAMES)
    assert progress.draw().plain.count("not asked yet") == len(NAMES)
    states = {
        "north": [ProgressState.ASKED_FOR_ANSWER, ProgressState.ACCEPTED],
        "south": [ProgressState.REFUSED],
        "west": [ProgressState.NOT_CONNECTED, ProgressState.ASKED],
    }
    for site, each in states.items():
        for state in each:
            progress(site, state)
    drawn = progress.draw()
    assert [line.split(maxsplit=1)[1] for line in drawn.plain.splitlines()] == ["answered", "refused", "not connected"]
    assert [span.style for span in drawn.spans] == ["green", "red", "red"]
