"""Choice of judges: curators, panel sizes, and panels under a budget."""
