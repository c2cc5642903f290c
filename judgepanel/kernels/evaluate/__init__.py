"""One split from ballots to scores on held-out items."""
