"""One module per page: what it shows, and in which order."""
