"""Walking through graph functions, binding by binding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.error import ArgumentError, InterpreterError, ShapeError
from tilewright.ir.expr import Expr
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.ir.recursion import raised_recursion_limit
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Binding,
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
)
from tilewright.relax.expr import Var as GraphVar
from tilewright.relax.interpreter.kernels import InterpretedKernels, Kernels, Operands
from tilewright.relax.interpreter.operators import EVALUATIONS, registered
from tilewright.relax.interpreter.values import Match, Scalars, Shape, Sizes, as_value
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.sizes import upper_bounds_of
from tilewright.relax.struct_info import StructInfo

RECURSION_LIMIT: Final = 12_000
"""Frames of Python that a run may need; a loop as recursion needs about 12 for each step."""


class Frame:
    """The variables of a function that is running."""

    __slots__ = ("sizes", "values")

    def __init__(self, outer: Frame | None = None) -> None:
        self.values: dict[GraphVar, Any] = dict(outer.values) if outer else {}
        self.sizes: Sizes = dict(outer.sizes) if outer else {}


class Closure:
    """A function as a value, with the variables around it."""

    def __init__(self, evaluator: Evaluator, function: Function, name: str, outer: Frame) -> None:
        self.function, self.name = function, name
        self._evaluator, self._outer = evaluator, outer

    def __call__(self, *args: Any) -> Any:
        return self._evaluator.call_function(self.function, self.name, args, self._outer)


class Evaluator:
    """Runs the functions of a module.

    Args:
        kernels: runs its tensor programs; by default the reference interpreter.
        check: whether each value is checked against the struct info of its variable.

    Attributes:
        kernels: runs its tensor programs.
    """

    def __init__(
        self, module: IRModule, kernels: Kernels | None = None, check: bool = True
    ) -> None:
        self.module = module
        self.kernels = InterpretedKernels(module) if kernels is None else kernels
        self._check = check
        self._scalars = Scalars()
        self._legalized: dict[Any, Legalized] = {}

    def run(self, name: str, *args: Any) -> Any:
        """Call a function with arrays, numbers, tuples and shapes.

        Raises:
            ArgumentError, DTypeError, ShapeError: for arguments that do not fit.
            InterpreterError: if the function needs something that cannot be run.
        """
        function = self.module[name]
        if not isinstance(function, Function):
            raise ArgumentError(f"{name} is not a graph function")
        if len(args) != len(function.params):
            names = ", ".join(param.name_hint for param in function.params)
            raise ArgumentError(
                f"{name}({names}) takes {len(function.params)} arguments, got {len(args)}"
            )
        infos = [param.struct_info for param in function.params]
        try:
            with raised_recursion_limit(RECURSION_LIMIT):
                return self.call_function(function, name, tuple(map(as_value, args, infos)))
        except RecursionError:
            raise InterpreterError(f"the calls that {name} makes nest too deeply") from None

    # --- functions --------------------------------------------------------------------------

    def call_function(
        self, function: Function, name: str, args: tuple[Any, ...], outer: Frame | None = None
    ) -> Any:
        """Call a graph function with values."""
        if len(args) != len(function.params):
            raise ArgumentError(f"{name} takes {len(function.params)} arguments, got {len(args)}")
        frame = Frame(outer)
        match = self.match(frame)
        for param, value in zip(function.params, args, strict=True):
            if param.struct_info is not None:
                match.value(param.struct_info, value, f"{name}: parameter {param.name_hint}")
            frame.values[param] = value
        match.solve()
        for size, bound, message in upper_bounds_of(function.attrs, frame.sizes):
            if frame.sizes[size] > bound:
                raise ShapeError(f"{name}: {message.replace('%lld', '%d') % frame.sizes[size]}")
        result = self.evaluate(function.body, frame)
        if function.ret_struct_info is not None:
            self._require(function.ret_struct_info, result, f"{name}: the return value", frame)
        return result

    def find(self, name: str) -> BaseFunc | None:
        """The function of the module of that name, if it has one."""
        return self.module.functions.get(GlobalVar(name))

    def function_of_module(self, name: GlobalVar) -> Callable[..., Any]:
        """A function of the module as a value."""
        function = self.module[name]
        if isinstance(function, Function):
            return Closure(self, function, name.name_hint, Frame())
        return lambda *args: self.kernels.run(name.name_hint, list(args)) or ()

    def function_by_name(self, name: str) -> Callable[..., Any]:
        """A function of the module, or else a registered one, as a value."""
        if self.find(name) is not None:
            return self.function_of_module(GlobalVar(name))
        return registered(name)

    # --- expressions ------------------------------------------------------------------------

    def evaluate(self, expr: Any, frame: Frame) -> Any:
        """The value of an expression."""
        rule = _RULES.get(expr.__class__)
        if rule is None:
            raise InterpreterError(f"{expr!r} is not an expression of a graph")
        return rule(self, expr, frame)

    def scalar(self, expr: Expr, frame: Frame) -> Any:
        """The number that an expression of sizes is."""
        return self._scalars(expr, frame.sizes)

    def match(self, frame: Frame) -> Match:
        """A check of values against struct info, which defines sizes."""
        return Match(frame.sizes, self._scalars)

    def _require(self, info: StructInfo, value: Any, where: str, frame: Frame) -> None:
        """Require that a value has struct info whose sizes are all known."""
        match = self.match(frame)
        match.value(info, value, where)
        match.solve(defines=False)

    def _variable(self, var: GraphVar, frame: Frame) -> Any:
        if var not in frame.values:
            raise InterpreterError(f"variable {var.name_hint} has no value here")
        return frame.values[var]

    def _branches(self, expr: If, frame: Frame) -> Any:
        condition = np.asarray(self.evaluate(expr.cond, frame))
        if condition.size != 1 or condition.dtype != np.bool_:
            raise ArgumentError(
                f"the condition of an if must be one bool, it is an array of shape "
                f"{condition.shape} and dtype {condition.dtype}"
            )
        branch = expr.true_branch if condition.item() else expr.false_branch
        return self.evaluate(branch, Frame(frame))

    def _sequence(self, expr: SeqExpr, frame: Frame) -> Any:
        for block in expr.blocks:
            for binding in block.bindings:
                self._bind(binding, frame)
        return self.evaluate(expr.body, frame)

    def _bind(self, binding: Binding, frame: Frame) -> None:
        name = binding.var.name_hint
        if isinstance(binding.value, Function):  # which may call itself
            closure = Closure(self, binding.value, name, frame)
            frame.values[binding.var] = closure
            return
        value = self.evaluate(binding.value, frame)
        if isinstance(binding, MatchCast):
            match = self.match(frame)
            match.value(binding.struct_info, value, f"match_cast: {name}")
            match.solve()
        elif self._check and binding.var.struct_info is not None:
            self._require(binding.var.struct_info, value, name, frame)
        frame.values[binding.var] = value

    # --- calls ------------------------------------------------------------------------------

    def _call(self, call: Call, frame: Frame) -> Any:
        callee = call.op
        if isinstance(callee, Op):
            evaluation = EVALUATIONS.get(callee)
            if evaluation is not None:
                return evaluation(self, call, frame)
            return self._operator(call, frame)
        args = [self.evaluate(argument, frame) for argument in call.args]
        result = self.evaluate(callee, frame)(*args)
        return as_value(result, call.struct_info) if isinstance(callee, ExternFunc) else result

    def _operator(self, call: Call, frame: Frame) -> Any:
        """An operator, by the tensor program of its own entry for the values at hand."""
        operands = Operands(self, frame)
        args = [operands.known(argument) for argument in call.args]
        key = (id(call), operands.key())
        legalized = self._legalized.get(key)
        if legalized is None:
            legalized = self._legalized[key] = self._legalize(call, args, operands)
        inner = Frame()
        inner.values.update(zip(legalized.params, operands.values, strict=True))
        return legalized.evaluator.evaluate(legalized.body, inner)

    def _legalize(self, call: Call, args: list[Any], operands: Operands) -> Legalized:
        entry = OPERATORS[call.op]  # type: ignore[index]
        if entry.legalize is None:
            raise InterpreterError(f"{entry.op.name} has no tensor program")
        builder = BlockBuilder()
        with builder.body_of_function(operands.params):
            known = builder.normalize(Call(call.op, args, call.attrs, call.sinfo_args))
            result = entry.legalize(builder, known)
            if result is known:
                raise InterpreterError(f"{entry.op.name} cannot be run for {known!r}")
            result = builder.normalize_argument(result)
            body = SeqExpr(builder.end_scope(), result)
        module = builder.get()
        inner = Evaluator(module, self.kernels.of_module(module), self._check)
        return Legalized(call, inner, body, operands.params)


class Legalized(NamedTuple):
    """An operator as tensor programs for some shapes and scalars.

    Attributes:
        call: the call of the operator, which must outlive this.
        evaluator: runs its tensor programs.
    """

    call: Call
    evaluator: Evaluator
    body: SeqExpr
    params: list[GraphVar]


def _read_only(view: np.ndarray) -> np.ndarray:
    view.flags.writeable = False
    return view


_RULES: Final[dict[type, Callable[[Evaluator, Any, Frame], Any]]] = {
    GraphVar: Evaluator._variable,
    DataflowVar: Evaluator._variable,
    Constant: lambda evaluator, expr, frame: _read_only(expr.data.__array__(copy=False)),
    Tuple: lambda evaluator, expr, frame: tuple(
        evaluator.evaluate(field, frame) for field in expr.fields
    ),
    TupleGetItem: lambda evaluator, expr, frame: evaluator.evaluate(expr.tuple_value, frame)[
        expr.index
    ],
    ShapeExpr: lambda evaluator, expr, frame: Shape(
        evaluator.scalar(extent, frame) for extent in expr.values
    ),
    PrimValue: lambda evaluator, expr, frame: evaluator.scalar(expr.value, frame),
    StringImm: lambda evaluator, expr, frame: str(expr.value),
    DataTypeImm: lambda evaluator, expr, frame: expr.value,
    ExternFunc: lambda evaluator, expr, frame: evaluator.function_by_name(expr.global_symbol),
    GlobalVar: lambda evaluator, expr, frame: evaluator.function_of_module(expr),
    Call: Evaluator._call,
    If: Evaluator._branches,
    SeqExpr: Evaluator._sequence,
    Function: lambda evaluator, expr, frame: Closure(evaluator, expr, "a function", frame),
}


def evaluate(module: IRModule | Function, *args: Any, name: str = "main", **options: Any) -> Any:
    """Run a graph function: the meaning of a graph, slowly.

    Args:
        module: a module, or a function that calls none of its module.
        *args: arrays, numbers, tuples and shapes (as tuples of ints).
        name: of the function.
        **options: those of `Evaluator`.

    Returns:
        The value: an array is a numpy array, a tuple a tuple.
    """
    if isinstance(module, Function):
        module = IRModule({name: module})
    return Evaluator(module, **options).run(name, *args)
