"""Results as blocks: what page, report and terminal show of every study, made once."""
