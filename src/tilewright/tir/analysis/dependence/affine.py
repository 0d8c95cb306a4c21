"""Integer expressions as isl reads them: linear forms over dimensions, sizes and unknowns.

Quotients and remainders by constants are exact. What is not affine becomes an *unknown*, an
existentially quantified integer of its own: ``A[idx[i] * 4 + j]`` may be any element whose index is
4 times something plus `j`. So a relation in which an unknown occurs holds too much, never too
little; `Affine.exact` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.arith.linear import variables_of
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
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
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.node import Node
from tilewright.tir.analysis.dependence.linear import (
    Linear,
    is_constant,
    opaque_name,
    parameter_name,
    plus,
    text_of,
)
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import For

Scope = Mapping[Var, "str | Expr | For | None"]
"""What a variable is: a dimension, an expression, an inner loop, or None where nothing is known.

A variable that is missing is a size: it has one value in the whole function.
"""

LONGEST: Final = 4000
"""Characters of a constraint above which an expression counts as not affine."""

_COMPARISONS: Final[dict[type, tuple[str, str]]] = {
    LT: ("<", ">="), LE: ("<=", ">"), GT: (">", "<="), GE: (">=", "<"), EQ: ("=", "!="),
    NE: ("!=", "="),
}  # fmt: skip


class Affine:
    """Translates expressions of one relation.

    Attributes:
        parameters: the sizes that occur.
        unknowns: names of the existentially quantified integers.
        constraints: what is known about them.
        exact: whether nothing was given up.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.parameters: dict[str, None] = {}
        self.unknowns: list[str] = []
        self.constraints: list[str] = []
        self.exact = True
        self._loops: dict[For, str] = {}

    def points(self, names: Sequence[str], conditions: Sequence[str]) -> str:
        """``[names] : conditions``, with all that is known about the unknowns."""
        return f"[{', '.join(names)}] : {self._quantified(conditions)}"

    def relation(
        self, names: Sequence[str], values: Sequence[str], conditions: Sequence[str] = ()
    ) -> str:
        """``[names] -> [values] : conditions``, with all that is known about the unknowns."""
        if self.unknowns:
            results = [f"o{number}" for number in range(len(values))]
            equations = (f"{r} = {v}" for r, v in zip(results, values, strict=True))
            conditions, values = (*equations, *conditions), results
        head = f"[{', '.join(names)}] -> [{', '.join(values)}]"
        return f"{head} : {self._quantified(conditions)}"

    def _quantified(self, conditions: Sequence[str]) -> str:
        body = " and ".join((*conditions, *self.constraints)) or "true"
        return f"exists ({', '.join(self.unknowns)} : {body})" if self.unknowns else body

    def text(self, expr: Expr) -> str:
        """An integer expression."""
        return text_of(self.linear(expr))

    def unknown(self, *, exact: bool = False) -> str:
        """A new existentially quantified integer."""
        name = f"u{len(self.unknowns)}"
        self.unknowns.append(name)
        self.exact &= exact
        return name

    # --- integers ---------------------------------------------------------------------------

    def linear(self, expr: Any) -> Linear:
        """The linear form of an expression."""
        kind = expr.__class__
        if kind is IntImm:
            return {"": expr.value}
        if kind is Var or kind is SizeVar:
            return self._variable(expr)
        handler = _INTEGERS.get(kind)
        found = handler(self, expr) if handler is not None and is_integer(expr) else None
        return self._opaque(expr) if found is None else found

    def _variable(self, var: Var) -> Linear:
        if var not in self.scope:
            return {self._parameter(var): 1}
        known = self.scope[var]
        if known is None:
            return {self.unknown(): 1}
        if isinstance(known, str):
            return {known: 1}
        return {self._loop(known): 1} if isinstance(known, For) else self.linear(known)

    def _loop(self, loop: For) -> str:
        """The variable of a loop inside of the statement: any of its values."""
        name = self._loops.get(loop)
        if name is None:
            name = self._loops[loop] = self.unknown(exact=True)
            low, size = self.linear(loop.min), self.linear(loop.extent)
            end = text_of(plus(low, size))
            self.constraints.append(f"{text_of(low)} <= {name} < {end}")
        return name

    def _parameter(self, var: Var) -> str:
        name = parameter_name(var)
        self.parameters[name] = None
        return name

    def _opaque(self, expr: Expr) -> Linear:
        """A size of its own if only sizes occur, otherwise an unknown."""
        if is_integer(expr) and self._is_size(expr):
            name = opaque_name(self._key(expr), repr(expr))
            for var in variables_of(expr):
                self.parameters[parameter_name(self._resolved(var))] = None
            self.parameters[name] = None
            return {name: 1}
        return {self.unknown(): 1}

    def _is_size(self, expr: Node) -> bool:
        if isinstance(expr, Var):
            return self._resolved(expr) not in self.scope
        if isinstance(expr, (BufferLoad, Call, Let)):
            return False
        return all(map(self._is_size, expr.children()))

    def _resolved(self, var: Any) -> Any:
        """The variable that `var` is another name of."""
        while isinstance(self.scope.get(var), Var):
            var = self.scope[var]
        return var

    def _key(self, expr: Any) -> str:
        """Equal for expressions of sizes that are the same."""
        if isinstance(expr, Var):
            return parameter_name(self._resolved(expr))
        operands = expr.children()
        if not operands:
            return repr(expr)
        return f"{type(expr).__name__}({', '.join(map(self._key, operands))})"

    def _add(self, expr: Add) -> Linear:
        return plus(self.linear(expr.a), self.linear(expr.b))

    def _subtract(self, expr: Sub) -> Linear:
        return plus(self.linear(expr.a), self.linear(expr.b), -1)

    def _multiply(self, expr: Mul) -> Linear | None:
        left, right = self.linear(expr.a), self.linear(expr.b)
        if is_constant(right):
            return plus({}, left, right.get("", 0))
        if is_constant(left):
            return plus({}, right, left.get("", 0))
        return None

    def _quotient(self, expr: FloorDiv) -> Linear | None:
        by = self._divisor(expr.b)
        if by is None:
            return None
        dividend = self.linear(expr.a)
        if is_constant(dividend):
            return {"": dividend.get("", 0) // by}
        if by == 1:
            return dividend
        return self._short({f"floor(({text_of(dividend)})/{by})": 1})

    def _remainder(self, expr: FloorMod) -> Linear | None:
        by = self._divisor(expr.b)
        if by is None:
            return None
        dividend = self.linear(expr.a)
        if is_constant(dividend):
            return {"": dividend.get("", 0) % by}
        quotient = self._short({f"floor(({text_of(dividend)})/{by})": 1})
        return None if quotient is None else plus(dividend, quotient, -by)

    def _divisor(self, expr: Expr) -> int | None:
        value = expr.value if isinstance(expr, IntImm) else 0
        return value if value > 0 else None

    def _short(self, form: Linear) -> Linear | None:
        return form if sum(map(len, form)) < LONGEST else None

    def _truncated(self, expr: Div | Mod) -> Linear | None:
        """Division that rounds to zero: -(-a // b) for negative a."""
        by = self._divisor(expr.b)
        if by is None:
            return None
        a = self.linear(expr.a)
        up, down = f"floor(({text_of(a)})/{by})", f"floor(({text_of(plus({}, a, -1))})/{by})"
        if len(up) > LONGEST:
            return None
        negative, other = f"{text_of(a)} < 0", f"{text_of(a)} >= 0"
        quotient = self._either(other, {up: 1}, negative, {down: -1})
        return quotient if isinstance(expr, Div) else plus(a, quotient, -by)

    def _either(self, first: str, a: Linear, second: str, b: Linear) -> Linear:
        """A new integer that is `a` where the formula `first` holds, `b` where `second` does."""
        name = self.unknown(exact=True)
        one, other = f"{name} = {text_of(a)} and {first}", f"{name} = {text_of(b)} and {second}"
        self.constraints.append(f"(({one}) or ({other}))")
        return {name: 1}

    def _extremum(self, expr: Min | Max) -> Linear:
        a, b = self.linear(expr.a), self.linear(expr.b)
        x, y = text_of(a), text_of(b)
        first, second = (f"{x} <= {y}", f"{x} > {y}")
        if isinstance(expr, Max):
            first, second = f"{x} >= {y}", f"{x} < {y}"
        return self._either(first, a, second, b)

    def _choice(self, condition: Expr, yes: Expr, no: Expr) -> Linear:
        holds, fails = self.formula(condition), self.formula(condition, negated=True)
        return self._either(holds, self.linear(yes), fails, self.linear(no))

    def _select(self, expr: Select) -> Linear:
        return self._choice(expr.condition, expr.true_value, expr.false_value)

    def _call(self, expr: Call) -> Linear | None:
        name = getattr(expr.op, "name", "")
        if name == "tir.likely":
            return self.linear(expr.args[0])
        if name == "tir.if_then_else":
            return self._choice(*expr.args)
        power = small_constant(expr.args[1]) if len(expr.args) == 2 else None
        if power is None:
            return None
        dtype = expr.dtype
        if name == "tir.shift_right":
            return self.linear(FloorDiv(expr.args[0], IntImm(dtype, 1 << power)))
        if name == "tir.shift_left":
            return plus({}, self.linear(expr.args[0]), 1 << power)
        if name == "tir.bitwise_and" and power & (power + 1) == 0:
            return self.linear(FloorMod(expr.args[0], IntImm(dtype, power + 1)))
        return None

    def _cast(self, expr: Cast) -> Linear | None:
        source, target = expr.value.dtype, expr.dtype
        if source.is_bool:
            holds = self.formula(expr.value)
            return self._either(holds, {"": 1}, self.formula(expr.value, negated=True), {})
        wide_enough = source.is_int or (source.is_uint and source.bits < target.bits)
        return self.linear(expr.value) if wide_enough else None

    def _let(self, expr: Let) -> Linear:
        scope = self.scope
        self.scope = {**scope, expr.var: expr.value}
        try:
            return self.linear(expr.body)
        finally:
            self.scope = scope

    def _ramp(self, expr: Ramp) -> Linear | None:
        stride = self.linear(expr.stride)
        if not is_constant(stride):
            return None
        lane = self.unknown(exact=True)
        self.constraints.append(f"0 <= {lane} < {expr.lanes}")
        return plus(self.linear(expr.base), {lane: stride.get("", 0)})

    def _broadcast(self, expr: Broadcast) -> Linear:
        return self.linear(expr.value)

    # --- conditions -------------------------------------------------------------------------

    def formula(self, expr: Any, negated: bool = False) -> str:
        """A condition (or its opposite); what is not affine may hold, so it is ``true``."""
        kind = expr.__class__
        if kind is IntImm:
            return "true" if bool(expr.value) is not negated else "false"
        if kind is Not:
            return self.formula(expr.a, not negated)
        if kind is And or kind is Or:
            join = "and" if (kind is And) is not negated else "or"
            return f"({self.formula(expr.a, negated)} {join} {self.formula(expr.b, negated)})"
        if kind is Call and getattr(expr.op, "name", "") == "tir.likely":
            return self.formula(expr.args[0], negated)
        if kind is Var and isinstance(self.scope.get(expr), Expr):
            return self.formula(self.scope[expr], negated)
        if kind in _COMPARISONS and is_integer(expr.a) and expr.dtype.lanes == 1:
            a, b = self.text(expr.a), self.text(expr.b)
            if len(a) + len(b) < LONGEST:
                return f"{a} {_COMPARISONS[kind][negated]} {b}"
        self.exact = False
        return "true"


_INTEGERS: Final[dict[type, Any]] = {
    Add: Affine._add,
    Sub: Affine._subtract,
    Mul: Affine._multiply,
    FloorDiv: Affine._quotient,
    FloorMod: Affine._remainder,
    Div: Affine._truncated,
    Mod: Affine._truncated,
    Min: Affine._extremum,
    Max: Affine._extremum,
    Select: Affine._select,
    Call: Affine._call,
    Cast: Affine._cast,
    Let: Affine._let,
    Ramp: Affine._ramp,
    Broadcast: Affine._broadcast,
}


def is_integer(expr: Expr) -> bool:
    """Whether `expr` computes with signed integers so wide that wrapping is no concern."""
    dtype = expr.dtype
    return dtype.is_int and dtype.bits >= 32


def small_constant(expr: Expr) -> int | None:
    """The value of a constant that may be the distance of a shift; None for anything else."""
    return expr.value if isinstance(expr, IntImm) and 0 <= expr.value < 31 else None
