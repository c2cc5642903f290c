"""Batched array code: thousands of small fits at once, without estimator objects or pandas."""
