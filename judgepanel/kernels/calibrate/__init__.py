"""Raw logits to probabilities: calibrators and the residual correction, many columns at once."""
