"""First tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "oracle_contests",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("bundle", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.String(length=40), nullable=False),
        sa.Column("chain_length", sa.Integer(), nullable=False),
        sa.Column("chain_end", sa.String(length=64), nullable=False),
        sa.Column("chain_seal", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_oracle_contests")),
    )
    op.create_table(
        "oracle_chain",
        sa.Column("contest", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("seal", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["contest"], ["oracle_contests.name"], name=op.f("fk_oracle_chain_contest")),
        sa.PrimaryKeyConstraint("contest", "sequence", name=op.f("pk_oracle_chain")),
    )
    op.create_table(
        "oracle_finals",
        sa.Column("contest", sa.String(length=40), nullable=False),
        sa.Column("published_at", sa.String(length=40), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["contest"], ["oracle_contests.name"], name=op.f("fk_oracle_finals_contest")),
        sa.PrimaryKeyConstraint("contest", name=op.f("pk_oracle_finals")),
    )
    op.create_table(
        "oracle_members",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("contest", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["contest"], ["oracle_contests.name"], name=op.f("fk_oracle_members_contest")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oracle_members")),
        sa.UniqueConstraint("contest", "name", name=op.f("uq_oracle_members_contest_name")),
    )
    op.create_table(
        "oracle_submissions",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("contest", sa.String(length=40), nullable=False),
        sa.Column("member", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.String(length=40), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("goodness", sa.Double(), nullable=False),
        sa.Column("standard_error", sa.Double(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["contest"], ["oracle_contests.name"], name=op.f("fk_oracle_submissions_contest")),
        sa.ForeignKeyConstraint(["member"], ["oracle_members.id"], name=op.f("fk_oracle_submissions_member")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oracle_submissions")),
        sa.UniqueConstraint("member", "digest", name=op.f("uq_oracle_submissions_member_digest")),
    )
    op.create_index(
        op.f("ix_oracle_submissions_contest_member_goodness"),
        "oracle_submissions",
        ["contest", "member", "goodness"],
        unique=False,
    )
    op.create_index(op.f("ix_oracle_submissions_member_day"), "oracle_submissions", ["member", "day"], unique=False)
    op.create_table(
        "oracle_tokens",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("member", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.String(length=40), nullable=False),
        sa.Column("revoked_at", sa.String(length=40), nullable=True),
        sa.CheckConstraint("role IN ('participant', 'organiser')", name=op.f("ck_oracle_tokens_role")),
        sa.ForeignKeyConstraint(["member"], ["oracle_members.id"], name=op.f("fk_oracle_tokens_member")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oracle_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_oracle_tokens_digest")),
    )
    op.create_index(op.f("ix_oracle_tokens_member"), "oracle_tokens", ["member"], unique=False)
    op.create_table(
        "oracle_finalists",
        sa.Column("member", sa.Integer(), nullable=False),
        sa.Column("submission", sa.String(length=26), nullable=False),
        sa.ForeignKeyConstraint(["member"], ["oracle_members.id"], name=op.f("fk_oracle_finalists_member")),
        sa.ForeignKeyConstraint(["submission"], ["oracle_submissions.id"], name=op.f("fk_oracle_finalists_submission")),
        sa.PrimaryKeyConstraint("member", "submission", name=op.f("pk_oracle_finalists")),
    )
    op.create_table(
        "oracle_keys",
        sa.Column("member", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("submission", sa.String(length=26), nullable=False),
        sa.ForeignKeyConstraint(["member"], ["oracle_members.id"], name=op.f("fk_oracle_keys_member")),
        sa.ForeignKeyConstraint(["submission"], ["oracle_submissions.id"], name=op.f("fk_oracle_keys_submission")),
        sa.PrimaryKeyConstraint("member", "key", name=op.f("pk_oracle_keys")),
    )
    op.create_table(
        "oracle_sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("token", sa.String(length=26), nullable=False),
        sa.Column("expires_at", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["token"], ["oracle_tokens.id"], name=op.f("fk_oracle_sessions_token")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_oracle_sessions")),
    )
    op.create_index(op.f("ix_oracle_sessions_expires_at"), "oracle_sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_oracle_sessions_token"), "oracle_sessions", ["token"], unique=False)
