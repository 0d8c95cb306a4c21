"""How the progress of tuning is shown: log files, tables, a live display."""

from tilewright.tune.progress.log import TuningObserver
from tilewright.tune.progress.profiler import Profiler

__all__ = ["Profiler", "TuningObserver"]
