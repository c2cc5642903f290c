"""Files of strangers: read, checked and packed in a process of its own, with limits."""
