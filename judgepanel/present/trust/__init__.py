"""Confidence, label budget and scope as blocks."""
