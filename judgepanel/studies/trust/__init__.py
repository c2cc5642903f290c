"""Studies of trust: probabilities, labels that are needed, scope."""
