"""Benchmarks of cost and of guarantees; each prints a report and writes it to `results/`."""
