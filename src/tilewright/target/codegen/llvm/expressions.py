"""Scalar and vector expressions in LLVM IR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT32, DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
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
    SizeVar,
    StringImm,
    Sub,
    Var,
)
from tilewright.target.codegen.llvm.builder import Builder
from tilewright.target.codegen.llvm.halves import Halves
from tilewright.target.codegen.llvm.integers import Integers
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.types import HALVES, float_constant, mangled, splat, value_type
from tilewright.tir.buffer import BufferLoad

_INT_OPS: Final = {Add: "add", Sub: "sub", Mul: "mul"}
_FLOAT_OPS: Final = {Add: "fadd", Sub: "fsub", Mul: "fmul", Div: "fdiv", Mod: "frem"}
_CONDITIONS: Final = {
    EQ: ("eq", "eq", "oeq"),
    NE: ("ne", "ne", "une"),
    LT: ("slt", "ult", "olt"),
    LE: ("sle", "ule", "ole"),
    GT: ("sgt", "ugt", "ogt"),
    GE: ("sge", "uge", "oge"),
}
"""Conditions of a comparison of signed integers, of unsigned ones, and of floats."""


class Expressions(Integers, Halves, Builder):
    """Adds expressions to the builder."""

    def __init__(self, module: ModuleText) -> None:
        Halves.__init__(self)
        self.module = module
        self.analyzer = Analyzer()
        self.variables: dict[Var, str] = {}
        self._emitters: dict[type[Expr], Callable[[Any], str]] = {
            Var: self.variable,
            SizeVar: self.variable,
            IntImm: lambda e: self.constant(e.value, e.dtype),
            FloatImm: lambda e: self.constant(e.value, e.dtype),
            StringImm: lambda e: self.module.string(e.value),
            Cast: lambda e: self.cast(self.operand(e.value), e.value.dtype, e.dtype),
            FloorDiv: self._floor_division,
            FloorMod: self._floor_division,
            Min: self._extreme,
            Max: self._extreme,
            And: self._logical,
            Or: self._logical,
            Not: self._not,
            Select: self._select,
            Broadcast: lambda e: self.broadcast(self.operand(e.value), e.value.dtype, e.lanes),
            Ramp: self._ramp,
            Shuffle: self._shuffle,
            Let: self._let,
            BufferLoad: self.load,
            Call: self.call,
        }
        self._emitters |= dict.fromkeys((Add, Sub, Mul, Div, Mod), self._arithmetic)
        self._emitters |= dict.fromkeys(_CONDITIONS, self._compare)

    def operand(self, expr: Expr) -> str:
        """The register or constant with the value of `expr`."""
        emit = self._emitters.get(expr.__class__)
        if emit is None:
            raise CodegenError(f"target llvm has no code for `{expr!r}` ({type(expr).__name__})")
        return emit(expr)

    def load(self, load: BufferLoad) -> str:
        """The loaded value; given by `memory.Memory`."""
        raise NotImplementedError

    def call(self, call: Call) -> str:
        """The result of a call; given by `calls.Calls`."""
        raise NotImplementedError

    # --- leaves -----------------------------------------------------------------------------

    def variable(self, var: Var) -> str:
        """The register with the value of a variable."""
        register = self.variables.get(var)
        if register is None:
            raise CodegenError(f"variable {var.name} is used outside of its scope")
        return register

    def constant(self, value: float, dtype: DType) -> str:
        """A constant operand, the same in all lanes."""
        element = value_type(dtype.element)
        if dtype.is_bool:
            text = "true" if value else "false"
        elif dtype.is_float:
            text = float_constant(value, 32 if dtype.element in HALVES else dtype.bits)
        elif dtype.is_handle:
            return "null" if value == 0 else f"inttoptr (i64 {int(value)} to ptr)"
        else:
            text = str(int(value))
        return splat(element, text, dtype.lanes)

    # --- operators --------------------------------------------------------------------------

    def _arithmetic(self, expr: Any) -> str:
        dtype = expr.dtype
        a, b = self.operand(expr.a), self.operand(expr.b)
        if dtype.is_float:
            return self.rounded(
                self.pure(f"{_FLOAT_OPS[type(expr)]} {value_type(dtype)} {a}, {b}", a, b), dtype
            )
        if isinstance(expr, (Div, Mod)):
            return self.truncated_division(expr, a, b)
        # The sum of two bools tells whether any is true, as in C and numpy.
        operation = "or" if dtype.is_bool and isinstance(expr, Add) else _INT_OPS[type(expr)]
        return self.pure(f"{operation} {value_type(dtype)} {a}, {b}", a, b)

    def _floor_division(self, expr: FloorDiv | FloorMod) -> str:
        return self.floored_division(expr, self.operand(expr.a), self.operand(expr.b))

    def _compare(self, expr: Any) -> str:
        dtype = expr.a.dtype
        a, b = self.operand(expr.a), self.operand(expr.b)
        signed, unsigned, ordered = _CONDITIONS[type(expr)]
        if dtype.is_float:
            return self.pure(f"fcmp {ordered} {value_type(dtype)} {a}, {b}", a, b)
        condition = signed if dtype.is_int else unsigned
        return self.pure(f"icmp {condition} {value_type(dtype)} {a}, {b}", a, b)

    def _extreme(self, expr: Min | Max) -> str:
        dtype, is_max = expr.dtype, isinstance(expr, Max)
        a, b = self.operand(expr.a), self.operand(expr.b)
        if not dtype.is_float:
            sign = "s" if dtype.is_int else "u"
            if dtype.is_bool:
                op = "or" if is_max else "and"
                return self.pure(f"{op} {value_type(dtype)} {a}, {b}", a, b)
            return self.intrinsic(f"{sign}{'max' if is_max else 'min'}", dtype, a, b)
        if self.module.target.architecture == "aarch64":  # has it as an instruction
            return self.intrinsic("maximum" if is_max else "minimum", dtype, a, b)
        ty = value_type(dtype)
        relation = "ogt" if is_max else "olt"
        if _is_number(expr.b):
            a, b = b, a
        # x86 has `a > b ? a : b` as one instruction; it gives b where one of them is NaN.
        condition = self.pure(f"fcmp {relation} {ty} {a}, {b}", a, b)
        chosen = self.select(condition, a, b, dtype)
        if _is_number(expr.a) or _is_number(expr.b):
            return chosen
        is_nan = self.pure(f"fcmp uno {ty} {a}, {a}", a)
        return self.select(is_nan, a, chosen, dtype)

    def select(self, condition: str, yes: str, no: str, dtype: DType) -> str:
        """Lane by lane; `condition` has the lanes of `dtype`."""
        ty = value_type(dtype)
        test = value_type(DType("bool").with_lanes(dtype.lanes))
        return self.pure(f"select {test} {condition}, {ty} {yes}, {ty} {no}", condition, yes, no)

    def _select(self, expr: Select) -> str:
        condition = self.operand(expr.condition)
        lanes = expr.dtype.lanes
        condition = (
            self.broadcast(condition, expr.condition.dtype, lanes)
            if (expr.condition.dtype.lanes != lanes)
            else condition
        )
        yes, no = self.operand(expr.true_value), self.operand(expr.false_value)
        return self.select(condition, yes, no, expr.dtype)

    def _logical(self, expr: And | Or) -> str:
        is_and = isinstance(expr, And)
        a = self.operand(expr.a)
        if expr.dtype.lanes > 1 or is_speculable(expr.b):
            b = self.operand(expr.b)
            op = "and" if is_and else "or"
            return self.pure(f"{op} {value_type(expr.dtype)} {a}, {b}", a, b)
        other = IntImm(expr.dtype, 0 if is_and else 1)
        if is_and:
            return self.choose(
                a, lambda: self.operand(expr.b), lambda: self.operand(other), expr.dtype
            )
        return self.choose(a, lambda: self.operand(other), lambda: self.operand(expr.b), expr.dtype)

    def choose(
        self, condition: str, yes: Callable[[], str], no: Callable[[], str], dtype: DType
    ) -> str:
        """The value of `yes` or of `no`; only the code of the chosen one runs."""
        then, otherwise, after = self.label("then"), self.label("else"), self.label("after")
        self.branch(condition, then, otherwise)
        self.start_block(then)
        with self.conditional():
            yes_value = yes()
        yes_block = self.region.block
        self.jump(after)
        self.start_block(otherwise)
        with self.conditional():
            no_value = no()
        no_block = self.region.block
        self.jump(after)
        self.start_block(after)
        if dtype.code == "void":
            return ""
        sources = f"[ {yes_value}, %{yes_block} ], [ {no_value}, %{no_block} ]"
        return self.value(f"phi {value_type(dtype)} {sources}")

    def _not(self, expr: Not) -> str:
        a = self.operand(expr.a)
        ones = splat("i1", "true", expr.dtype.lanes)
        return self.pure(f"xor {value_type(expr.dtype)} {a}, {ones}", a)

    def _let(self, expr: Let) -> str:
        self.variables[expr.var] = self.operand(expr.value)
        self._bind_fact(expr.var, expr.value)
        return self.operand(expr.body)

    def _bind_fact(self, var: Var, value: Expr) -> None:
        if var.dtype.is_int and var.dtype.lanes == 1:
            low, high = self.analyzer.const_int_bound(value)
            if high - low < var.dtype.max_int:  # the extent is a number of that dtype
                self.analyzer.bind_range(var, int(low), int(high - low + 1))

    # --- vectors ----------------------------------------------------------------------------

    def broadcast(self, value: str, dtype: DType, lanes: int) -> str:
        """`lanes` copies of a scalar (or of a vector, one after the other)."""
        if lanes == 1:
            return value
        result = dtype.with_lanes(dtype.lanes * lanes)
        ty = value_type(dtype)
        if dtype.lanes > 1:
            pattern = ", ".join(f"i32 {lane % dtype.lanes}" for lane in range(result.lanes))
            mask = f"<{result.lanes} x i32> <{pattern}>"
            return self.pure(f"shufflevector {ty} {value}, {ty} poison, {mask}", value)
        if not value.startswith("%"):
            return splat(ty, value, lanes)
        whole = value_type(result)
        first = self.pure(f"insertelement {whole} poison, {ty} {value}, i64 0", value)
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.pure(f"shufflevector {whole} {first}, {whole} poison, {zeros}", first)

    def _ramp(self, expr: Ramp) -> str:
        base_dtype = expr.base.dtype
        ty = value_type(expr.dtype)
        base = self.broadcast(self.operand(expr.base), base_dtype, expr.lanes)
        element = value_type(base_dtype)
        if isinstance(expr.stride, IntImm):
            stride = expr.stride.value
            steps = ", ".join(f"{element} {lane * stride}" for lane in range(expr.lanes))
            return self.pure(f"add {ty} {base}, <{steps}>", base)
        stride = self.broadcast(self.operand(expr.stride), base_dtype, expr.lanes)
        steps = ", ".join(f"{element} {lane}" for lane in range(expr.lanes))
        scaled = self.pure(f"mul {ty} {stride}, <{steps}>", stride)
        return self.pure(f"add {ty} {base}, {scaled}", base, scaled)

    def _shuffle(self, expr: Shuffle) -> str:
        values = [self.operand(vector) for vector in expr.vectors]
        lanes = [vector.dtype.lanes for vector in expr.vectors]
        element = expr.dtype.element
        indices = [int(i) for i in expr.indices]  # type: ignore[call-overload]
        if len(values) == 1 and lanes[0] > 1:
            ty = value_type(element.with_lanes(lanes[0]))
            if len(indices) == 1:
                return self.pure(f"extractelement {ty} {values[0]}, i64 {indices[0]}", values[0])
            pattern = ", ".join(f"i32 {i}" for i in indices)
            mask = f"<{len(indices)} x i32> <{pattern}>"
            return self.pure(f"shufflevector {ty} {values[0]}, {ty} poison, {mask}", values[0])
        if len(values) > 1 and len(indices) > 1 and min(lanes) == max(lanes) > 1:
            return self._shuffle_vectors(values, indices, element.with_lanes(lanes[0]))
        sources = [(v, n, lane) for v, n in zip(values, lanes, strict=True) for lane in range(n)]
        chosen = [self._extract(*sources[i], element) for i in indices]
        if len(chosen) == 1:
            return chosen[0]
        whole, scalar = value_type(expr.dtype), value_type(element)
        result = "poison"
        for lane, value in enumerate(chosen):
            code = f"insertelement {whole} {result}, {scalar} {value}, i64 {lane}"
            result = self.pure(code, result, value)
        return result

    def _shuffle_vectors(self, values: list[str], indices: list[int], dtype: DType) -> str:
        """The lanes `indices` of several vectors of one dtype; -1 is any value.

        LLVM shuffles two at a time: of more, each half gives its lanes, in their final places.
        """
        ty, count = value_type(dtype), len(indices)
        if len(values) > 2:
            half = (len(values) + 1) // 2
            limit = half * dtype.lanes
            low = [i if i < limit else -1 for i in indices]
            high = [i - limit if i >= limit else -1 for i in indices]
            chosen = [count + n if i >= limit else n for n, i in enumerate(indices)]
            values = [
                self._shuffle_vectors(values[:half], low, dtype),
                self._shuffle_vectors(values[half:], high, dtype),
            ]
            return self._shuffle_vectors(values, chosen, dtype.with_lanes(count))
        a, b = values[0], values[-1] if len(values) > 1 else "poison"
        numbers = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in indices)
        mask = f"<{count} x i32> <{numbers}>"
        return self.pure(f"shufflevector {ty} {a}, {ty} {b}, {mask}", a, b)

    def _extract(self, value: str, lanes: int, lane: int, element: DType) -> str:
        if lanes == 1:
            return value
        ty = value_type(element.with_lanes(lanes))
        return self.pure(f"extractelement {ty} {value}, i64 {lane}", value)

    # --- conversions and intrinsics -----------------------------------------------------------

    def intrinsic(self, name: str, dtype: DType, *operands: str) -> str:
        """A call of the overloaded LLVM intrinsic `name`, all of whose types are `dtype`."""
        ty = value_type(dtype)
        suffix = mangled(FLOAT32.with_lanes(dtype.lanes) if dtype.element in HALVES else dtype)
        function = self.module.declare(f"llvm.{name}.{suffix}", ty, (ty,) * len(operands))
        args = ", ".join(f"{ty} {operand}" for operand in operands)
        return self.rounded(self.pure(f"call {ty} {function}({args})", *operands), dtype)

    def cast(self, value: str, source: DType, target: DType) -> str:
        """`value` converted from `source` to `target`, which have the same lanes."""
        if source is target:
            return value
        old, new = value_type(source), value_type(target)
        if target.is_bool:
            zero = self.constant(0, source)
            op = "fcmp une" if source.is_float else "icmp ne"
            return self.pure(f"{op} {old} {value}, {zero}", value)
        if source.is_handle or target.is_handle:
            op = "ptrtoint" if source.is_handle else "inttoptr"
            if old == new:
                return value
            return self.pure(f"{op} {old} {value} to {new}", value)
        if source.is_float and target.is_float:
            return self._cast_float(value, source, target)
        if source.is_float:
            op = "fptosi" if target.is_int else "fptoui"
            # A value out of range is poison in LLVM; freezing makes it some number instead.
            converted = self.pure(f"{op} {old} {value} to {new}", value)
            return self.pure(f"freeze {new} {converted}", converted)
        if target.is_float:
            op = "sitofp" if source.is_int else "uitofp"
            return self.rounded(self.pure(f"{op} {old} {value} to {new}", value), target)
        if target.bits < source.bits:
            return self.pure(f"trunc {old} {value} to {new}", value)
        if target.bits == source.bits:
            return value
        op = "sext" if source.is_int else "zext"
        return self.pure(f"{op} {old} {value} to {new}", value)

    def _cast_float(self, value: str, source: DType, target: DType) -> str:
        old, new = value_type(source), value_type(target)
        if source.bits == 64:
            if target.element in HALVES:
                value = self.rounded_to_odd(value, source)
            else:
                value = self.pure(f"fptrunc {old} {value} to {new}", value)
        elif target.bits == 64:
            value = self.pure(f"fpext {old} {value} to {new}", value)
        return self.rounded(value, target)


def _is_number(expr: Expr) -> bool:
    """Whether `expr` is a constant that is not NaN."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return isinstance(expr, FloatImm) and not math.isnan(expr.value)


def is_speculable(expr: Expr) -> bool:
    """Whether evaluating `expr` needlessly is cheap and harmless."""
    if isinstance(expr, (Var, IntImm, FloatImm)):
        return True
    if isinstance(expr, (BinaryExpr, Not, Cast)):
        if isinstance(expr, (Div, Mod, FloorDiv, FloorMod)) and not isinstance(expr.b, IntImm):
            return False
        return all(is_speculable(child) for child in expr.children())  # type: ignore[arg-type]
    return False
