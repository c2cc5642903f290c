"""Votes to raw logits: closed forms, Dawid-Skene, stacking and joint, for many panels at once."""
