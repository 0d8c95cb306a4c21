"""How good what the tuner finds is, and how long that takes: `python -m benchmarks tuner`."""
