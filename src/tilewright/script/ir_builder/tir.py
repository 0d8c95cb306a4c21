"""Frames of tensor programs: ``from tilewright.script.ir_builder import tir as T``.

It has everything of `tilewright.script.tir`, with `prim_func` as a context manager.
"""

from __future__ import annotations

from tilewright.script import tir as _scripts
from tilewright.script.ir_builder import base as _base
from tilewright.script.tir import *  # noqa: F403

prim_func = _base.prim_func
__getattr__ = _scripts.__getattr__
