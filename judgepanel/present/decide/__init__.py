"""Presentation of decisions: the curve, the recommended panel, and value and cost of judges."""
