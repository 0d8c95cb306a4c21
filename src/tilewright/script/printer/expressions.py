"""Printers of expressions, constants and types."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.ir import arithmetic
from tilewright.ir.convert import round_float
from tilewright.ir.dtype import DType, PointerType, PrimType
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
    Cast,
    Div,
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
from tilewright.ir.module import DummyGlobalInfo, GlobalVar, VDevice
from tilewright.ir.op import Op
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY = 1, 2, 3, 4, 9, 10, 11
"""Precedences of Python's operators, ascending."""

_PRECEDENCES: Final[dict[type, tuple[int, int]]] = {
    # class: precedence of the result, least precedence of the left operand
    **dict.fromkeys((Add, Sub), (SUM, SUM)),
    **dict.fromkeys((Mul, Div, FloorDiv, FloorMod), (PRODUCT, PRODUCT)),
    **dict.fromkeys((EQ, NE, LT, LE, GT, GE), (COMPARE, COMPARE + 1)),
    And: (AND, AND),
    Or: (OR, OR),
}
_CONSTRUCTORS: Final = {**arithmetic.CONSTRUCTORS, Div: arithmetic.divide}


def rebuilds(construct: Any, node: Any) -> bool:
    """Whether `construct(a, b)` gives a node like the binary `node` with these very operands."""
    try:
        result = construct(node.a, node.b)
    except TVMError:
        return False
    return result.__class__ is node.__class__ and result.a is node.a and result.b is node.b


@prints(EXPRESSIONS, *_PRECEDENCES)
def _operator(p: Printer, node: Any) -> Rendered:
    precedence, left = _PRECEDENCES[node.__class__]
    if p.options.verbose_expr or not rebuilds(_CONSTRUCTORS[node.__class__], node):
        return _constructor(p, node)
    # The right operand binds more tightly: (a - b) - c is written a - b - c, but not a - (b - c).
    a, b = _operand(p, node.a, node.b, left), _operand(p, node.b, node.a, precedence + 1)
    return f"{a} {node.symbol} {b}", precedence


@prints(EXPRESSIONS, Min, Max, Mod)
def _function(p: Printer, node: Any) -> Rendered:
    if p.options.verbose_expr or not rebuilds(_CONSTRUCTORS[node.__class__], node):
        return _constructor(p, node)
    a, b = _operand(p, node.a, node.b, 0), _operand(p, node.b, node.a, 0)
    return f"{p.tir}{node.symbol}({a}, {b})", ATOM


def _operand(p: Printer, node: Any, other: Any, precedence: int) -> str:
    """The text of an operand; a number alone gets its dtype from the other operand."""
    is_bare = node.__class__ is IntImm and node.dtype is p.bare_dtype
    if not is_bare or other.__class__ is IntImm or p.is_underlined(node):
        return p.operand(node, precedence)
    return str(node.value) if node.value >= 0 or precedence <= UNARY else f"({node.value})"


def _constructor(p: Printer, node: Any) -> Rendered:
    return f"{p.tir}{type(node).__name__}({p.expr(node.a)}, {p.expr(node.b)})", ATOM


@prints(EXPRESSIONS, Not)
def _not(p: Printer, node: Not) -> Rendered:
    if p.options.verbose_expr or isinstance(node.a, IntImm) or not node.a.dtype.is_bool:
        return f"{p.tir}Not({p.expr(node.a)})", ATOM
    return f"not {p.operand(node.a, NOT)}", NOT


@prints(EXPRESSIONS, Var, SizeVar)
def _var(p: Printer, node: Var) -> Rendered:
    name = p.names.find(node)
    return (name if name is not None else p.names.define(node, node.name)), ATOM


@prints(EXPRESSIONS, Cast)
def _cast(p: Printer, node: Cast) -> Rendered:
    return f'{p.tir}Cast("{node.dtype}", {p.expr(node.value)})', ATOM


