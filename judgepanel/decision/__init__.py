"""Curators, the recommendation and the panel file."""
