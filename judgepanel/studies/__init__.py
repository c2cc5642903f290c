"""One module per question: a frozen spec, pure chunks, and a merge that returns a frozen result."""
