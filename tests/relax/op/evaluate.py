"""Graph operators applied to arrays: inferred, legalised, and run in the reference interpreter."""

from __future__ import annotations

import numpy as np

from tilewright import relax
from tilewright.arith import Analyzer
from tilewright.ir.expr import Var
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Constant, ExternFunc, MatchCast, RelaxExpr
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo
from tilewright.runtime.registry import get_global_func
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import substitute


def evaluate(function, *arguments, known="shape"):
    """What a graph operator computes of some arrays.

    Args:
        function: from graph expressions, one for each array, and the other arguments as they are,
            to a call.
        arguments: arrays become parameters.
        known: what is known of the arrays while the graph is made: ``"shape"``, ``"symbolic"``
            for extents that are variables, or ``"rank"``.
    """
    builder, sizes = BlockBuilder(), {}
    values, params = [], {}
    for position, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            info = _info(position, argument, known, sizes)
            params[relax.Var(f"x{position}", info)] = argument
            values.append(list(params)[-1])
        else:
            values.append(argument)
    with builder.function("main", list(params)):
        with builder.dataflow():
            inferred, value = lowered(builder, function(*values))
            result = builder.emit_output(value)
        main = builder.emit_func_output(result)
    module = builder.get()
    evaluation = Evaluation(module, params, sizes)
    found = evaluation.run(module[main])
    check(inferred, found, evaluation.sizes)
    return found


def lowered(builder, expr):
    """What inference says of an expression, and the expression without operators."""
    if not isinstance(expr, Call):
        value = builder.normalize(expr)
        return value.struct_info, value
    args = [builder.normalize_argument(lowered(builder, argument)[1]) for argument in expr.args]
    call = builder.normalize(expr.replace(args=tuple(args)))
    inferred, entry = call.struct_info, operator_of(call)
    while entry is not None and entry.legalize is not None:
        call = builder.normalize(entry.legalize(builder, call))
        entry = operator_of(call)
    return inferred, call


def _info(position, argument, known, sizes):
    dtype = str(argument.dtype)
    if known == "rank":
        return TensorStructInfo(None, dtype, ndim=argument.ndim)
    if known == "shape":
        return TensorStructInfo(argument.shape, dtype)
    names = [Var(f"n{position}_{n}", "int64") for n in range(argument.ndim)]
    sizes.update(zip(names, argument.shape, strict=True))
    return TensorStructInfo(names, dtype)


def check(info, value, sizes):
    """The value must be what inference said."""
    if isinstance(info, TupleStructInfo):
        assert len(info.fields) == len(value)
        for field, part in zip(info.fields, value, strict=True):
            check(field, part, sizes)
        return
    assert isinstance(info, TensorStructInfo), info
    assert info.ndim in (-1, value.ndim)
    assert info.dtype is None or info.dtype == str(value.dtype)
    if info.extents is not None:
        assert tuple(number(extent, sizes) for extent in info.extents) == value.shape


def number(expr, sizes):
    """The value of a scalar expression."""
    values = {size: relax.PrimValue(value).value for size, value in sizes.items()}
    values = {size: value.astype(size.dtype) for size, value in values.items()}
    return Analyzer().simplify(substitute(expr, values)).value


class Evaluation:
    """Runs a function of kernels."""

    def __init__(self, module, params, sizes):
        self.module, self.values, self.sizes = module, dict(params), dict(sizes)

    def run(self, function):
        """The result of a function."""
        for block in function.body.blocks:
            for binding in block.bindings:
                value = self.value(binding.value)
                if isinstance(binding, MatchCast):
                    self.match(binding.struct_info, value)
                self.values[binding.var] = value
        return self.value(function.body.body)

    def match(self, info, value):
        """Check a value, which gives values to new sizes."""
        for extent, found in zip(info.extents, value.shape, strict=True):
            if isinstance(extent, Var) and extent not in self.sizes:
                self.sizes[extent] = found
            elif number(extent, self.sizes) != found:
                raise ValueError(f"match_cast: extent {extent} is {found}")

    def value(self, expr):
        """The value of an expression in normal form."""
        if expr in self.values:
            return self.values[expr]
        if isinstance(expr, Constant):
            return expr.data.numpy()
        if isinstance(expr, relax.Tuple):
            return [self.value(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            return self.value(expr.tuple_value)[expr.index]
        if isinstance(expr, relax.ShapeExpr):
            return [number(extent, self.sizes) for extent in expr.values]
        if isinstance(expr, relax.PrimValue):
            return number(expr.value, self.sizes)
        assert isinstance(expr, Call), expr
        return self.call(expr)

    def call(self, expr):
        """The result of a kernel or of a registered function."""
        if isinstance(expr.op, RelaxExpr):
            assert isinstance(expr.op, ExternFunc)
            arguments = [self.value(argument) for argument in expr.args]
            return get_global_func(expr.op.global_symbol)(*arguments)
        kernel, operands, *sizes = expr.args
        info = expr.sinfo_args[0]
        infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
        outputs = [self.empty(info) for info in infos]
        scalars = [value for shape in sizes for value in self.value(shape)]
        interpret(self.module[kernel], *self.value(operands), *outputs, *scalars)
        return outputs if isinstance(info, TupleStructInfo) else outputs[0]

    def empty(self, info):
        """An array for a result, full of a wrong value."""
        shape = [number(extent, self.sizes) for extent in info.extents]
        return np.full(shape, 77).astype(info.dtype.numpy)
