"""Measure callbacks: what happens after each batch of measurements."""

from tilewright.tune.callback.measure_callback import MeasureCallback

__all__ = ["MeasureCallback"]
