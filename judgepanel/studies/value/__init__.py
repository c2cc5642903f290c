"""The value of judges to a panel."""
