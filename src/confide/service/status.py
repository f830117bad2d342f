"""Status of a contest, for its organiser."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, func, select

from confide.service.clock import written
from confide.service.contests import counts
from confide.service.states import NEXT, State
from confide.service.tables import FINALISTS, MEMBERS, SUBMISSIONS, TOKENS


def status_of(connection: Connection, contest: str, at: datetime) -> dict[str, Any]:
    """Count what the members of a contest have sent."""
    found = counts(connection, [contest])[contest]
    ours = MEMBERS.c.contest == contest
    today = case((SUBMISSIONS.c.day == at.date().isoformat(), 1), else_=0)
    sent = {
        row[0]: row
        for row in connection.execute(
            select(SUBMISSIONS.c.member, func.count(), func.max(SUBMISSIONS.c.received_at), func.sum(today))
            .where(SUBMISSIONS.c.contest == contest)
            .group_by(SUBMISSIONS.c.member)
        )
    }
    roles: dict[int, list[str]] = {}
    for member, role in connection.execute(
        select(TOKENS.c.member, TOKENS.c.role)
        .join(MEMBERS, TOKENS.c.member == MEMBERS.c.id)
        .where(ours, TOKENS.c.revoked_at.is_(None), TOKENS.c.expires_at > written(at))
        .distinct()
        .order_by(TOKENS.c.role)
    ):
        roles.setdefault(member, []).append(role)
    chosen = {
        row[0]: int(row[1])
        for row in connection.execute(
            select(FINALISTS.c.member, func.count())
            .join(MEMBERS, FINALISTS.c.member == MEMBERS.c.id)
            .where(ours)
            .group_by(FINALISTS.c.member)
        )
    }
    members = connection.execute(select(MEMBERS.c.id, MEMBERS.c.name).where(ours).order_by(MEMBERS.c.name))
    nothing = (None, 0, None, 0)
    return {
        "name": contest,
        "state": found.state,
        "participants": found.participants,
        "submissions": found.submissions,
        "submissions_today": sum(int(row[3]) for row in sent.values()),
        "members": [
            {
                "name": name,
                "roles": roles.get(member, []),
                "submissions": sent.get(member, nothing)[1],
                "last_at": sent.get(member, nothing)[2],
                "finalists": chosen.get(member, 0),
            }
            for member, name in members
        ],
        "next_states": sorted(NEXT[found.state] - {State.PUBLISHED}),
    }
