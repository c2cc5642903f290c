"""Studies of single judges and of items."""
