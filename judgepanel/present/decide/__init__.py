"""Which judges to keep: the curve, the recommended panel, and what judges are worth and cost."""
