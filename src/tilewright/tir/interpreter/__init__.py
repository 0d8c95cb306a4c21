"""The reference interpreter: what a tensor program means, over numpy arrays.

A function becomes Python source in which every access is checked and every operation rounds or
wraps to its dtype: `emitter` collects the lines, `expression`, `calls` and `statement` write them,
`function` binds the arguments, `program` runs the result. `number`, `intrinsics` and `memory` are
what the source calls.
"""

from tilewright.tir.interpreter.function import ArrayView
from tilewright.tir.interpreter.program import Interpreter, add_function_lookup, interpret

__all__ = ["ArrayView", "Interpreter", "add_function_lookup", "interpret"]
