"""What would break it: transfer, permuted labels, corrupted votes, distorted scores, juries."""
