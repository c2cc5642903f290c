"""Limits on what a votes file may contain and what reading it may cost.

They are far above any real votes file; docs/limits.md says what to do about each.
"""

from __future__ import annotations

MAX_UPLOAD_MB = 200
"""Size of an uploaded file, in MiB (1024 x 1024 bytes)."""
MAX_UNPACKED = 500_000_000
"""Bytes that a compressed file, all members of an archive together, or a Parquet file unpack to."""
MAX_MEMBERS = 100_000
"""Files in an archive, including nested archives."""
MAX_CELLS = 120_000_000
"""Rows times columns of a table, and items times judges of a vote matrix."""
MAX_COLUMNS = 5_000
"""Columns of a table, and keys of JSON Lines."""
MAX_NAME = 1_000
"""Characters in the name of a column or a judge, in an id, a group and a feature of an item."""
MAX_JUDGES = 5_000
"""Judges of a vote matrix."""
MAX_TEXT = 200_000_000
"""Characters of the ids, the groups or a feature of all items together."""
MAX_CELL = 1_000_000
"""Characters in a cell; the output of a judge is a cell."""
MAX_DEPTH = 100
"""Nesting depth of lists and objects in JSON."""
MAX_VALUES = 3_000_000
"""Values in one JSON document."""

READER_MIB = 1_024
"""Memory of the process that reads an upload, in MiB."""
READER_CPU_SECONDS = 120
READER_WALL_SECONDS = 300
READERS = 2
"""Files that a server reads at the same time; at most one per user."""
