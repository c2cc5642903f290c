"""Raw logits to probabilities: calibrators and residual correction, for many columns at once."""
