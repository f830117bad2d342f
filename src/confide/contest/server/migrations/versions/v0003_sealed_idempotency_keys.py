"""Idempotency keys are sealed; sessions are in the server's memory."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the table of sessions and the keys so far: nothing tells a changed key, and scores sent twice count once."""
    op.drop_table("oracle_sessions")
    op.execute("DELETE FROM oracle_keys")
    op.add_column("oracle_keys", sa.Column("seal", sa.String(length=64), nullable=False, server_default=""))
