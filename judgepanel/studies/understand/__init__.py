"""Studies to understand judges and methods."""
