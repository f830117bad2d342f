"""The site's log of requests is safe to print, whatever was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confide.federation.protocol import OFFER
from confide.federation.question import PROTOCOL
from confide.federation.site.records import last_requests
from tests.federation.network import Network
from tests.federation.site_books import logged

RUDE = "\x1b[2J\x1b]0;owned\x07 \u202elairt\x9b31m\r\n"


@pytest.mark.parametrize("term", ["study", "model", "mode"])
def test_terms_of_a_question_that_was_not_read_cannot_steer_a_terminal(tmp_path: Path, term: str) -> None:
    network = Network.build(tmp_path, {"north": 60, "south": 70, "west": 80})
    north = network.sites["north"]
    question: dict[str, Any] = {**network.question("private", epsilon=1).to_dict(), term: RUDE}
    north.reply(OFFER, {"protocol": PROTOCOL, "session": "s" * 32, "question": question})
    (request,) = last_requests(north.folder, 5)
    assert request[term].startswith("·[2J·]0;owned· ·lairt")
    assert all(text.isprintable() for text in request.values() if isinstance(text, str))
    (entry,) = logged(north.folder)
    assert entry == request
