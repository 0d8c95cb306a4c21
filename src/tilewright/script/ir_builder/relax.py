"""Frames of graphs: ``from tilewright.script.ir_builder import relax as R``.

It has everything of `tilewright.script.relax`; what stands for a statement there is a function or
a context manager, from `tilewright.relax.script.frames`.
"""

from __future__ import annotations

from tilewright.relax.script import frames as _frames
from tilewright.relax.script import namespace as _namespace
from tilewright.relax.script.namespace import *  # noqa: F403

globals().update({name: getattr(_frames, name) for name in _frames.__all__})
__getattr__ = _namespace.__getattr__
