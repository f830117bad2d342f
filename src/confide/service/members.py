"""Members of a contest: participants and organisers, known by name."""

from __future__ import annotations

from sqlalchemy import insert, select

from confide.errors import ParameterError
from confide.service.chain import Writer
from confide.service.clock import written
from confide.service.tables import MEMBERS

LONGEST_NAME = 80


def checked_name(name: str) -> str:
    """Refuse a name that cannot be shown on a board."""
    if not 1 <= len(name) <= LONGEST_NAME or name != name.strip() or not name.isprintable():
        raise ParameterError(
            f"the name of a participant must have 1 to {LONGEST_NAME} printable characters, with no space at an end"
        )
    return name


def member_named(writer: Writer, name: str) -> int:
    """Return the number of a member, who is added if new."""
    checked_name(name)
    connection, contest = writer.connection, writer.contest
    found = connection.execute(
        select(MEMBERS.c.id).where(MEMBERS.c.contest == contest, MEMBERS.c.name == name)
    ).scalar()
    if found is not None:
        return int(found)
    added = connection.execute(
        insert(MEMBERS).returning(MEMBERS.c.id), {"contest": contest, "name": name, "created_at": written(writer.at)}
    )
    return int(added.scalar_one())
