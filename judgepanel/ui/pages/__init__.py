"""One module a page: what it shows and in which order."""
