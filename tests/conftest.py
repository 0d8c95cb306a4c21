"""Settings of all tests: IR nodes are immutable at run time, and hypothesis has two profiles."""

import os

os.environ.setdefault("TILEWRIGHT_IR_GUARD", "1")
os.environ.setdefault("TILEWRIGHT_CACHE_DIR", "")

import hypothesis

pytest_plugins = ["tests.budget", "tests.counts"]

hypothesis.settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("TILEWRIGHT_HYPOTHESIS", "quick"))
