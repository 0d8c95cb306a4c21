"""Indices and addresses."""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Add, Broadcast, Call, Cast, Expr, IntImm, Mul, Sub, Var
from tilewright.target.codegen.llvm.builder import KnownAddress
from tilewright.target.codegen.llvm.conversions import cast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.types import memory_type, value_type
from tilewright.tir.buffer import Buffer, BufferLoad

_WIDE_OPS: Final[dict[type, str]] = {Add: "add", Sub: "sub", Mul: "mul"}


def index_operand(emitter: FunctionEmitter, expr: Expr) -> str:
    """An integer expression as an i64 register or constant.

    32-bit sums and products are computed with 64 bits, so positions in arrays of more than 2**31
    elements are right.
    """
    if isinstance(expr, IntImm):
        return str(expr.value)
    op = _WIDE_OPS.get(expr.__class__)
    if op is not None and expr.dtype is INT32:
        a, b = index_operand(emitter, expr.a), index_operand(emitter, expr.b)  # type: ignore[attr-defined]
        return emitter.pure(f"{op} i64 {a}, {b}", a, b)
    return cast(emitter, emitter.operand(expr), expr.dtype, DType("int64"))


def _linear(
    emitter: FunctionEmitter, expr: Any, factor: int, terms: dict[str, int], leaves: list[Expr]
) -> int:
    """Add `factor * expr` to `terms`, and what it is a sum of to `leaves`; returns the constant
    part.
    """
    kind = expr.__class__
    if kind is IntImm:
        return factor * expr.value
    if kind is Add:
        left = _linear(emitter, expr.a, factor, terms, leaves)
        return left + _linear(emitter, expr.b, factor, terms, leaves)
    if kind is Sub:
        left = _linear(emitter, expr.a, factor, terms, leaves)
        return left + _linear(emitter, expr.b, -factor, terms, leaves)
    if kind is Mul:
        if expr.b.__class__ is IntImm:
            return _linear(emitter, expr.a, factor * expr.b.value, terms, leaves)
        if expr.a.__class__ is IntImm:
            return _linear(emitter, expr.b, factor * expr.a.value, terms, leaves)
    elif kind is Cast and _widens(expr):
        # Index arithmetic does not overflow, so it may be done in the wider type.
        return _linear(emitter, expr.value, factor, terms, leaves)
    leaves.append(expr)
    register = index_operand(emitter, expr)
    terms[register] = terms.get(register, 0) + factor
    return 0


def address(emitter: FunctionEmitter, buffer: Buffer, index: Expr) -> str:
    """The address of element `index` of a flat buffer.

    The pointer moves step by step, one loop level at a time, so that each level computes its
    part once; the constant part comes last and is free.
    """
    pointer, region = emitter.operand(buffer.data), emitter.region
    key = pointer, buffer.dtype, id(index)
    known = region.addresses.get(key)
    if known is not None and known.variables.items() <= emitter.variables.items():
        return known.register
    terms: dict[str, int] = {}
    leaves: list[Expr] = []
    constant = _linear(emitter, index, buffer.dtype.lanes, terms, leaves)
    pointer = _moved(emitter, pointer, buffer, terms, constant)
    if not region.branches and all(leaf.__class__ is Var for leaf in leaves):
        variables = {var: emitter.variables[var] for var in leaves}  # type: ignore[index]
        region.addresses[key] = KnownAddress(index, variables, pointer)
    return pointer


def _moved(
    emitter: FunctionEmitter, pointer: str, buffer: Buffer, terms: dict[str, int], constant: int
) -> str:
    element = memory_type(buffer.dtype.element)
    ordered = terms.items()
    if len(terms) > 1:
        ordered = sorted(ordered, key=lambda item: emitter.level((item[0],)))
    for register, factor in ordered:
        if not factor:
            continue
        offset = register
        if factor != 1:
            offset = emitter.pure(f"mul i64 {register}, {factor}", register)
        pointer = emitter.pure(
            f"getelementptr {element}, ptr {pointer}, i64 {offset}", pointer, offset
        )
    if constant:
        code = f"getelementptr {element}, ptr {pointer}, i64 {constant}"
        pointer = emitter.pure(code, pointer)
    return pointer


def addresses(emitter: FunctionEmitter, buffer: Buffer, index: Expr) -> str:
    """A vector of addresses.

    What the lanes have in common moves one pointer, so that their own offsets are computed outside
    of loops in which only that moves.
    """
    lanes, element = index.dtype.lanes, memory_type(buffer.dtype)
    if buffer.dtype.lanes != 1:
        raise CodegenError(
            f"target llvm: buffer {buffer.name} has the dtype {buffer.dtype!s}, so vectors of "
            "its elements have to be neighbours"
        )
    common: list[Expr] = []
    own = _in_common(index, common)
    pointer = (
        address(emitter, buffer, reduce(Add, common)) if common else emitter.operand(buffer.data)
    )
    wide = DType("int64").with_lanes(lanes)
    offsets = cast(emitter, emitter.operand(own), own.dtype, wide)
    return emitter.pure(
        f"getelementptr {element}, ptr {pointer}, <{lanes} x i64> {offsets}", pointer, offsets
    )


def _in_common(index: Expr, common: list[Expr]) -> Expr:
    """The rest of a vector of indices without the terms that all lanes have in common."""
    if not isinstance(index, Add):
        return index
    terms = []
    for term in (index.a, index.b):
        if isinstance(term, Broadcast):
            common.append(term.value)
        else:
            terms.append(_in_common(term, common))
    if len(terms) == 2:
        return Add(*terms)
    return terms[0] if terms else index


def _widens(expr: Cast) -> bool:
    """Whether `expr` converts a signed integer to one that is at least as wide."""
    source, target = expr.value.dtype, expr.dtype
    return source.is_int and target.is_int and target.bits >= source.bits


# --- calls -----------------------------------------------------------------------------------


@emits("tir.address_of")
def _address_of(emitter: FunctionEmitter, call: Call) -> str:
    load = call.args[0]
    if not isinstance(load, BufferLoad) or len(load.indices) != 1:
        raise CodegenError(f"target llvm: `{call!r}` is not an address of a flat buffer's element")
    return address(emitter, load.buffer, load.indices[0])


@emits("tir.atomic_add")
def _atomic_add(emitter: FunctionEmitter, call: Call) -> str:
    if call.dtype.bits == 16:
        raise CodegenError(f"target llvm: `{call!r}` of {call.dtype}; add in float32")
    pointer, value = map(emitter.operand, call.args)
    kind = value_type(call.dtype)
    operator = "fadd" if call.dtype.is_float else "add"
    return emitter.value(f"atomicrmw {operator} ptr {pointer}, {kind} {value} monotonic")


@emits("tir.isnullptr")
def _isnullptr(emitter: FunctionEmitter, call: Call) -> str:
    value = emitter.operand(call.args[0])
    return emitter.pure(f"icmp eq ptr {value}, null", value)


@emits("tir.prefetch_address")
def _prefetch_address(emitter: FunctionEmitter, call: Call) -> str:
    pointer, mode, locality = (emitter.operand(arg) for arg in call.args)
    function = emitter.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
    emitter.effect(f"call void {function}(ptr {pointer}, i32 {mode}, i32 {locality}, i32 1)")
    return "0"
