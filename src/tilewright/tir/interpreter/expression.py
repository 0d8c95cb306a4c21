"""Scalar and vector expressions to Python expressions.

A scalar is a Python int, float or bool, a vector is a list of them, a handle is a `Pointer`. Every
operation rounds or wraps to its dtype, unless the operands are known to be too small to wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    CompareExpr,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
)
from tilewright.ir.rewrite import NodeMethods
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.index_limits import INTERVAL_OPERATIONS
from tilewright.tir.interpreter import number
from tilewright.tir.interpreter.calls import CallCompiler
from tilewright.tir.interpreter.emitter import Code, Emitter

MAX_DEPTH: Final = 40
"""Python allows 200 nested parentheses; a deeper operand becomes a function of its own."""

_INFIX: Final = frozenset({Add, Sub, Mul, FloorDiv, FloorMod})
_FLOAT_FUNCTIONS: Final[dict[type[Expr], Callable[[float, float], float]]] = {
    Div: number.float_divide,
    Mod: number.float_mod,
    Min: number.float_min,
    Max: number.float_max,
}
_FLOORED: Final[dict[type[Expr], Callable[..., Any]]] = {
    FloorDiv: np.floor_divide, FloorMod: np.remainder
}  # fmt: skip
_INT_FUNCTIONS: Final[dict[type[Expr], Callable[[int, int], int]]] = {
    Div: number.trunc_div,
    Mod: number.trunc_mod,
    Min: min,
    Max: max,
}


class ExpressionCompiler(NodeMethods):
    """Compiles expressions in the scope of an emitter."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.calls = CallCompiler(self)
        self._rounders: dict[tuple[str, DType], Any] = {}

    def text(self, expr: Expr) -> str:
        """The Python text of an expression."""
        return self.code(expr).text

    def code(self, expr: Expr) -> Code:
        """The Python code of an expression."""
        method = self._hooks.get(expr.__class__)
        if method is None:
            raise InterpreterError(
                f"{type(expr).__name__} cannot be executed in\n{self.emitter.place_text()}"
            )
        code = method(self, expr)
        return self._hoisted(code) if code.depth > MAX_DEPTH else code

    def lanes(self, expr: Expr) -> str:
        """The text of `expr` as a list of lanes, also of a scalar."""
        text = self.text(expr)
        return text if expr.dtype.is_vector else f"[{text}]"

    def _hoisted(self, code: Code) -> Code:
        name = self.emitter.fresh("operand")
        self.emitter.line(f"def {name}(): return {code.text}")
        return Code(f"{name}()", code.low, code.high)

    def function(self, value: Any, name: str) -> str:
        """The name of a Python function or other constant."""
        return self.emitter.constant(value, name)

    def rounder(self, dtype: DType) -> str:
        """The name of the function that brings a result into a scalar type."""
        kind = "round" if dtype.is_float else "wrap"
        key = kind, dtype
        if key not in self._rounders:
            make = number.rounding if dtype.is_float else number.wrapping
            self._rounders[key] = make(dtype)
        return self.function(self._rounders[key], f"{kind}_{dtype}")

    def rounded(self, text: str, dtype: DType) -> str:
        """The text of a float64 that is brought into a scalar float type."""
        if dtype.bits == 32:  # what most programs do most often, without a call
            return f"{self.function(number.C_FLOAT, 'float32')}({text}).value"
        return text if dtype.bits == 64 else f"{self.rounder(dtype)}({text})"

    # --- leaves -----------------------------------------------------------------------------

    def Var(self, var: Var) -> Code:
        return self.emitter.variable(var)

    SizeVar = Var

    def IntImm(self, expr: IntImm) -> Code:
        if expr.dtype.is_bool:
            return Code(str(bool(expr.value)))
        return Code(f"({expr.value})", expr.value, expr.value)

    def FloatImm(self, expr: FloatImm) -> Code:
        if expr.value != expr.value or expr.value in (float("inf"), float("-inf")):
            return Code(f"float('{expr.value}')")
        return Code(f"({expr.value!r})")

    def StringImm(self, expr: StringImm) -> Code:
        return Code(repr(expr.value))

    # --- operators --------------------------------------------------------------------------

    def _lane_wise(self, template: str, *operands: Expr) -> Code:
        """`template` (over ``{0}``, ``{1}``, ...) applied to scalars, or lane by lane."""
        codes = [self.code(operand) for operand in operands]
        depth = max(code.depth for code in codes) + 2
        if not any(operand.dtype.is_vector for operand in operands):
            return Code(template.format(*(code.text for code in codes)), depth=depth)
        lanes = next(o.dtype.lanes for o in operands if o.dtype.is_vector)
        names = [f"x{i}" for i in range(len(operands))]
        lists = [
            code.text if operand.dtype.is_vector else f"[{code.text}] * {lanes}"
            for code, operand in zip(codes, operands, strict=True)
        ]
        body = template.format(*names)
        return Code(f"list(map(lambda {', '.join(names)}: {body}, {', '.join(lists)}))", None, None,
                    depth + 2)  # fmt: skip

    def _binary(self, expr: BinaryExpr) -> Code:
        dtype, kind = expr.dtype.element, type(expr)
        if dtype.is_float:
            return self._lane_wise(self._float_template(kind, dtype), expr.a, expr.b)
        if expr.dtype.is_vector:
            return self._lane_wise(self._int_template(kind, dtype), expr.a, expr.b)
        a, b = self.code(expr.a), self.code(expr.b)
        low, high = _bounds(kind, a, b)
        template = self._int_template(kind, dtype)
        if low is not None and dtype.min_int <= low and high <= dtype.max_int:  # type: ignore[operator]
            if kind in _INFIX:
                template = f"({{0}} {kind.symbol} {{1}})"
        else:
            low = high = None
        return Code(template.format(a.text, b.text), low, high, max(a.depth, b.depth) + 2)

    Add = Sub = Mul = Div = Mod = FloorDiv = FloorMod = Min = Max = _binary

    def _float_template(self, kind: type[BinaryExpr], dtype: DType) -> str:
        if kind in _FLOORED:
            floored = number.float_floored(_FLOORED[kind], dtype)
            body = f"{self.function(floored, f'{kind.__name__}_{dtype}')}({{0}}, {{1}})"
        elif kind in _FLOAT_FUNCTIONS:
            function = self.function(_FLOAT_FUNCTIONS[kind], kind.__name__)
            body = f"{function}({{0}}, {{1}})"
        else:
            body = f"({{0}} {kind.symbol} {{1}})"
        return body if kind in (Min, Max) else self.rounded(body, dtype)

    def _int_template(self, kind: type[BinaryExpr], dtype: DType) -> str:
        if kind in _INT_FUNCTIONS:
            function = self.function(_INT_FUNCTIONS[kind], kind.__name__)
            body = f"{function}({{0}}, {{1}})"
        else:
            body = f"({{0}} {kind.symbol} {{1}})"
        return body if kind in (Min, Max) else f"{self.rounder(dtype)}({body})"

    def _compare(self, expr: CompareExpr) -> Code:
        return self._lane_wise(f"({{0}} {expr.symbol} {{1}})", expr.a, expr.b)

    EQ = NE = LT = LE = GT = GE = _compare

    def And(self, expr: And) -> Code:
        return self._lane_wise("({0} and {1})", expr.a, expr.b)

    def Or(self, expr: Or) -> Code:
        return self._lane_wise("({0} or {1})", expr.a, expr.b)

    def Not(self, expr: Not) -> Code:
        return self._lane_wise("(not {0})", expr.a)

    def Select(self, expr: Select) -> Code:
        # An argument list, unlike `a if c else b`, evaluates both sides.
        choose = self.function(_choose, "select")
        if expr.condition.dtype.is_vector:
            return self._lane_wise(
                f"{choose}({{0}}, {{1}}, {{2}})", expr.condition, expr.true_value, expr.false_value
            )
        parts = [self.code(e) for e in (expr.condition, expr.true_value, expr.false_value)]
        text = f"{choose}({', '.join(part.text for part in parts)})"
        return Code(text, depth=max(part.depth for part in parts) + 1)

    def Cast(self, expr: Cast) -> Code:
        source, target = expr.value.dtype.element, expr.dtype.element
        if source.is_handle or target.is_handle:
            raise InterpreterError(
                f"a handle cannot be converted to a number in\n{self.emitter.place_text()}"
            )
        if source.is_integral and target.is_integral and not expr.dtype.is_vector:
            code = self.code(expr.value)
            low, high = code.low, code.high
            if target.is_bool or low is None or high is None:
                fits = False
            else:
                fits = target.min_int <= low and high <= target.max_int
            if fits:
                return code
        key = f"to_{source}", target
        if key not in self._rounders:
            self._rounders[key] = number.conversion(source, target)
        convert = self.function(self._rounders[key], f"{source}_to_{target}")
        return self._lane_wise(f"{convert}({{0}})", expr.value)

    def Let(self, expr: Let) -> Code:
        # A cell, because parts of the body may become functions of their own.
        cell = self.function([None], expr.var.name)
        value = self.code(expr.value)
        self.emitter.variables[expr.var] = Code(f"{cell}[0]", value.low, value.high)
        body = self.code(expr.body)
        text = f"({cell}.__setitem__(0, {value.text}), {body.text})[1]"
        return Code(text, body.low, body.high, max(value.depth, body.depth) + 2)

    # --- vectors ----------------------------------------------------------------------------

    def Ramp(self, expr: Ramp) -> Code:
        ramp = self.function(_ramp, "ramp")
        wrap = self.rounder(expr.base.dtype)
        base, stride = self.text(expr.base), self.text(expr.stride)
        return Code(f"{ramp}({base}, {stride}, {expr.lanes}, {wrap})", depth=4)

    def Broadcast(self, expr: Broadcast) -> Code:
        code = self.code(expr.value)
        return Code(f"([{code.text}] * {expr.lanes})", depth=code.depth + 2)

    def Shuffle(self, expr: Shuffle) -> Code:
        lanes = " + ".join(self.lanes(vector) for vector in expr.vectors)
        picks = [pick.value for pick in expr.indices if isinstance(pick, IntImm)]
        if len(picks) != len(expr.indices):
            raise InterpreterError(f"the indices of {expr!r} are not constant")
        if not expr.dtype.is_vector:
            return Code(f"({lanes})[{picks[0]}]", depth=MAX_DEPTH)
        pick = self.function(_pick, "pick")
        return Code(f"{pick}({lanes}, {picks})", depth=MAX_DEPTH)

    # --- memory -----------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> Code:
        name = self.buffer(load.buffer)
        indices = [self.code(index) for index in load.indices]
        depth = max((index.depth for index in indices), default=1) + 1
        if is_scalar_access(load.indices):
            text = f"{name}_get({', '.join(index.text for index in indices)})"
            if load.predicate is None:
                return Code(text, depth=depth)
            zero = number.zero_of(load.dtype.element)
            return Code(f"({text} if {self.text(load.predicate)} else {zero})", depth=depth + 2)
        lanes = vector_lanes(load.indices)
        mask = "None" if load.predicate is None else self.lanes(load.predicate)
        zero = number.zero_of(load.dtype.element)
        gather = self.function(_gather, "gather")
        arguments = self.index_lists(load.indices)
        return Code(
            f"{gather}({name}_get, [{arguments}], {lanes}, {mask}, {zero})", depth=MAX_DEPTH
        )

    def index_lists(self, indices: tuple[Expr, ...]) -> str:
        """The text of the indices of a vector access, each a list of lanes."""
        lanes = vector_lanes(indices)
        texts = (
            self.text(index) if index.dtype.is_vector else f"[{self.text(index)}] * {lanes}"
            for index in indices
        )
        return ", ".join(texts)

    def buffer(self, buffer: Any) -> str:
        """The prefix of the names of a buffer, which must be in scope."""
        name = self.emitter.buffers.get(buffer)
        if name is None:
            raise InterpreterError(
                f"buffer {buffer.name} is not declared in\n{self.emitter.place_text()}"
            )
        return name

    def Call(self, call: Call) -> Code:
        return self.calls.code(call)


