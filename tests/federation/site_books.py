"""Records of a site: what it logged, and ways around its seals."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from confide.federation.policy import Policy
from confide.federation.question import Question
from confide.federation.site import private_answer
from confide.federation.site.approvals import Approvals
from confide.federation.site.config import SiteFolder
from confide.federation.site.private_answer import Paid
from confide.federation.site.records import REQUESTS, SiteRecords
from confide.federation.site.scored_rows import SiteRows
from confide.federation.site.site import Site


def logged(folder: SiteFolder) -> list[dict[str, Any]]:
    """Return the entries of a site's log of requests."""
    return list(SiteRecords(folder).read(REQUESTS))


def approvals_of(folder: SiteFolder) -> Approvals:
    return Approvals(SiteRecords(folder))


def entries(folder: SiteFolder, chain: str) -> int:
    """Return the number of whole entries of a chain; refuse a changed one."""
    (check,) = (check for check in SiteRecords(folder).check() if check.name == chain)
    assert check.problem is None, check.problem
    return check.entries


def problems(folder: SiteFolder) -> list[str]:
    """Return what is wrong with a site's records."""
    return [check.problem for check in SiteRecords(folder).check() if check.problem is not None]


def execute(folder: SiteFolder, *statements: str) -> None:
    """Change a site's database behind its back."""
    with closing(sqlite3.connect(folder.database)) as database, database:
        for statement in statements:
            database.execute(statement)


def charged_answer(folder: SiteFolder, question: Question, rows: SiteRows, *, keys: str = "") -> Paid:
    """Answer a private question with the policy as it is in the folder now."""
    return private_answer.charged_answer(SiteRecords(folder), Policy.load(folder.policy), question, rows, keys=keys)


def check_payable(folder: SiteFolder, question: Question, rows: SiteRows) -> None:
    private_answer.check_payable(SiteRecords(folder), Policy.load(folder.policy), question, rows)


def check_affordable(folder: SiteFolder, question: Question) -> None:
    private_answer.check_affordable(SiteRecords(folder), Policy.load(folder.policy), question)


def forget(site: Site) -> None:
    """Take a site's records away and begin new ones, as who sets the site up anew in its folder."""
    for file in site.folder.path.glob("site.db*"):
        file.unlink()
    SiteRecords(site.folder).begin()
