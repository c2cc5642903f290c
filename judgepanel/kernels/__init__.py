"""Batched array code: thousands of small fits at once, no estimator objects, no pandas."""
