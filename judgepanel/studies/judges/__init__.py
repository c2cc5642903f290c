"""Studies of the judges page: what each judge and each item is like."""