@prints(EXPRESSIONS, Select)
def _select(p: Printer, node: Select) -> Rendered:
    parts = p.exprs((node.condition, node.true_value, node.false_value))
    return f"{p.tir}Select({parts})", ATOM


@prints(EXPRESSIONS, Ramp)
def _ramp(p: Printer, node: Ramp) -> Rendered:
    return f"{p.tir}Ramp({p.expr(node.base)}, {p.expr(node.stride)}, {node.lanes})", ATOM


@prints(EXPRESSIONS, Broadcast)
def _broadcast(p: Printer, node: Broadcast) -> Rendered:
    return f"{p.tir}Broadcast({p.expr(node.value)}, {node.lanes})", ATOM


@prints(EXPRESSIONS, Shuffle)
def _shuffle(p: Printer, node: Shuffle) -> Rendered:
    return f"{p.tir}Shuffle([{p.exprs(node.vectors)}], [{p.exprs(node.indices)}])", ATOM


@prints(EXPRESSIONS, Let)
def _let(p: Printer, node: Let) -> Rendered:
    value = p.expr(node.value)
    name = p.names.define(node.var, node.var.name)
    p.before(f"{name} = {p.new_var(node.var)}")
    return f"{p.tir}Let({p.expr(node.body)}, where={{{name}: {value}}})", ATOM


@prints(EXPRESSIONS, IntImm)
def _int(p: Printer, node: IntImm) -> Rendered:
    if node.dtype.is_bool:
        return f"{p.tir}bool({bool(node.value)})", ATOM
    if node.dtype is p.options.int_dtype:
        return str(node.value), ATOM if node.value >= 0 else UNARY
    return f"{p.tir}{node.dtype}({node.value})", ATOM


@prints(EXPRESSIONS, FloatImm)
def _float(p: Printer, node: FloatImm) -> Rendered:
    text = float_text(node.value, node.dtype)
    if node.dtype is p.options.float_dtype and math.isfinite(node.value):
        return text, ATOM if math.copysign(1, node.value) > 0 else UNARY
    return f"{p.tir}{node.dtype}({text})", ATOM


def float_text(value: float, dtype: DType) -> str:
    """The shortest decimal that rounds to `value` in `dtype`, or ``"inf"`` and such in quotes."""
    if not math.isfinite(value):
        return f'"{value}"'
    if dtype.bits == 64:
        return repr(value)
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if round_float(float(text), dtype) == value:
            return repr(float(text))
    return repr(value)


@prints(EXPRESSIONS, StringImm)
def _string(p: Printer, node: StringImm) -> Rendered:
    del p
    return quoted(node.value), ATOM


@prints(EXPRESSIONS, GlobalVar)
def _global_var(p: Printer, node: GlobalVar) -> Rendered:
    return f"{p.options.module_alias}.{p.function_name(node.name_hint)}", ATOM


@prints(EXPRESSIONS, DummyGlobalInfo)
def _dummy_global_info(p: Printer, node: DummyGlobalInfo) -> Rendered:
    del node
    return f"{p.options.ir_prefix}.dummy_global_info()", ATOM


@prints(EXPRESSIONS, VDevice)
def _vdevice(p: Printer, node: VDevice) -> Rendered:
    target = "None" if node.target is None else p.target(node.target)
    parts = f"{target}, {node.vdevice_id}, {quoted(node.memory_scope)}"
    return f"{p.options.ir_prefix}.vdevice({parts})", ATOM


@prints(EXPRESSIONS, Op)
def _op(p: Printer, node: Op) -> Rendered:
    del p
    return f"Op.get({quoted(node.name)})", ATOM


@prints(EXPRESSIONS, PrimType)
def _prim_type(p: Printer, node: PrimType) -> Rendered:
    return p.type(node.dtype), ATOM


@prints(EXPRESSIONS, PointerType)
def _pointer_type(p: Printer, node: PointerType) -> Rendered:
    return p.type(DType("handle"), node), ATOM
