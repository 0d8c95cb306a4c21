"""How many trials the tuners of AutoTVM need: `python -m benchmarks tuners`."""
