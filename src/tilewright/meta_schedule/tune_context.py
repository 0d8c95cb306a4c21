"""A program to tune, what for, and how."""

from tilewright.tune.context import TuneContext

__all__ = ["TuneContext"]
