"""Interests in work, which ends when the last one is withdrawn."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
_KEY = ("votes_sha256", "study", "spec_sha256", "engine")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "interests",
        sa.Column("votes_sha256", sa.String(64), nullable=False),
        sa.Column("study", sa.String(64), nullable=False),
        sa.Column("spec_sha256", sa.String(64), nullable=False),
        sa.Column("engine", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("party", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("elapsed", sa.Double, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint(*_KEY, "party", name="pk_interests"),
        sa.ForeignKeyConstraint(
            list(_KEY),
            [f"jobs.{name}" for name in _KEY],
            name="fk_interests_jobs",
            ondelete="CASCADE",
        ),
    )
