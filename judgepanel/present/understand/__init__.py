"""Presentation of judges and methods."""
