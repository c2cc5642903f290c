"""Presentation of confidence, label budget and scope."""
