"""Presentation of robustness: other items, permuted labels, damaged votes, distorted scores."""
