"""Results in words: numbers, names and sentences; untrusted text made safe; commands."""
