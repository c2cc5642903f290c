"""Candidates for a panel, how they compete on some rows, and the average of them."""
