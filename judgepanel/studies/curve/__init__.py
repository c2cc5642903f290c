"""Studies of the panel curve page: all judges, or the top k."""
