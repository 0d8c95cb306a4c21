"""How the works of `benchmarks.suite` are measured, and what is made of the measurements."""
