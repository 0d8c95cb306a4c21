"""The reference evaluator: what a graph means, over numpy arrays.

It runs any module, before or after any pass: an operator that has not been legalised is legalised
by its own entry, and tensor programs run in `tilewright.tir.interpreter`, or compiled. Each value
is checked against the struct info of the variable that it is bound to.

`values` says what values are and when one has a struct info, `evaluator` walks through functions,
`operators` has the operators other than tensor programs, which `kernels` runs.
"""

from tilewright.relax.interpreter.evaluator import Evaluator, evaluate
from tilewright.relax.interpreter.kernels import CompiledKernels, InterpretedKernels
from tilewright.relax.interpreter.values import Shape

__all__ = ["CompiledKernels", "Evaluator", "InterpretedKernels", "Shape", "evaluate"]
