"""Subsets of judges: scores and searches."""
