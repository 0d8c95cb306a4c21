"""Tuning of several tasks."""

from tilewright.tune.tuning import tune_tasks

__all__ = ["tune_tasks"]
