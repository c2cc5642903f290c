"""Figures of the Confidence page."""
