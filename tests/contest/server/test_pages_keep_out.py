"""Pages keep out who may not see them, forms of other sites, and cookies that are no longer good."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import select

from confide.contest.server import administration
from confide.contest.server.administration import new_token
from confide.contest.server.clock import now
from confide.contest.server.database import SCHEMA, Database
from confide.contest.server.home import Home
from confide.contest.server.pages import organisers, participants, public
from confide.contest.server.pages.context import POLICY
from confide.contest.server.records import Records
from confide.contest.server.tokens import COOKIE, HOURS, MOST, find_caller
from tests.contest.server.page_server import Browser, Site, bundle, running, scores_csv, set_state, sign_in, submit
from tests.contest.server.running import Running

ROUTES = [
    route
    for module in (public, participants, organisers)
    for route in module.router.routes
    if isinstance(route, APIRoute)
]
GET = sorted(route.path for route in ROUTES if "GET" in (route.methods or ()))
POST = sorted(route.path for route in ROUTES if "POST" in (route.methods or ()))


def filled(path: str, contest: str = "heart") -> str:
    """Return an address of a route."""
    return path.format(contest=contest, name="style.css", token="0" * 26)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with an open contest and a draft."""
    with running(tmp_path_factory.mktemp("site") / "home", bundle(), bundle("lungs")) as server:
        set_state(server.member("Olga", "organiser"), "open")
        assert submit(server.member("Ada"), scores_csv()).status_code == 303
        yield server


@pytest.fixture(scope="module")
def people(site: Site) -> list[Browser]:
    """Nobody, a participant, an organiser, and the organiser of another contest."""
    return [
        site.browser(),
        site.member("Ada"),
        site.member("Olga", "organiser"),
        site.member("Zoe", "organiser", "lungs"),
    ]


def records(site: Site) -> dict[str, list[tuple[object, ...]]]:
    """Return everything that the database holds."""
    database = Database.at(Home(site.home).database)
    with database.reading() as connection:
        found = {
            table.name: sorted(tuple(row) for row in connection.execute(select(table)))
            for table in SCHEMA.sorted_tables
        }
    database.close()
    return found


def test_there_is_a_page_for_everything() -> None:
    assert set(GET) >= {f"/contests/{{contest}}{page}" for page in ("", "/submit", "/mine", "/final", "/organise")}
    assert "/contests/{contest}/submit" in POST


@pytest.mark.few(3)
@pytest.mark.parametrize("path", GET)
def test_every_page_carries_the_policy(people: list[Browser], path: str) -> None:
    for browser in people:
        kept = "no-cache" if browser is people[0] and path == "/contests/{contest}" else "no-store"
        headers = browser.get(filled(path)).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == ("public, max-age=86400" if path.startswith("/static") else kept)


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    allowed = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert allowed["default-src"] == "'none'"
    assert "unsafe" not in POLICY
    assert {word for words in allowed.values() for word in words.split()} == {"'none'", "'self'", "data:"}


@pytest.mark.parametrize("path", POST)
@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "self", "Sec-Fetch-Site": "cross-site"}],
    ids=["none", "foreign", "null", "cross-site"],
)
def test_a_form_of_another_site_changes_nothing(
    site: Site, people: list[Browser], path: str, headers: dict[str, str]
) -> None:
    browser = people[2]
    sent = headers | ({"Origin": site.address} if headers.get("Origin") == "self" else {})
    before = records(site)
    answer = browser.post(filled(path), headers=sent, data={"state": "paused", "participant": "Eve"})
    assert answer.status_code == 403
    assert "The form came from elsewhere" in answer.text
    assert records(site) == before


def test_reading_changes_nothing(site: Site, people: list[Browser]) -> None:
    before = records(site)
    for path in GET:
        for browser in people:
            browser.get(filled(path))
    assert records(site) == before


EXPECTED = {  # nobody, participant, organiser, member of another contest
    "": (200, 200, 200, 200),
    "/final": (200, 200, 200, 200),
    "/template.csv": (200, 200, 200, 200),
    "/submit": (303, 200, 403, 403),
    "/mine": (303, 200, 403, 403),
    "/organise": (303, 403, 200, 403),
    "/finalists.zip": (303, 403, 409, 403),
}


