"""Jobs with their finished chunks, shares and decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _work() -> tuple[sa.Column[str], sa.Column[str], sa.Column[str], sa.Column[int]]:
    return (
        sa.Column("votes_sha256", sa.String(64), nullable=False),
        sa.Column("study", sa.String(64), nullable=False),
        sa.Column("spec_sha256", sa.String(64), nullable=False),
        sa.Column("engine", sa.Integer, nullable=False, autoincrement=False),
    )


_KEY = ("votes_sha256", "study", "spec_sha256", "engine")


def upgrade() -> None:
    """Create the four tables."""
    op.create_table(
        "jobs",
        *_work(),
        sa.Column("draw", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("lease_owner", sa.String(64), nullable=False),
        sa.Column("lease_end", sa.Double, nullable=False),
        sa.Column("cancel", sa.Boolean, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("elapsed", sa.Double, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("changed", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint(*_KEY, name="pk_jobs"),
        sa.ForeignKeyConstraint(
            ["votes_sha256"], ["votes.sha256"], name="fk_jobs_votes", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "partials",
        *_work(),
        sa.Column("chunk", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint(*_KEY, "chunk", name="pk_partials"),
        sa.ForeignKeyConstraint(
            list(_KEY),
            [f"jobs.{name}" for name in _KEY],
            name="fk_partials_jobs",
            ondelete="CASCADE",
        ),
    )
    _shares_and_decisions()


def _shares_and_decisions() -> None:
    op.create_table(
        "shares",
        sa.Column("token_sha256", sa.String(64), nullable=False),
        sa.Column("analysis_id", sa.String(64), nullable=False),
        sa.Column("signed_in_only", sa.Boolean, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("expires", sa.Double),
        sa.Column("revoked", sa.Double),
        sa.PrimaryKeyConstraint("token_sha256", name="pk_shares"),
        sa.ForeignKeyConstraint(
            ["analysis_id"], ["analyses.id"], name="fk_shares_analyses", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_shares_analysis_id", "shares", ["analysis_id"])
    op.create_table(
        "decisions",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("analysis_id", sa.String(64), nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("made", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
        sa.ForeignKeyConstraint(
            ["analysis_id"], ["analyses.id"], name="fk_decisions_analyses", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_decisions_analysis_id", "decisions", ["analysis_id"])
