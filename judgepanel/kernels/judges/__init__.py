"""Judges themselves: whose errors go together, abilities and discriminations."""
