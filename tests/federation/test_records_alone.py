"""A site's ledger is part of its records: nothing that is charged makes the database or its anchor anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from confide.errors import RecordsError
from confide.federation.protocol import RunError
from confide.federation.site import private_answer
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import SiteRecords
from confide.federation.site_state import SiteState
from confide.ledger.ledger import Ledger
from tests.federation.network import Network
from tests.federation.site_books import execute, problems


def test_a_ledger_whose_anchor_is_gone_charges_nothing(tmp_path: Path) -> None:
    records = SiteRecords(SiteFolder(tmp_path))
    records.begin()
    records.ledger.open_account("validation", epsilon=1)
    anchor = tmp_path / "site.db.anchor"
    anchor.unlink()
    with pytest.raises(RecordsError, match=r"site\.db\.anchor is missing"):
        records.ledger.change_caps("validation", epsilon=2)
    assert not anchor.exists()


def test_a_ledger_without_its_database_makes_none(tmp_path: Path) -> None:
    records = SiteRecords(SiteFolder(tmp_path))
    records.begin()
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(RecordsError, match="is not there"):
        records.ledger.open_account("validation", epsilon=1)
    assert not list(tmp_path.iterdir())


def test_an_older_copy_that_is_put_in_just_before_the_charge_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy alone is refused, so whoever puts it in removes the anchor as well, after the site looked at both."""
    network = Network.build(tmp_path, {"east": 60, "north": 70, "south": 80})
    folder = network.sites["east"].folder.path
    network.run(network.question("private", epsilon="1/4"))
    older = (folder / "site.db").read_bytes()
    charge = private_answer.charge

    def charged(ledger: Ledger, *given: object, **named: object) -> private_answer.Paid:
        if str(folder) in ledger.shown:
            (folder / "site.db").write_bytes(older)
            (folder / "site.db.anchor").unlink()
        return charge(ledger, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(private_answer, "charge", charged)
    replies = []

    def watched(topic: str, request: object) -> dict[str, object]:
        replies.append(network.sites["east"].reply(topic, request))  # type: ignore[arg-type]
        return replies[-1]

    with pytest.raises(RunError, match="own files cannot be used"):
        network.run(network.question("private", epsilon="1/4", edition=2), replaced={"east": watched})
    assert [reply["state"] for reply in replies] == [SiteState.ANSWERED, SiteState.FAILED]
    assert not (folder / "site.db.anchor").exists()


def test_what_is_checked_names_what_is_wrong(tmp_path: Path) -> None:
    network = Network.build(tmp_path, {"east": 60, "north": 70})
    folder = network.sites["east"].folder
    network.run(network.question("disclosure-control"))
    assert problems(folder) == []
    content, anchor = folder.database.read_bytes(), folder.path / "site.db.anchor"
    ends = anchor.read_bytes()
    anchor.unlink()
    assert all("site.db.anchor is missing" in problem for problem in problems(folder))
    assert len(problems(folder)) == 3
    anchor.write_bytes(ends)
    execute(folder, "INSERT INTO confide_entries VALUES ('another', 1, NULL, '', '', '')")
    assert all("added to them" in problem for problem in problems(folder))
    assert len(problems(folder)) == 3
    folder.database.write_bytes(content)
    assert problems(folder) == []
