"""Text of a contest as its organiser sees it, and of its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from confide.report.contest.submission_text import counted, moment_text
from confide.report.shared.numbers import DASH, amount
from confide.report.shared.tables import Table
from confide.report.shared.text import print_line, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.client.results import ContestStatus


class Token(Protocol):
    """A token, without its secret."""

    @property
    def id(self) -> str:
        """Return the id, by which it can be revoked."""

    @property
    def participant(self) -> str:
        """Return the name of its holder."""

    @property
    def role(self) -> str:
        """Return what it allows."""

    @property
    def created_at(self) -> str:
        """Return the time at which it was made."""

    @property
    def expires_at(self) -> str | None:
        """Return the time at which it ends; none if the server does not say."""

    @property
    def revoked_at(self) -> str | None:
        """Return the time at which it was revoked, if it was."""


def print_status(found: ContestStatus, console: Console) -> None:
    """Print the state of a contest and its members."""
    for line in status_lines(found):
        print_line(line, console)
    print_table(member_table(found), console)


def status_lines(found: ContestStatus) -> Iterator[str]:
    """Yield the state of a contest and its counts."""
    yield f"{found.name} is {found.state}"
    yield (
        f"{counted(found.participants, 'participant')}, {counted(found.submissions, 'submission')} scored, "
        f"{amount(found.submissions_today)} of them today"
    )
    if found.next_states:
        yield f"it can become {' or '.join(found.next_states)}"


def member_table(found: ContestStatus) -> Table:
    """Return the members of a contest as a table."""
    body = tuple(
        (
            member.name,
            ", ".join(member.roles) or DASH,
            amount(member.submissions),
            DASH if member.last_at is None else moment_text(member.last_at),
            amount(member.finalists),
        )
        for member in found.members
    )
    return Table(
        title="Members",
        head=("name", "token", "submissions", "last", "finalists"),
        body=body,
        text_columns=("token", "last"),
    )


def print_tokens(contest: str, tokens: Sequence[Token], console: Console) -> None:
    """Print the tokens of a contest, without their secrets."""
    body = tuple(
        (
            one.id,
            one.participant,
            str(one.role),
            moment_text(one.created_at),
            _end_text(one),
        )
        for one in tokens
    )
    head = ("id", "participant", "role", "made", "ends")
    print_table(Table(title=f"Tokens of {contest}", head=head, body=body, text_columns=head[1:]), console)


def _end_text(token: Token) -> str:
    """Return when a token ends, or when it was revoked."""
    if token.revoked_at is not None:
        return f"revoked {moment_text(token.revoked_at)}"
    return DASH if token.expires_at is None else moment_text(token.expires_at)
