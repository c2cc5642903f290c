"""What would break it: other items, permuted labels, damaged votes, distorted scores."""
