"""The three front doors of the tuner beside each other: `python -m benchmarks doors`."""
