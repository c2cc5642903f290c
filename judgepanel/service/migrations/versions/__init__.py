"""One module a revision of the schema, in order; what has been released is not changed."""
