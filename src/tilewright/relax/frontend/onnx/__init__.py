"""Models of ONNX.

The package onnx is imported here and nowhere else: ``pip install tilewright[onnx]``.
"""

from tilewright.relax.frontend.onnx import operators
from tilewright.relax.frontend.onnx.model import from_onnx
