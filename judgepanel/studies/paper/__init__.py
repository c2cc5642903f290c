"""Studies of the paper's appendix."""
