"""Evaluating constant expressions at compile time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tilewright.arith import Analyzer
from tilewright.driver.build_module import build
from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call as TensorCall
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import (
    Binding,
    Call,
    Constant,
    RelaxExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.runtime.ndarray import NDArray, empty
from tilewright.tir.call_boundary.argument_errors import COLD
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import Interpreter
from tilewright.tir.interpreter.independent import independent_iterations
from tilewright.tir.stmt import For, ForKind, While
from tilewright.tir.substitute import substitute

LARGEST_WORK: Final = 1 << 32
"""Maximum number of iterations of a tensor program that runs while the program is compiled."""

_INTERPRETED: Final = 1 << 13
"""With fewer iterations, interpreting takes less time than compiling."""

_COMPILED_QUICKLY: Final = 1 << 20
"""With fewer iterations, optimising the code takes more time than it saves."""

_WORTH_A_SCHEDULE: Final = 1 << 24
"""With more iterations, compiling with a default schedule takes less time than running without."""


def static_shape(info: StructInfo | None) -> tuple[int, ...] | None:
    """The shape of an array with known shape and dtype; None for other values."""
    if not isinstance(info, TensorStructInfo) or info.dtype is None or info.extents is None:
        return None
    extents = [extent.value for extent in info.extents if isinstance(extent, IntImm)]
    return tuple(extents) if len(extents) == len(info.extents) else None


def bytes_of(info: StructInfo | None) -> int | None:
    """The size of an array, or of all arrays of a tuple; None where it is not known."""
    if isinstance(info, TupleStructInfo):
        sizes = [bytes_of(field) for field in info.fields]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    shape = static_shape(info)
    if shape is None:
        return None
    dtype = DType(info.dtype)  # type: ignore[union-attr]
    return math.prod(shape) * -(-dtype.bits // 8)


def work_of(function: Any, arguments: Sequence[StructInfo]) -> int | None:
    """Number of iterations of all innermost loops of a tensor program.

    None where that is not known, as with a loop that ends when a condition holds, and for one that
    does not run alone on this machine: it calls registered functions, or is for another device.

    Args:
        function: the tensor program.
        arguments: struct info of its first arguments, arrays.
    """
    if not isinstance(function, PrimFunc) or not _is_counted_and_runs_anywhere(function):
        return None
    sizes: dict[ScalarVar, Expr] = {}
    for param, info in zip(function.params, arguments, strict=False):
        shape, buffer = static_shape(info), function.buffer_map.get(param)
        if shape is None or buffer is None:
            return None
        for extent, value in zip(buffer.shape, shape, strict=False):
            if isinstance(extent, ScalarVar):
                sizes[extent] = IntImm(extent.dtype, value)
    analyzer = Analyzer()
    endless: list[For] = []

    def iterations(node: Any) -> int:
        inside = sum(map(iterations, node.children()))
        if not isinstance(node, For):
            return inside
        extent = analyzer.const_int_bound(substitute(node.extent, sizes)).max_value
        if math.isinf(extent):
            endless.append(node)
            return 0
        return max(inside, 1) * max(int(extent), 0)

    count = iterations(function.body)
    return None if endless else count


def _is_counted_and_runs_anywhere(function: PrimFunc) -> bool:
    for node in walk(function.body):
        if isinstance(node, While):
            return False
        if isinstance(node, For) and node.kind is ForKind.THREAD_BINDING:
            return False
        if isinstance(node, TensorCall):
            op = node.op
            if not isinstance(op, Op) or op.effect is CallEffectKind.OPAQUE:
                return False
    return True


class Evaluation:
    """Computes bindings whose operands are constants, one after the other.

    Args:
        mod: the module with the tensor programs that are called.
        work: how many iterations each has in all of its calls, by its name.
    """

    def __init__(self, mod: IRModule, work: Mapping[GlobalVar, int]) -> None:
        self._values: dict[Var, Any] = {}
        self._functions: dict[GlobalVar, Any] = {name: mod.functions[name] for name in work}
        self._at_once = {
            name: found
            for name, function in self._functions.items()
            if work[name] <= _WORTH_A_SCHEDULE
            and (found := independent_iterations(function)) is not None
        }
        compiled = {
            name: count
            for name, count in work.items()
            if count >= _INTERPRETED and name not in self._at_once
        }
        self._native = _compiled(self._functions, compiled)
        self._interpreted: dict[GlobalVar, Interpreter] = {}

    def run(self, binding: Binding) -> RelaxExpr | None:
        """The value of the variable of `binding`, a constant or a tuple of them.

        None if it cannot be computed: a tensor program has failed.
        """
        try:
            value = self._values[binding.var] = self._value(binding.value)
        except InterpreterError:
            return None
        return value

    def _value(self, expr: Any) -> Any:
        if isinstance(expr, Var):
            if expr not in self._values:
                raise InterpreterError(f"{expr.name_hint} could not be computed")
            return self._values[expr]
        if isinstance(expr, Tuple):
            return Tuple([self._value(field) for field in expr.fields])
        if isinstance(expr, TupleGetItem):
            return self._value(expr.tuple_value).fields[expr.index]
        if not isinstance(expr, Call):
            return expr
        return self._kernel(expr) if expr.op is CALL_TIR else self._view(expr)

    def _view(self, call: Call) -> Constant:
        elements, shape = self._value(call.args[0]).data.numpy(), static_shape(call.struct_info)
        assert shape is not None
        return Constant(np.reshape(elements, shape))

    def _kernel(self, call: Call) -> RelaxExpr:
        assert call.op is CALL_TIR
        name, operands, *scalars = call.args
        inputs = [field.data for field in self._value(operands).fields]
        info = call.sinfo_args[0]
        infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
        outputs = [_empty(info) for info in infos]
        values = [int(v.value) for shape in scalars for v in shape.values]  # type: ignore[union-attr]
        self._run(name, [*inputs, *outputs], values)  # type: ignore[arg-type]
        results = [Constant(output) for output in outputs]
        return Tuple(results) if isinstance(info, TupleStructInfo) else results[0]

    def _run(self, name: GlobalVar, arrays: list[NDArray], scalars: list[int]) -> None:
        if name in self._at_once:
            self._at_once[name].run(*map(elements_of, arrays))
            return
        if name in self._native:
            self._native[name](*arrays, *scalars)
            return
        interpreter = self._interpreted.get(name)
        if interpreter is None:
            interpreter = self._interpreted[name] = Interpreter(self._functions[name])
        numbers = [array.numpy() for array in arrays]
        interpreter.run(name.name_hint, *numbers, *scalars)
        for array, written in zip(arrays, numbers, strict=True):
            array.copyfrom(written)


def is_computable(value: RelaxExpr) -> bool:
    """Whether `Evaluation` knows what a value is, if it knows the operands."""
    if not isinstance(value, Call):
        return isinstance(value, (Var, Constant, Tuple, TupleGetItem, ShapeExpr))
    entry = operator_of(value)
    if entry is not None and entry.is_view:
        return static_shape(value.struct_info) is not None
    scalars = [v for shape in value.args[2:] for v in getattr(shape, "values", (None,))]
    return value.op is CALL_TIR and all(isinstance(v, IntImm) for v in scalars)


def _empty(info: Any) -> NDArray:
    shape = static_shape(info)
    assert shape is not None
    return empty(shape, str(info.dtype))


def elements_of(array: NDArray) -> np.ndarray:
    """The elements of an array, not a copy of them."""
    return array.__array__(copy=False)


def run_few_times(function: PrimFunc, work: int) -> PrimFunc:
    """A function that runs while the program is compiled, as it should be compiled itself.

    Args:
        function: the tensor program.
        work: how many iterations it has, in all of its calls.
    """
    return function.with_attrs(COLD) if work < _COMPILED_QUICKLY else function


def _compiled(
    functions: Mapping[GlobalVar, Any], work: Mapping[GlobalVar, int]
) -> dict[GlobalVar, Any]:
    """The native code of functions, compiled together."""
    if not work:
        return {}
    scheduled = {name for name, count in work.items() if count > _WORTH_A_SCHEDULE}
    native: dict[GlobalVar, Any] = {}
    for names, with_schedule in ((scheduled, True), (set(work) - scheduled, False)):
        if not names:
            continue
        exported = {
            name: run_few_times(functions[name], count).with_attr("global_symbol", name.name_hint)
            for name, count in work.items()
            if name in names
        }
        with PassContext(config={"tir.default_schedule": with_schedule}):
            module = build(IRModule(exported), target="llvm")
        native |= {name: module[name.name_hint] for name in exported}
    return native
