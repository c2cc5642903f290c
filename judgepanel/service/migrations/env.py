"""What Alembic runs: the revisions, on the connection and in the transaction it is given."""

from alembic import context

from judgepanel.service.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
