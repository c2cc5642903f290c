"""Can the probabilities be believed? Reliability, selective prediction, sets, single items."""
