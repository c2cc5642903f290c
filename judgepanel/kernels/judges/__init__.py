"""Properties of judges: error correlations, abilities and discriminations."""
