"""Presentation of judges, methods and the claim."""
