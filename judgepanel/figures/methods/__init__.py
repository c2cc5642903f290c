"""Figures of the methods page."""
