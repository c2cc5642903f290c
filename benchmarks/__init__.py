"""What the engine costs and whether its intervals hold: each bench prints a table and writes it."""
