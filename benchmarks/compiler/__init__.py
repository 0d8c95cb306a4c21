"""Figures of the compiler itself: `python -m benchmarks compiler`."""
