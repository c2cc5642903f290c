"""Votes to raw logits: closed forms, Dawid-Skene, stacking and joint, many panels at once."""
