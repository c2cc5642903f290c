"""Results in words: numbers, sentences, reproducing commands."""
