"""A file sent by the form is scored once, or refused with the next step and at no cost; finalists can be chosen."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from tests.contest.server.page_server import ROWS, Browser, Site, bundle, running, scores_csv, set_state, submit


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(tmp_path_factory.mktemp("site") / "home", largest_body=40_000) as server:
        set_state(server.member("Olga", "organiser"), "open")
        yield server


def left(browser: Browser) -> str:
    found = re.search(r"<strong>(\d+) of 4</strong> submissions left today", browser.get("/contests/heart/submit").text)
    assert found is not None
    return found[1]


def identities(browser: Browser) -> list[str]:
    return re.findall(r'name="submission" value="(\w{26})"', browser.get("/contests/heart/mine").text)


def test_a_good_file_is_scored_and_the_same_again_is_the_same(site: Site) -> None:
    browser = site.member("Ada")
    first = submit(browser, scores_csv(1))
    assert first.status_code == 303
    page = browser.get(first.headers["location"]).text
    assert "The file was scored. AUC 0." in page
    again = submit(browser, scores_csv(1), "other name.CSV")
    assert "do not count again" in browser.get(again.headers["location"]).text
    assert len(identities(browser)) == 1
    assert left(browser) == "3"


def test_the_page_and_the_interface_score_alike(site: Site) -> None:
    browser = site.member("Cleo")
    submit(browser, scores_csv(8))
    frame = pd.read_csv(io.BytesIO(scores_csv(8)))
    written = io.BytesIO()
    frame.to_parquet(written)
    assert "again=1" in submit(browser, written.getvalue(), "scores.parquet").headers["location"]


BAD = {
    "missing": ("scores.csv", scores_csv(2, missing=2), 422, "2 ids are missing: 'p0398', 'p0399'"),
    "text": ("scores.csv", scores_csv(2).replace(b"p0007,0.", b"p0007,zero."), 422, "score"),
    "columns": ("scores.csv", b"identity,risk\np0000,0.5\n", 422, "id"),
    "parquet": ("scores.parquet", b"PAR1 this is none PAR1", 422, "Parquet"),
    "name": ("scores.xlsx", scores_csv(2), 415, "ends in .csv or .parquet"),
    "empty": ("scores.csv", b"", 422, "empty"),
    "large": ("scores.csv", scores_csv(2) + b"#" * 60_000, 413, "bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_free_and_the_page_says_what_to_do(site: Site, case: str) -> None:
    name, content, status, words = BAD[case]
    browser = site.member(f"bad {case}")
    answer = submit(browser, content, name)
    assert answer.status_code == status
    page = unescape(answer.text)
    assert 'role="alert"' in page
    assert words.lower() in page.lower()
    assert "Next step:" in page
    assert left(browser) == "4"
    assert list((site.home / "tmp").iterdir()) == []


def test_a_form_without_a_file_is_refused(site: Site) -> None:
    browser = site.member("Dora")
    for sent in ({"data": {"file": "x"}}, {"files": {"other": ("a.csv", b"x")}}, {"content": b"nothing"}):
        answer = browser.post("/contests/heart/submit", **sent)
        assert answer.status_code == 400
        assert "Next step:" in answer.text
    assert left(browser) == "4"


def test_the_daily_limit_is_told(site: Site) -> None:
    browser = site.member("Eager")
    for seed in range(20, 24):
        assert submit(browser, scores_csv(seed)).status_code == 303
    answer = submit(browser, scores_csv(24))
    assert answer.status_code == 429
    assert "submissions of today (UTC) are used" in answer.text
    assert left(browser) == "0"


def test_finalists_are_chosen_and_kept_within_limits(site: Site) -> None:
    browser, other = site.member("Fay"), site.member("Gus")
    for seed in range(30, 33):
        submit(browser, scores_csv(seed))
    submit(other, scores_csv(40))
    own, foreign = identities(browser), identities(other)
    assert len(own) == 3
    assert browser.get("/contests/heart/mine").text.count(" checked>") == 1  # the best stands
    choose = "/contests/heart/finalists"
    assert browser.post(choose, data={"submission": own[1:]}).status_code == 303
    page = browser.get("/contests/heart/mine?saved=1").text
    assert "Your finalists are saved." in page
    assert re.findall(r'value="(\w{26})"[^>]* checked>', page) == own[1:]
    too_many = browser.post(choose, data={"submission": own})
    assert too_many.status_code == 422
    assert "at most 2 finalists" in too_many.text
    assert browser.post(choose, data={"submission": foreign}).status_code == 404
    assert browser.get("/contests/heart/mine").text.count(" checked>") == 2
    assert browser.post(choose, data={}).status_code == 303
    assert browser.get("/contests/heart/mine").text.count(" checked>") == 1


def test_the_template_holds_every_id(site: Site) -> None:
    frame = pd.read_csv(io.BytesIO(site.browser().get("/contests/heart/template.csv").content))
    assert list(frame.columns) == ["id", "score"]
    assert len(frame) == ROWS
    assert frame["score"].isna().all()


def test_the_state_is_told_where_files_are_not_taken(tmp_path: Path) -> None:
    with running(tmp_path / "home", bundle(metric="brier")) as site:
        organiser, browser = site.member("Olga", "organiser"), site.member("Ada")
        assert "not open yet" in browser.get("/contests/heart/submit").text
        set_state(organiser, "open")
        assert submit(browser, scores_csv()).status_code == 303
        assert "Calibration of the latest submission" in browser.get("/contests/heart/mine").text
        set_state(organiser, "paused")
        answer = submit(browser, scores_csv(1))
        assert answer.status_code == 409
        assert "is paused" in answer.text
        hasty = organiser.post("/contests/heart/state", data={"state": "closed"})
        assert (hasty.status_code, "tick the box" in hasty.text.lower()) == (422, True)
        set_state(organiser, "open", "closed")
        assert "takes no more submissions" in browser.get("/contests/heart/submit").text
        assert browser.post("/contests/heart/finalists", data={}).status_code == 409
        assert organiser.post("/contests/heart/state", data={"state": "open"}).status_code == 409
        assert organiser.post("/contests/heart/state", data={"state": "published"}).status_code == 422


def test_a_new_token_is_shown_once(site: Site) -> None:
    organiser = site.member("Olga", "organiser")
    answer = organiser.post("/contests/heart/tokens", data={"participant": "Hal", "role": "participant"})
    found = re.findall(r"cfd_[\w-]{43}", answer.text)
    assert len(found) == 1
    assert answer.headers["cache-control"] == "no-store"
    page = organiser.get("/contests/heart/organise").text
    assert "Hal" in page
    assert found[0] not in page
    browser = site.browser()
    assert browser.post("/signin", data={"token": found[0]}).headers["location"] == "/contests/heart/submit"
    refused = organiser.post("/contests/heart/tokens", data={"participant": " \u202e", "role": "participant"})
    assert refused.status_code == 422
    assert "printable" in refused.text
