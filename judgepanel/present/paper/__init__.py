"""How the studies of the paper's appendix are shown."""