def test_each_page_is_shown_to_its_readers_only(people: list[Browser]) -> None:
    assert {f"/contests/{{contest}}{page}" for page in EXPECTED} == {path for path in GET if "{contest}" in path}
    for page, statuses in EXPECTED.items():
        assert tuple(one.get(f"/contests/heart{page}").status_code for one in people) == statuses, page


def test_each_form_is_for_its_readers_only(site: Site, people: list[Browser]) -> None:
    outsiders = {
        "/submit": (0, 2, 3),
        "/finalists": (0, 2, 3),
        "/state": (0, 1, 3),
        "/tokens": (0, 1, 3),
        f"/tokens/{'0' * 26}/revoke": (0, 1, 3),
    }
    assert len(outsiders) == sum("{contest}" in path for path in POST)
    before = records(site)
    for page, places in outsiders.items():
        for place in places:
            answer = people[place].post(f"/contests/heart{page}", data={"state": "paused", "participant": "Eve"})
            assert answer.status_code == (303 if place == 0 else 403), (page, place)
            assert place != 0 or answer.headers["location"].startswith("/signin")
    assert records(site) == before


def test_a_draft_is_shown_to_its_members_only(people: list[Browser]) -> None:
    *others, insider = people
    assert insider.get("/contests/lungs").status_code == 200
    assert "/contests/lungs" in insider.get("/").text
    for browser in others:
        answers = [browser.get(filled(path, "lungs")).status_code for path in GET if "{contest}" in path]
        assert set(answers) == {404}
        assert "/contests/lungs" not in browser.get("/").text
        assert browser.get("/contests/lungs").text == browser.get("/contests/nowhere").text


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "style.css%00", "unknown.css", ""])
def test_no_other_file_is_served(site: Site, name: str) -> None:
    assert site.browser().get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/contests/heart/nothing", "/contests/heart/mine/more", "/contests/", "/contests/nowhere"]
)
def test_other_addresses_get_a_page(site: Site, path: str) -> None:
    answer = site.browser().get(path)
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in answer.text


@pytest.mark.parametrize(("host", "warned"), [("oracle.example", True), ("localhost:8765", False)])
def test_signing_in_without_encryption_is_warned_of(site: Site, host: str, warned: bool) -> None:
    page = site.client.get("/signin", headers={"Host": host})
    assert (page.status_code, "not encrypted" in page.text) == (200, warned)


def test_the_cookie_is_out_of_reach(site: Site) -> None:
    browser = site.browser()
    answer = sign_in(browser, new_token(site.home, "heart", "Ada"))
    parts = [part.strip().lower() for part in answer.headers["set-cookie"].split(";")]
    assert parts[0].startswith(f"{COOKIE.lower()}=")
    assert {"httponly", "secure", "samesite=strict", "path=/", f"max-age={HOURS * 3600}"} == set(parts[1:])
    assert browser.session is not None
    assert len(browser.session) == 43  # 256 bits
    for file in site.home.rglob("*"):
        assert not file.is_file() or browser.session.encode() not in file.read_bytes()


def test_a_session_is_no_token(site: Site) -> None:
    browser = site.member("Ada")
    limits = "/v1/contests/heart/limits"
    assert browser.get(limits).status_code == 401
    headers = {"Authorization": f"Bearer {browser.session}"}
    assert site.client.get(limits, headers=headers).status_code == 401


def test_signing_out_ends_the_session_on_the_server(site: Site) -> None:
    browser = site.member("Ada")
    kept = browser.session
    assert browser.post("/signout").status_code == 303
    assert browser.session is None
    thief = Browser(site.client, site.address, kept)
    assert thief.get("/contests/heart/mine").status_code == 303


def test_signing_in_again_ends_the_earlier_session(site: Site) -> None:
    browser = site.member("Ada")
    earlier = browser.session
    sign_in(browser, new_token(site.home, "heart", "Bob"))
    assert browser.session != earlier
    assert Browser(site.client, site.address, earlier).get("/contests/heart/mine").status_code == 303


