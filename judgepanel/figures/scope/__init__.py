"""Figures of the scope checks."""
