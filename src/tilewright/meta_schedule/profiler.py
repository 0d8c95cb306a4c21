"""Where the time of a tuning run goes."""

from tilewright.tune.progress.profiler import Profiler

__all__ = ["Profiler"]
