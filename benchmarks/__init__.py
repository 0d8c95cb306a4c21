"""Figures of the compiler and of its code: `python -m benchmarks`."""
