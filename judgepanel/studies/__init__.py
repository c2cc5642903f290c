"""One module per question: a frozen spec, pure chunks, a merge that yields a frozen result."""
