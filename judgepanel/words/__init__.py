"""Results in words: numbers, names, sentences, commands, and escaping of untrusted text."""
