"""Calls of functions that are not part of the program: C functions, packed functions, LLVM."""

from __future__ import annotations

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import HANDLE, INT32, DType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm
from tilewright.ir.op import CallEffectKind, Op, register_op
from tilewright.tir.buffer import Buffer
from tilewright.tir.op.memory import tvm_stack_make_array, tvm_stack_make_shape

__all__ = [
    "call_cpacked", "call_extern", "call_intrin", "call_llvm_intrin", "call_llvm_pure_intrin",
    "call_packed", "call_pure_extern", "llvm_lookup_intrinsic_id", "trace", "tvm_call_cpacked",
    "tvm_call_packed", "tvm_tuple",
]  # fmt: skip

register_op("tir.call_extern", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.call_pure_extern", vectorizable=False)
register_op("tir.tvm_call_packed", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.tvm_call_cpacked", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.tvm_call_trace_packed", CallEffectKind.OPAQUE, vectorizable=False)
# (name, name of the caller, address of the packed arguments, their number, address of the result,
# whether an object that is returned is kept there) -> status
register_op("tir.tvm_call_packed_lowered", CallEffectKind.OPAQUE, arity=6, vectorizable=False)
register_op("tir.call_llvm_intrin", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.call_llvm_pure_intrin", vectorizable=False)
register_op("tir.tvm_tuple", vectorizable=False)


def call_intrin(dtype: str, func_name: str | Op, *args: object) -> Expr:
    """A call of the operator `func_name`, such as ``"tir.exp"``, with a result of `dtype`.

    Raises:
        UnknownNameError: if there is no such operator.
        ArgumentError: for a wrong number of arguments.
    """
    op = func_name if isinstance(func_name, Op) else Op.get(func_name)
    if op.arity >= 0 and len(args) != op.arity:
        raise ArgumentError(f"{op.name} takes {op.arity} arguments, got {len(args)}")
    return Call(DType(dtype), op, tuple(map(as_expr, args)))


def call_extern(dtype: str, func_name: str, *args: object) -> Expr:
    """A call of the C function `func_name`, which may do anything; the result has `dtype`."""
    return _named_call("call_extern", DType(dtype), func_name, args)


def call_pure_extern(dtype: str, func_name: str, *args: object) -> Expr:
    """A call of the C function `func_name`, which only computes; the result has `dtype`."""
    return _named_call("call_pure_extern", DType(dtype), func_name, args)


def call_llvm_intrin(dtype: str, name: str, *args: object) -> Expr:
    """A call of an LLVM intrinsic such as ``"llvm.prefetch"``, which may have effects.

    Args:
        dtype: of the result.
        name: of the intrinsic.
        args: its arguments. A constant ``T.uint32(n)`` before n or more others is taken for the
            number of arguments that name the overload, and left out: their types are known.
    """
    return _named_call("call_llvm_intrin", DType(dtype), name, _without_signature(args))


def call_llvm_pure_intrin(dtype: str, name: str, *args: object) -> Expr:
    """A call of an LLVM intrinsic such as ``"llvm.fabs"``, which only computes.

    The arguments are those of `call_llvm_intrin`.
    """
    return _named_call("call_llvm_pure_intrin", DType(dtype), name, _without_signature(args))


def _without_signature(args: tuple[object, ...]) -> tuple[object, ...]:
    """The arguments of an LLVM intrinsic without the number of those that name the overload."""
    first = args[0] if args else None
    if isinstance(first, IntImm) and first.dtype == "uint32" and first.value < len(args):
        return args[1:]
    return args


def call_packed(*args: object) -> Expr:
    """A call of a registered function; the result is int32.

    Args:
        args: the name of the function, then its arguments: numbers, strings, and buffers, which
            are passed as arrays.
    """
    return _packed("tvm_call_packed", args)


def call_cpacked(*args: object) -> Expr:
    """Like `call_packed`, for a function of the same module with the packed calling convention."""
    return _packed("tvm_call_cpacked", args)


tvm_call_packed = call_packed
tvm_call_cpacked = call_cpacked


def llvm_lookup_intrinsic_id(name: str) -> Expr:
    """What `call_llvm_intrin` and `call_llvm_pure_intrin` know an LLVM intrinsic by: its name."""
    return StringImm(name)


def trace(args: object, trace_action: str = "tvm.default_trace_action") -> Expr:
    """The last of `args`, shown to a registered function each time that it is computed.

    For looking at the values of a program while it runs::

        te.compute((n,), lambda i: te.trace([i, A[i] * 2]))

    Args:
        args: a list of expressions; the function is called with all of them.
        trace_action: the name of the function. What it returns, if that is not None, takes the
            place of the value. The default one prints its arguments.

    Raises:
        ArgumentError: if `args` is not a list of expressions, or `trace_action` is not a name.
        DTypeError: if the last of them is not a scalar number.
    """
    if not isinstance(args, (list, tuple)) or not args:
        raise ArgumentError(f"`trace` needs a list of expressions, got {args!r}")
    if not isinstance(trace_action, str) or not trace_action:
        raise ArgumentError(f"`trace` needs the name of a function, got {trace_action!r}")
    values = tuple(_packed_argument(value) for value in args)
    dtype = values[-1].dtype
    if isinstance(args[-1], Buffer) or dtype.is_vector or not (dtype.is_float or dtype.is_integral):
        raise DTypeError(f"`trace` gives the last argument, which must be a number: {args[-1]!r}")
    return Call(dtype, Op.get("tir.tvm_call_trace_packed"), (StringImm(trace_action), *values))


def tvm_tuple(*value: object) -> Expr:
    """Several values as one argument of a call."""
    return Call(HANDLE, Op.get("tir.tvm_tuple"), tuple(map(as_expr, value)))


def _named_call(op: str, dtype: DType, name: str, args: tuple[object, ...]) -> Expr:
    if not isinstance(name, (str, StringImm)):
        raise ArgumentError(f"`{op}` needs the name of a function, got {name!r}")
    return Call(dtype, Op.get(f"tir.{op}"), (StringImm(str(name)), *map(as_expr, args)))


def _packed(op: str, args: tuple[object, ...]) -> Expr:
    if not args or not isinstance(args[0], (str, StringImm)):
        raise ArgumentError("`call_packed` needs the name of a function first, then arguments")
    arguments = (_packed_argument(argument) for argument in args[1:])
    return Call(INT32, Op.get(f"tir.{op}"), (StringImm(str(args[0])), *arguments))


def _packed_argument(value: object) -> Expr:
    """A buffer is passed as an array made on the stack; everything else as it is."""
    if not isinstance(value, Buffer):
        return as_expr(value)
    strides = tvm_stack_make_shape(*value.strides) if value.strides else 0
    return tvm_stack_make_array(
        value.data, tvm_stack_make_shape(*value.shape), strides, len(value.shape),
        const(0, value.dtype), value.elem_offset,
    )  # fmt: skip
