"""Limits of submissions: only scored ones count, by days of UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, select

from confide.contest.terms import ContestTerms
from confide.errors import HomeError
from confide.service.chain import History
from confide.service.clock import next_day, written
from confide.service.problems import Kind, Refused
from confide.service.tables import SUBMISSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Submissions that a participant has left."""

    daily_limit: int
    daily_left: int
    total_limit: int
    total_left: int
    resets_at: str


def limits_of(connection: Connection, terms: ContestTerms, member: int, at: datetime) -> Limits:
    """Count what a participant has left."""
    today = case((SUBMISSIONS.c.day == at.date().isoformat(), 1), else_=0)
    used, in_all = connection.execute(
        select(func.coalesce(func.sum(today), 0), func.count()).where(SUBMISSIONS.c.member == member)
    ).one()
    total_left = max(0, terms.total_limit - in_all)
    return Limits(
        daily_limit=terms.daily_limit,
        daily_left=max(0, min(terms.daily_limit - used, total_left)),
        total_limit=terms.total_limit,
        total_left=total_left,
        resets_at=written(next_day(at)),
    )


def require_counted(connection: Connection, history: History | None, member: int, participant: str) -> None:
    """Refuse to count by rows that are fewer or more than the sealed submissions of a participant."""
    rows = connection.execute(select(func.count()).where(SUBMISSIONS.c.member == member)).scalar_one()
    if history is None or rows != history.sent[participant]:
        raise HomeError(
            "submissions of a participant were added or removed; check the records with `confide serve --verify`"
        )


def require_left(limits: Limits, at: datetime) -> None:
    """Refuse a submission if none is left. The caller holds the lock of the contest's row."""
    seconds = int((next_day(at) - at).total_seconds()) + 1
    if limits.total_left == 0:
        raise Refused(
            Kind.LIMIT,
            f"all {limits.total_limit} submissions of this contest are used",
            "choose your finalists among what you sent",
            retry_after=seconds,
        )
    if limits.daily_left == 0:
        raise Refused(
            Kind.LIMIT,
            f"all {limits.daily_limit} submissions of today (UTC) are used",
            f"send the file again after {limits.resets_at}",
            retry_after=seconds,
        )
