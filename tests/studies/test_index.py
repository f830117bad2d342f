"""The pages of all studies are those of the stored summaries, and quick runs do not contradict it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from studies.catalogue import STUDIES, Entry
from studies.claims import Answer
from studies.settings_words import WORDS, settings_words
from studies.summaries import RESULTS_PAGE, Summary, index_page, results_page, stored_summaries

from confide.errors import UsageError
from tests.studies.commands import studies


def test_every_study_has_a_stored_summary() -> None:
    assert [summary.entry.name for summary in stored_summaries()] == [entry.name for entry in STUDIES]
    for summary in stored_summaries():
        assert summary.plain["study"] == summary.entry.name
        assert not summary.plain["quick"] or summary.plain["warnings"]


def test_the_page_shows_every_claim_and_number_once() -> None:
    page = results_page()
    for summary in stored_summaries():
        part = page.split(f"\n## {summary.entry.name}\n")[1].split("\n## ")[0]
        verdicts = summary.verdicts
        assert len(verdicts) == len(summary.plain["claims"])
        assert part.count(f"| **{Answer.FAILS}** |") == summary.counted(Answer.FAILS)
        assert part.count(f"| {Answer.HOLDS} |") == summary.counted(Answer.HOLDS)
        assert part.count(" | **differs** |") == sum(not beside.agrees for beside in summary.comparisons)


def test_the_overview_lists_what_fails_or_differs_with_links_to_its_study() -> None:
    page = index_page()
    lines = [line for line in page.splitlines() if line.startswith("- [`")]
    every = stored_summaries()
    failing = sum(summary.counted(Answer.FAILS) for summary in every)
    differing = sum(not beside.agrees for summary in every for beside in summary.comparisons)
    assert failing > 0
    assert differing > 0
    assert len(lines) == failing + differing
    links = [re.search(rf"\]\({re.escape(RESULTS_PAGE)}#(.*?)\), ", line) for line in lines]
    headings = [line.removeprefix("## ") for line in results_page().splitlines() if line.startswith("## ")]
    assert [link for link in links if link is None or link[1] not in headings] == []


def test_no_count_of_exceptions_has_a_minus_sign() -> None:
    page = results_page()
    assert "788 exceptions among 793 AUCs" in page
    assert "105 class sizes where it is not" in page
    assert re.findall(r"(?:AUCs|where it is not): −", page) == []


def test_settings_are_in_words() -> None:
    """The names of settings in the code tell a reader of the paper nothing."""
    for summary in stored_summaries():
        words = settings_words(summary.entry.name, summary.plain["settings"])
        assert words in " ".join(results_page().split())
        assert set(WORDS[summary.entry.name]) >= set(summary.plain["settings"])
    assert "a decision tree for 106 rows (Example 2)" in results_page()


GUIDE = (Path(__file__).parents[2] / "docs" / "how-to" / "study.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("entry", STUDIES, ids=lambda entry: entry.name)
def test_the_guide_and_the_help_text_state_the_same_times(entry: Entry) -> None:
    (row,) = (line for line in GUIDE.splitlines() if line.startswith(f"| `{entry.name}` |"))
    *_, whole, quick, _ = (cell.strip() for cell in row.split("|"))
    shown = " ".join(studies(entry.name, "--help").out.split())
    assert f"It takes {whole} on two free cores, and {quick} with --quick" in shown


def test_the_guide_names_every_file_with_its_checksum() -> None:
    for summary in stored_summaries():
        for file in summary.plain["files"]:
            (row,) = (line for line in GUIDE.splitlines() if line.startswith(f"| `{file['name']}` |"))
            first, last = re.findall(r"`(\w+)…(\w+)` \|$", row)[0]
            assert file["sha256"].startswith(first)
            assert file["sha256"].endswith(last)


def test_links_lead_to_headings_of_the_corrections() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "corrections.md").read_text(encoding="utf-8")
    headings = {
        line.lstrip("# ").lower().replace("–", "").replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("## ")
    }
    for summary in stored_summaries():
        assert summary.plain["corrections"] in headings


@pytest.fixture(scope="module")
def quick(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All quick runs."""
    folder = tmp_path_factory.mktemp("studies")
    answer = studies(
        *("all", "--quick", "--data", shared_data, "--cache", folder / "cache", "--json", "--report", folder / "pages")
    )
    assert answer.code == 0, answer.err
    assert (folder / "pages" / "index.html").is_file()
    found = json.loads(answer.out)
    assert found["left_out"] == {}
    return {plain["study"]: plain for plain in found["studies"]}


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.parametrize("entry", STUDIES, ids=lambda entry: entry.name)
def test_quick_runs_have_the_pages_claims_and_do_not_contradict_them(entry: Any, quick: dict[str, Any]) -> None:
    stored = Summary.read(entry)
    assert stored is not None
    here = Summary(entry=entry, plain=quick[entry.name])
    assert here.plain["exhibits"] == stored.plain["exhibits"]
    assert list(here.verdicts) == list(stored.verdicts)
    assert [beside.name for beside in here.comparisons] == [beside.name for beside in stored.comparisons]
    clear = {Answer.HOLDS, Answer.FAILS}
    for claim, verdict in stored.verdicts.items():
        if {verdict.answer, here.verdicts[claim].answer} == clear:
            pytest.fail(f"{claim} is contradicted: {verdict.text} on the page, {here.verdicts[claim].text} here")


def test_all_leaves_out_what_has_no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Studies that cannot run are named, and the others are run."""

    def run(entry: Any, asked: Any) -> Any:
        raise UsageError("no data here")

    monkeypatch.setattr("studies.catalogue.Entry.run", run)
    answer = studies("all", "--quick", "--json", "--report", tmp_path / "pages")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert set(found["left_out"]) == {entry.name for entry in STUDIES}
    assert "--data" in found["left_out"]["stoddard"]
    assert "left out: schalk" in (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
