"""Tokens have an end; tokens and sessions are sealed; submissions name their token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. `adopt_tokens` fills them in the same transaction; an empty seal or end is refused."""
    for name, length in (("expires_at", 40), ("seal", 64)):
        op.add_column("oracle_tokens", sa.Column(name, sa.String(length=length), nullable=False, server_default=""))
    op.add_column("oracle_sessions", sa.Column("seal", sa.String(length=64), nullable=False, server_default=""))
    op.add_column("oracle_submissions", sa.Column("token", sa.String(length=26), nullable=True))
