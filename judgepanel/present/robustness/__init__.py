"""Presentation of robustness: other items, and damaged votes."""
