"""Judges, methods and the claim: how each of their studies is presented."""
