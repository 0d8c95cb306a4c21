"""The tuner: search for the fastest schedule of a tensor program by measuring."""
