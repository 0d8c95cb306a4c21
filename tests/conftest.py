"""Settings of all tests: IR nodes are immutable at run time, and hypothesis has two profiles."""

import gc
import os
import sys

os.environ.setdefault("TILEWRIGHT_IR_GUARD", "1")
os.environ.setdefault("TILEWRIGHT_CACHE_DIR", "")

import hypothesis

# Tests start hundreds of processes, which import the package in a third of the time where an
# earlier one has left the compiled modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What collecting the tests makes, 800,000 objects, lives as long as they run.
gc.disable()


def pytest_collection_finish() -> None:
    """Collections of garbage leave out what is alive by now, and are as rare as in compiling."""
    from tilewright.garbage import YOUNG

    gc.freeze()
    gc.set_threshold(YOUNG, 20, 100)
    gc.enable()


pytest_plugins = ["tests.budget", "tests.counts"]

# The same draws on every machine: new ones are for `make fuzz` and for the thorough profile.
SAME_DRAWS = "TILEWRIGHT_FUZZ_SECONDS" not in os.environ

hypothesis.settings.register_profile(
    "quick", max_examples=30, deadline=None, derandomize=SAME_DRAWS
)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("TILEWRIGHT_HYPOTHESIS", "quick"))
