"""An address is checked before a token goes there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide.contest.client.oracle_client import OracleClient
from confide.contest.client.transport import Address
from confide.errors import ConfideError, ParameterError
from tests.contest.client.small_servers import TOKEN


@pytest.mark.parametrize(
    ("url", "base", "contest"),
    [
        ("https://oracle.example", "https://oracle.example", None),
        ("https://oracle.example/", "https://oracle.example", None),
        ("https://oracle.example/contests/heart", "https://oracle.example", "heart"),
        ("https://oracle.example/v1/contests/heart/", "https://oracle.example", "heart"),
        ("https://oracle.example/contests", "https://oracle.example", None),
        ("https://oracle.example:8443/under/here/contests/a-1", "https://oracle.example:8443/under/here", "a-1"),
        ("http://127.0.0.1:8765/contests/heart", "http://127.0.0.1:8765", "heart"),
        ("http://127.9.9.9:1", "http://127.9.9.9:1", None),
        ("http://localhost:8765", "http://localhost:8765", None),
        ("http://[::1]:8765/contests/heart", "http://[::1]:8765", "heart"),
    ],
)
def test_addresses_of_servers_and_contests(url: str, base: str, contest: str | None) -> None:
    address = Address.parse(url)
    assert (address.base, address.contest) == (base, contest)


@pytest.mark.parametrize(
    "url",
    [
        *("", "oracle.example", "ftp://oracle.example", "https://", "https://user:word@oracle.example"),
        *("https://oracle.example/?a=1", "https://oracle.example/#a", "https://oracle.example:99999"),
        *("https://oracle.example/contests/Heart", "https://oracle.example/contests/a%2Fb", "https://a b/"),
        *("https://oracle.example/a\r\nHost: b/contests/heart", "https://[::1", "file:///etc/passwd"),
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ParameterError):
        Address.parse(url)


@pytest.mark.parametrize(
    "url", ["http://oracle.example", "http://10.0.0.1:8765", "http://127.0.0.1.example", "http://localhost.example"]
)
def test_plain_http_is_for_this_machine_unless_it_is_allowed(url: str) -> None:
    with pytest.raises(ParameterError, match="https://"):
        OracleClient(url, TOKEN)
    assert Address.parse(url, allow_http=True).base == url


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"https://oracle.example/{text}"):
        try:
            address = Address.parse(url)
        except ConfideError:
            continue
        assert address.secure
        assert not set(address.host + address.prefix) & set("\r\n \t@?#")


@pytest.mark.parametrize("token", ["", "cfd_short", "cfd_" + "a" * 43 + "\n", "cfd_" + "a" * 42 + " ", "x" * 47])
def test_a_wrong_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(ParameterError) as refused:
        OracleClient("https://oracle.example", token)
    assert not token or token not in str(refused.value)


def test_the_token_comes_from_the_environment_and_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFIDE_TOKEN", TOKEN)
    client = OracleClient("https://oracle.example/contests/heart")
    assert client._transport.token == TOKEN
    assert TOKEN not in repr(client) + repr(client._transport)
    monkeypatch.setenv("CONFIDE_TOKEN", "")
    assert OracleClient("https://oracle.example")._transport.token is None


def test_two_contests_are_one_too_many() -> None:
    with pytest.raises(ParameterError, match="two contests"):
        OracleClient("https://oracle.example/contests/heart", contest="lung")
    with pytest.raises(ParameterError, match="name the contest"):
        OracleClient("https://oracle.example").leaderboard()
