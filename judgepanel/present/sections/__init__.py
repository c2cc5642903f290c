"""Studies as blocks, those of one page together."""
