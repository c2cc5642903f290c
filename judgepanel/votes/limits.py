"""What a file of votes may hold and what reading it may cost: every limit, in one place.

They are far above any real file of votes, and docs/limits.md says what to do about each.
"""

from __future__ import annotations

MAX_UPLOAD_MB = 200
"""Size of a file as it is brought, in units of 1024 x 1024 bytes."""
MAX_UNPACKED = 500_000_000
"""Bytes that a compressed file, all members of an archive, or a Parquet file unpack to."""
MAX_MEMBERS = 100_000
"""Files in an archive, archives inside it counted."""
MAX_CELLS = 120_000_000
"""Rows times columns of a table, and items times judges."""
MAX_COLUMNS = 5_000
"""Columns of a table, and keys of JSON Lines."""
MAX_NAME = 1_000
"""Characters in the name of a column."""
MAX_CELL = 1_000_000
"""Characters of one cell: the output of a judge is one."""
MAX_DEPTH = 100
"""Lists and objects inside each other in JSON."""
MAX_VALUES = 3_000_000
"""Values in one JSON document."""

READER_MIB = 1_024
"""Memory of the process that reads an upload."""
READER_CPU_SECONDS = 120
READER_WALL_SECONDS = 300
READERS = 2
"""Files that one server reads at a time, and one of each user."""
