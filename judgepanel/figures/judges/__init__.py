"""Figures of the judges page."""
