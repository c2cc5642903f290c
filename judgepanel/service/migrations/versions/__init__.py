"""Schema revisions, one module each, in order; released revisions do not change."""
