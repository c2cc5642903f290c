"""Robustness studies: transfer to other items, and corrupted votes."""
