"""Benchmarks of Deniable: seconds and memory, measured in one run."""
