"""One split from ballots to scores on items that nothing was fitted to."""