def test_a_revoked_token_ends_its_sessions(site: Site) -> None:
    organiser, browser = site.member("Olga", "organiser"), site.member("Held open")
    page = organiser.get("/contests/heart/organise").text
    row = next(line for line in page.splitlines() if "Held open" in line and "revoke" in line)
    match = re.search(r'action="([^"]+/revoke)"', row)
    assert match is not None
    assert organiser.post(match[1]).status_code == 303
    assert browser.get("/contests/heart/mine").status_code == 303


@pytest.mark.parametrize("token", ["", "cfd_", "cfd_" + "x" * 43, "' OR 1=1 --", "\x00", "ü"])
def test_an_unknown_token_gives_no_session(site: Site, token: str) -> None:
    browser = site.browser()
    answer = sign_in(browser, token)
    assert answer.status_code == 401
    assert browser.session is None
    assert "Unknown token" in answer.text


@pytest.mark.parametrize("session", ["x" * 43, "", "x", "%C3%BC", "x" * 5_000])
def test_an_unknown_session_is_nobody(site: Site, session: str) -> None:
    assert Browser(site.client, site.address, session).get("/contests/heart/mine").status_code == 303


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/contests/heart/mine", "/contests/heart/mine"),
        ("//evil.example", "/contests/heart/submit"),
        ("https://evil.example", "/contests/heart/submit"),
        ("/contests/heart/../../evil", "/contests/heart/submit"),
        ("/\\evil.example", "/contests/heart/submit"),
        ("", "/contests/heart/submit"),
    ],
)
def test_signing_in_leads_to_our_own_pages_only(site: Site, wanted: str, place: str) -> None:
    answer = sign_in(site.browser(), new_token(site.home, "heart", "Ada"), wanted)
    assert answer.headers["location"] == place


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("tokens", b"participant=accomplice&role=organiser"),
        ("tokens", b"participant=accomplice&until=nonsense"),
        ("state", b"state=closed"),
    ],
)
def test_a_form_held_open_does_not_outlive_its_token(site: Site, form: str, body: bytes) -> None:
    secret = new_token(site.home, "heart", "Olive", "organiser")
    token = administration.tokens(site.home, "heart")[-1].id
    browser = site.browser()
    sign_in(browser, secret)
    head = (
        f"POST /contests/heart/{form} HTTP/1.1\r\nHost: {site.address[7:]}\r\nOrigin: {site.address}\r\n"
        f"Cookie: {COOKIE}={browser.session}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    host, port = site.address[7:].split(":")
    with socket.create_connection((host, int(port))) as held:
        held.sendall(head.encode() + body[:5])
        time.sleep(0.3)  # the session is looked up before the form arrives
        administration.revoke_token(site.home, "heart", token)
        held.sendall(body[5:])
        answer = b"".join(iter(lambda: held.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 401")
    assert "cfd_" not in answer
    assert token not in answer, "nor does it show what organisers see"
    assert "accomplice" not in {one.participant for one in administration.tokens(site.home, "heart")}


def test_sessions_end_after_hours_and_are_few(site: Site) -> None:
    secret = new_token(site.home, "heart", "Tim")
    database = Database.at(Home(site.home).database)
    opened = Records.of(Home(site.home), database)
    sessions, start = opened.sessions, now()
    try:
        with database.reading() as connection:
            caller = find_caller(connection, opened.histories, secret, start)
            assert caller is not None
            secrets = [sessions.start(caller, start + timedelta(seconds=one)) for one in range(MOST + 5)]
            later = start + timedelta(hours=HOURS)

            def lives(one: str, at: datetime) -> bool:
                return sessions.find(connection, opened.histories, one, at) is not None

            assert [lives(one, start) for one in secrets] == [False] * 5 + [True] * MOST
            assert lives(secrets[-1], later)
            assert not lives(secrets[-1], later + timedelta(seconds=MOST + 5))
    finally:
        database.close()


def test_people_sign_in_on_both_databases(oracle: Running) -> None:
    browser = Browser(oracle.client, f"http://127.0.0.1:{oracle.port}")
    token = oracle.token("heart", name="Ada of the pages")
    for _ in range(3):
        assert sign_in(browser, token).headers["location"] == "/contests/heart/submit"
    assert browser.get("/contests/heart/mine").status_code == 200
    kept = browser.session
    assert browser.post("/signout").status_code == 303
    browser.session = kept
    assert browser.get("/contests/heart/mine").status_code == 303