def is_scalar_access(indices: tuple[Expr, ...]) -> bool:
    """Whether no index is a vector."""
    return not any(index.dtype.is_vector for index in indices)


def vector_lanes(indices: tuple[Expr, ...]) -> int:
    """Number of elements of an access."""
    return max(index.dtype.lanes for index in indices)


def _bounds(kind: type[Expr], a: Code, b: Code) -> tuple[int | None, int | None]:
    """Bounds of the exact integer result, where they follow from those of the operands."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None, None
    operation = INTERVAL_OPERATIONS.get(kind)
    if operation is None or (kind in _FLOORED and b.low <= 0):
        return None, None
    return operation((a.low, a.high), (b.low, b.high))


def _choose(condition: bool, true_value: Any, false_value: Any) -> Any:
    return true_value if condition else false_value


def _ramp(base: int, stride: int, lanes: int, wrap: Callable[[int], int]) -> list[int]:
    return [wrap(base + i * stride) for i in range(lanes)]


def _pick(lanes: list[Any], indices: list[int]) -> list[Any]:
    return [lanes[i] for i in indices]


def _gather(
    get: Callable[..., Any],
    indices: list[list[int]],
    lanes: int,
    mask: list[bool] | None,
    zero: Any,
) -> list[Any]:
    """Read one element per lane; lanes that the mask switches off are zero."""
    result: list[Any] = []
    for lane in range(lanes):
        if mask is None or mask[lane]:
            value = get(*(index[lane] for index in indices))
            result.extend(value if isinstance(value, list) else (value,))
        else:
            result.append(zero)
    return result
