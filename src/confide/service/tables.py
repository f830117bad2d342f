"""Tables of a server. Instants are text in UTC, in ISO 8601, so that both databases compare them alike."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

CONTESTS = Table(
    "oracle_contests",
    SCHEMA,
    Column("name", String(40), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("bundle", String(64), nullable=False),  # SHA-256 of server.zip
    Column("created_at", String(40), nullable=False),
    Column("chain_length", Integer, nullable=False),
    Column("chain_end", String(64), nullable=False),  # seal of the last entry
    Column("chain_seal", String(64), nullable=False),  # seal of length and end
)

MEMBERS = Table(
    "oracle_members",
    SCHEMA,
    Column("id", Integer, primary_key=True),
    Column("contest", String(40), ForeignKey("oracle_contests.name"), nullable=False),
    Column("name", String(80), nullable=False),
    Column("created_at", String(40), nullable=False),
    UniqueConstraint("contest", "name"),
)

TOKENS = Table(
    "oracle_tokens",
    SCHEMA,
    Column("id", String(26), primary_key=True),
    Column("member", Integer, ForeignKey("oracle_members.id"), nullable=False, index=True),
    Column("role", String(20), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the token; the token itself is not kept
    Column("created_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
    Column("expires_at", String(40), nullable=False, server_default=""),  # an empty text has ended
    Column("seal", String(64), nullable=False, server_default=""),  # of all other columns and the member
    CheckConstraint("role IN ('participant', 'organiser')", name="role"),
)

SUBMISSIONS = Table(
    "oracle_submissions",
    SCHEMA,
    Column("id", String(26), primary_key=True),
    Column("contest", String(40), ForeignKey("oracle_contests.name"), nullable=False),
    Column("member", Integer, ForeignKey("oracle_members.id"), nullable=False),
    Column("received_at", String(40), nullable=False),
    Column("day", String(10), nullable=False),  # of UTC
    Column("digest", String(64), nullable=False),  # SHA-256 of the aligned scores
    Column("value", Double, nullable=False),
    Column("goodness", Double, nullable=False),
    Column("standard_error", Double, nullable=False),
    Column("detail", Text, nullable=False),  # JSON: intervals
    Column("token", String(26)),  # with which it was sent; none if it is older than this column
    UniqueConstraint("member", "digest"),
    Index(None, "member", "day"),
    Index(None, "contest", "member", "goodness"),
)

KEYS = Table(
    "oracle_keys",
    SCHEMA,
    Column("member", Integer, ForeignKey("oracle_members.id"), primary_key=True),
    Column("key", String(200), primary_key=True),  # the header Idempotency-Key
    Column("submission", String(26), ForeignKey("oracle_submissions.id"), nullable=False),
    Column("seal", String(64), nullable=False, server_default=""),  # of all other columns
)

FINALISTS = Table(
    "oracle_finalists",
    SCHEMA,
    Column("member", Integer, ForeignKey("oracle_members.id"), primary_key=True),
    Column("submission", String(26), ForeignKey("oracle_submissions.id"), primary_key=True),
)

FINALS = Table(
    "oracle_finals",
    SCHEMA,
    Column("contest", String(40), ForeignKey("oracle_contests.name"), primary_key=True),
    Column("published_at", String(40), nullable=False),
    Column("result", Text, nullable=False),  # JSON
    Column("names", Text, nullable=False),  # JSON: participant and submission of each entry
)

CHAIN = Table(
    "oracle_chain",
    SCHEMA,
    Column("contest", String(40), ForeignKey("oracle_contests.name"), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("entry", Text, nullable=False),  # canonical JSON
    Column("seal", String(64), nullable=False),
)
