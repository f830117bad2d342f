"""Pages show the contest, its promise in both numbers, the board as plot and table, and the final with its moves."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from confide.contest.bundles import Finalists
from confide.contest.final import prepare_final
from confide.contest.server.administration import new_token
from tests.contest.server.page_server import Site, bundle, running, scores_csv, set_state, submit

NASTY = (
    '<img src=x onerror="alert(1)">',
    "</title><script>alert(1)</script>",
    "\"' onmouseover='alert(1)",
    "{{ 7 * 7 }} & friends",
)


class Elements(HTMLParser):
    """Elements of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A contest through its whole life: four participants with nasty names, closed, and its final published."""
    made = bundle()
    with running(tmp_path_factory.mktemp("site") / "home", made) as server:
        organiser = server.member("Olga", "organiser")
        set_state(organiser, "open")
        for seed, name in enumerate(NASTY):
            assert submit(server.member(name), scores_csv(seed)).status_code == 303
        yield server


def test_the_list_leads_to_the_contest(site: Site) -> None:
    page = Elements(site.browser().get("/").text)
    assert {"href": "/contests/heart"} in page.every("a")
    assert 'Deaths <script>alert("x")</script> & "more"' in page.words


def test_the_promise_names_epsilon_and_certainty_and_what_promises_nothing(site: Site) -> None:
    words = " ".join(Elements(site.browser().get("/contests/heart").text).words.split())
    assert "88.1 % the most that anyone can become sure of one label" in words
    assert "epsilon = 2, delta = 0" in words
    for covered in ("every answer", "every log", "break-in"):
        assert covered in words
    assert "a Ladder that shows only improvements" in words
    assert "Rounded scores" in words
    assert "promise nothing about labels" in words


def test_the_board_is_a_table_and_a_plot_with_the_same_entries(site: Site) -> None:
    html = site.browser().get("/contests/heart").text
    page = Elements(html)
    board = site.client.get("/v1/contests/heart/leaderboard").json()["entries"]
    assert len(board) == len(NASTY)
    heads = [attributes for attributes in page.every("th") if attributes.get("scope") == "row"]
    assert len(heads) == len(NASTY)
    for entry in board:
        assert f"{entry['value']:.4f}" in page.words
        assert f"{entry['population']['lower']:.4f} to {entry['population']['upper']:.4f}" in page.words
    plots = page.every("svg")
    assert [plot["role"] for plot in plots] == ["img", "img"]
    assert html.count("<circle") == 2 * (len(NASTY) + 1)  # one in each legend
    identities = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("path", ["/", "/contests/heart", "/contests/heart/mine", "/contests/heart/submit"])
def test_names_and_titles_cannot_break_out(site: Site, path: str) -> None:
    page = Elements(site.member(NASTY[0]).get(path).text)
    assert not page.every("img")
    assert all((attributes.get("src") or "").startswith("/static/") for attributes in page.every("script"))
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on") or name == "style"]
    assert NASTY[0] in page.words


def test_a_reader_s_own_entry_is_marked(site: Site) -> None:
    assert f"{NASTY[3]} (you)" in Elements(site.member(NASTY[3]).get("/contests/heart").text).words
    assert "(you)" not in site.browser().get("/contests/heart").text


def test_the_final_waits_and_then_shows_ranks_and_moves(tmp_path: Path) -> None:
    made = bundle()
    with running(tmp_path / "home", made) as site:
        organiser, reader = site.member("Olga", "organiser"), site.browser()
        set_state(organiser, "open")
        for seed in range(3):
            assert submit(site.member(f"team {seed}"), scores_csv(seed)).status_code == 303
        assert "after the contest closes" in reader.get("/contests/heart/final").text
        set_state(organiser, "closed")
        assert "data holder computes the final" in reader.get("/contests/heart/final").text
        archive = organiser.get("/contests/heart/finalists.zip")
        assert archive.headers["content-type"] == "application/zip"
        finalists = Finalists.from_bytes(archive.content).by_name()
        labels = np.random.default_rng(3).random(made.final_rows.size) < 0.4
        scores = {name: one.scores[made.final_rows] for name, one in finalists.items()}
        result = prepare_final(made.terms, labels, scores, part=None).draw()[0].to_dict()
        token = new_token(site.home, "heart", "Olga", "organiser")
        headers = {"Authorization": f"Bearer {token}"}
        assert site.client.put("/v1/contests/heart/final", json=result, headers=headers).status_code == 200
        page = Elements(site.browser().get("/contests/heart/final").text)
        for entry in result["entries"]:
            assert f"{entry['value']:.4f}" in page.words
        assert len(page.every("svg")) == 4
        assert "Shake-up" in page.words
        assert "intervals of ranks" in page.words
