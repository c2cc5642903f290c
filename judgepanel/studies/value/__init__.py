"""What judges are worth."""
