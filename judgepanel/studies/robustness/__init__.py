"""Robustness studies: transfer, permuted labels, corrupted votes, distorted scores, juries."""
