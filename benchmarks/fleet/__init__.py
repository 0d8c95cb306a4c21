"""Tuning on a simulated fleet: `python -m benchmarks fleet`."""
