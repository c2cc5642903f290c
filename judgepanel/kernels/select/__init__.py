"""Subsets of judges: their scores, and searches among them."""
