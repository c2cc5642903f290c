"""Votes, analyses and results, formerly in a folder of files."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the three tables."""
    op.create_table(
        "votes",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_votes"),
    )
    op.create_table(
        "analyses",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("votes_sha256", sa.String(64), nullable=False),
        sa.Column("draw", sa.String(64), nullable=False),
        sa.Column("created", sa.String(40), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_analyses"),
        sa.ForeignKeyConstraint(["votes_sha256"], ["votes.sha256"], name="fk_analyses_votes"),
    )
    op.create_index("ix_analyses_owner", "analyses", ["owner", "created"])
    op.create_index("ix_analyses_votes_sha256", "analyses", ["votes_sha256"])
    op.create_table(
        "results",
        sa.Column("votes_sha256", sa.String(64), nullable=False),
        sa.Column("study", sa.String(64), nullable=False),
        sa.Column("spec_sha256", sa.String(64), nullable=False),
        sa.Column("engine", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("draw", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint(
            "votes_sha256", "study", "spec_sha256", "engine", name="pk_results"
        ),
        sa.ForeignKeyConstraint(
            ["votes_sha256"], ["votes.sha256"], name="fk_results_votes", ondelete="CASCADE"
        ),
    )
