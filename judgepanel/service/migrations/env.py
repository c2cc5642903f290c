"""Alembic's environment: runs the revisions on the given connection, in its transaction."""

from alembic import context

from judgepanel.service.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
