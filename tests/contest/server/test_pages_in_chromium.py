"""People go through the whole contest in a real browser, with and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.contest.server.accessibility import faults
from tests.contest.server.chromium import chromium, window
from tests.contest.server.page_server import ROWS, bundle, scores_csv
from tests.contest.server.running import Running, SmallContest, served

pytestmark = pytest.mark.processes

CONTEST = "/contests/heart"


@dataclass(frozen=True)
class Server:
    """A server process, with one contest that is a draft."""

    running: Running

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.running.port}"

    def token(self, name: str, role: str = "participant") -> str:
        return self.running.token("heart", role, name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with served(tmp_path / "server", SmallContest(bundle(), np.zeros(ROWS, dtype=np.bool_))) as running:
        yield Server(running)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def sign_in(page: Page, server: Server, token: str) -> None:
    page.goto(f"{server.address}/signin")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Signed in as")).to_be_visible()


def open_contest(page: Page) -> None:
    page.get_by_role("button", name="Open the contest").click()
    expect(page.get_by_role("status")).to_have_text("The state is changed.")


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def send(page: Page, server: Server, name: str, content: bytes) -> None:
    page.goto(f"{server.address}{CONTEST}/submit")
    file: FilePayload = {"name": name, "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File with scores").set_input_files(files=[file])
    page.get_by_role("button", name="Submit", exact=True).click()


@pytest.mark.few(1)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_contest_from_the_first_token_to_the_end(server: Server, browser: Browser, javascript: bool) -> None:
    with window(browser, javascript=javascript) as (page, watch):
        sign_in(page, server, server.token("Olga", "organiser"))
        expect(page).to_have_url(f"{server.address}{CONTEST}/organise")
        open_contest(page)
        page.get_by_label("Name of the member").fill("Ada <b>Lovelace</b>")
        page.get_by_role("button", name="Make a token").click()
        token = page.locator("code.token").inner_text()
        assert re.fullmatch(r"cfd_[\w-]{43}", token)
        sign_out(page)

        _participate(page, server, token)

        sign_in(page, server, server.token("Olga", "organiser"))
        page.get_by_role("button", name="Pause the contest").click()
        expect(page.locator(".state")).to_have_text("paused")
        page.get_by_role("row", name="Ada <b>").get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("row", name="Ada <b>").get_by_text("revoked")).to_be_visible()
        sign_out(page)
        page.goto(f"{server.address}/signin")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("Unknown token")
        watch.require_quiet(server.address)


def _participate(page: Page, server: Server, token: str) -> None:
    sign_in(page, server, token)
    send(page, server, "scores.csv", scores_csv(1, missing=1))
    expect(page.get_by_role("alert")).to_contain_text("1 id is missing")
    expect(page.get_by_text("4 of 4", exact=True)).to_be_visible()
    for seed in (1, 2, 3):
        send(page, server, "scores.csv", scores_csv(seed))
        expect(page.get_by_role("status").first).to_contain_text("The file was scored. AUC 0.")
    send(page, server, "again.csv", scores_csv(3))
    expect(page.get_by_role("status").first).to_contain_text("do not count again")
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(3)
    for place in range(3):
        boxes.nth(place).set_checked(place < 2)
    page.get_by_role("button", name="Save the finalists").click()
    expect(page.get_by_role("status")).to_have_text("Your finalists are saved.")
    expect(page.get_by_role("checkbox", checked=True)).to_have_count(2)
    page.get_by_role("link", name="Board").click()
    expect(page.get_by_role("rowheader", name="Ada <b>Lovelace</b> (you)")).to_be_visible()
    expect(page.get_by_role("img", name="Dot plot of AUC")).to_be_visible()
    sign_out(page)
    page.goto(f"{server.address}{CONTEST}/mine")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


@pytest.mark.long
def test_the_script_shows_progress_and_keeps_the_page(server: Server, browser: Browser) -> None:
    with window(browser) as (page, watch):
        sign_in(page, server, server.token("Olga", "organiser"))
        open_contest(page)
        sign_out(page)
        sign_in(page, server, server.token("Ada"))
        page.evaluate("window.marked = true")
        file: FilePayload = {"name": "scores.csv", "mimeType": "text/csv", "buffer": b"id,score\np0000,1\n"}
        page.get_by_label("File with scores").set_input_files(files=[file])
        page.get_by_role("button", name="Submit", exact=True).click()
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("missing")
        expect(alert).to_be_focused()
        assert page.evaluate("window.marked")  # the page was not loaded again
        watch.require_quiet(server.address)


@pytest.mark.long
def test_the_watch_sees_what_breaks_the_policy(server: Server, browser: Browser) -> None:
    with window(browser) as (page, watch):
        page.goto(server.address)
        watch.require_quiet(server.address)
        page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = '1'; document.body.append(one); }"
        )
        page.evaluate(
            "() => { const one = new Image(); one.src = 'http://localhost:9/x.png'; document.body.append(one); }"
        )
        for _ in range(600):
            if len(watch.messages) < 2:
                page.wait_for_timeout(100)
        assert len(watch.messages) == 2
        assert all("Content Security Policy" in message for message in watch.messages)


@pytest.mark.long
def test_a_foreign_page_cannot_act_for_a_member(server: Server, browser: Browser) -> None:
    """The cookie stays at home: a form on another site, also one on another port of this machine, has no session."""
    with window(browser) as (page, _):
        sign_in(page, server, server.token("Olga", "organiser"))
        page.route(
            "http://evil.example/**",
            lambda route: route.fulfill(
                content_type="text/html",
                body=f'<form method="post" action="{server.address}{CONTEST}/state">'
                '<input name="state" value="open"><button>win</button></form>',
            ),
        )
        page.goto("http://evil.example/")
        page.get_by_role("button").click()
        expect(page.get_by_role("heading", name="The form came from elsewhere")).to_be_visible()
        page.goto(f"{server.address}{CONTEST}/organise")
        expect(page.locator(".state")).to_have_text("draft")


PAGES = ("/", "/signin", CONTEST, f"{CONTEST}/submit", f"{CONTEST}/mine", f"{CONTEST}/final", f"{CONTEST}/organise")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [390, 1200])
def test_pages_are_accessible(server: Server, browser: Browser, width: int, scheme: str) -> None:
    with window(browser, width=width, scheme=scheme) as (page, watch):
        sign_in(page, server, server.token("Olga", "organiser"))
        open_contest(page)
        found = {"organise": faults(page)}
        page.get_by_label("Name of the member").fill("A name that is as long as a name may be, which is quite long: 80")
        page.get_by_role("button", name="Make a token").click()
        token = page.locator("code.token").inner_text()
        found["token"] = faults(page)
        sign_out(page)
        sign_in(page, server, token)
        send(page, server, "scores.csv", b"id,score\np0000,1\n")
        expect(page.get_by_role("alert")).to_be_visible()
        found["alert"] = faults(page)
        send(page, server, "scores.csv", scores_csv(1))
        expect(page.get_by_role("status").first).to_contain_text("was scored")
        found["scored"] = faults(page)
        for path in PAGES:
            page.goto(server.address + path)
            found[path] = faults(page)
        assert {path: wrong for path, wrong in found.items() if wrong} == {}
        watch.require_quiet(server.address)


@pytest.mark.long
def test_the_checks_see_what_is_wrong(server: Server, browser: Browser) -> None:
    with window(browser, width=390) as (page, _):
        page.goto(server.address)
        assert faults(page) == []
        page.evaluate(
            """() => {
              const main = document.querySelector("main");
              const add = (tag, change) => { const e = document.createElement(tag); change(e); main.append(e); };
              add("input", (e) => { e.type = "text"; e.style.width = "1rem"; });
              add("p", (e) => { e.textContent = "pale"; e.style.color = "#999"; });
              add("h4", (e) => { e.textContent = "too deep"; });
              add("table", (e) => { e.append(document.createElement("th")); });
              add("pre", (e) => { e.textContent = "wide ".repeat(80); e.style.overflow = "visible"; });
              add("a", (e) => { e.href = "#"; e.id = "main"; e.style.outline = "none"; });
            }"""
        )
        wrong = " ".join(faults(page))
        for words in (
            "no name: <input",
            "text with contrast 2.",
            "h4 skips",
            "no caption",
            "pixels wide",
            "occurs twice",
        ):
            assert words in wrong
        assert "unseen focus" in wrong
