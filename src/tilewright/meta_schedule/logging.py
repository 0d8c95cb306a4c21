"""Loggers of tuning runs."""

from __future__ import annotations

import logging

from tilewright.tune.progress.log import TUNER, log_files


def get_logger(name: str) -> logging.Logger:
    """A logger below that of the tuner, so that the log file of a run has its messages."""
    return TUNER.getChild(name)


__all__ = ["get_logger", "log_files"]
