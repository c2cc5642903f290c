"""Which judges: curators, and what a panel is worth."""
