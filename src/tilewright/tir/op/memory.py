"""Operators on addresses, and on the structures that cross the call boundary."""

from __future__ import annotations

import enum

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL, HANDLE, INT32, VOID, DType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm
from tilewright.ir.op import CallEffectKind, Op, register_op
from tilewright.tir.buffer import Buffer, BufferLoad

__all__ = [
    "StructField", "address_of", "atomic_add", "isnullptr", "lookup_param", "prefetch_address",
    "tvm_access_ptr", "tvm_stack_alloca", "tvm_stack_make_array", "tvm_stack_make_shape",
    "tvm_struct_get", "tvm_struct_set", "type_annotation",
]  # fmt: skip

register_op("tir.address_of", arity=1, vectorizable=False)
register_op("tir.atomic_add", CallEffectKind.UPDATE_STATE, arity=2, vectorizable=False)
register_op("tir.tvm_access_ptr", CallEffectKind.SPECIAL_CALL_ARG, arity=5, vectorizable=False)
register_op("tir.type_annotation", arity=0, vectorizable=False)
register_op("tir.isnullptr", arity=1, vectorizable=False)
register_op("tir.lookup_param", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
register_op("tir.tvm_struct_get", CallEffectKind.READ_STATE, arity=3, vectorizable=False)
register_op("tir.tvm_struct_set", CallEffectKind.UPDATE_STATE, arity=4, vectorizable=False)
register_op("tir.tvm_stack_alloca", CallEffectKind.OPAQUE, arity=2, vectorizable=False)
register_op("tir.tvm_stack_make_shape", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.tvm_stack_make_array", CallEffectKind.OPAQUE, vectorizable=False)
# It changes nothing that a program can see, and still it must be neither dropped nor duplicated.
register_op("tir.prefetch_address", CallEffectKind.UPDATE_STATE, arity=3, vectorizable=False)


class StructField(enum.IntEnum):
    """The fields that `tvm_struct_get` and `tvm_struct_set` reach.

    `ARRAY_*` are fields of a DLPack tensor (``DLTensor``); `ANY_*` of a packed argument
    (``TVMFFIAny``: an int32 type index, 4 bytes that do not matter here, and 8 bytes of value).
    """

    ARRAY_ADDRESS = 0
    """The address of the array structure itself."""
    ARRAY_DATA = 1
    ARRAY_SHAPE = 2
    ARRAY_STRIDES = 3
    ARRAY_NDIM = 4
    ARRAY_TYPE_CODE = 5
    ARRAY_TYPE_BITS = 6
    ARRAY_TYPE_LANES = 7
    ARRAY_BYTE_OFFSET = 8
    ARRAY_DEVICE_ID = 9
    ARRAY_DEVICE_TYPE = 10
    ANY_TYPE_INDEX = 11
    ANY_VALUE = 12
    """The value, read or written with the dtype of the access (int64, float64 or handle)."""


def address_of(obj: Buffer | BufferLoad) -> Expr:
    """The address of an element, or of the first element of a buffer, as a handle."""
    load = obj.vload([0] * len(obj.shape)) if isinstance(obj, Buffer) else obj
    if not isinstance(load, BufferLoad):
        raise ArgumentError(f"`address_of` needs a buffer or an element of one, got {obj!r}")
    return Call(HANDLE, Op.get("tir.address_of"), (load,))


def tvm_access_ptr(
    ptype: object, data: object, offset: object, extent: object, rw_mask: object
) -> Expr:
    """The address ``data + offset``, as an argument of a call.

    Args:
        ptype: dtype of the elements (a name, or what `type_annotation` returned).
        data: handle of the memory.
        offset: position of the first element that is accessed.
        extent: number of elements that may be accessed.
        rw_mask: 1 to read, 2 to write, 3 for both.
    """
    annotation = ptype if isinstance(ptype, Expr) else type_annotation(str(ptype))
    arguments = (annotation, as_expr(data), *map(as_expr, (offset, extent, rw_mask)))
    _require_handle(arguments[1], "tvm_access_ptr")
    return Call(HANDLE, Op.get("tir.tvm_access_ptr"), arguments)


_MASKS = {"r": 1, "w": 2, "rw": 3, 1: 1, 2: 2, 3: 3}


def address_to_access(
    buffer: Buffer,
    access_mask: str | int,
    ptr_type: str,
    content_lanes: int,
    offset: object,
    extent: object,
) -> Expr:
    """See `Buffer.access_ptr`."""
    mask = _MASKS.get(access_mask)
    if mask is None:
        raise ArgumentError(f"access_ptr: the mask is 'r', 'w' or 'rw', got {access_mask!r}")
    start = buffer.elem_offset + as_expr(offset)
    if extent is None:
        count: Expr = const(1, start.dtype)
        for size in buffer.shape:
            count = count * size
        if buffer.strides:
            count = buffer.shape[0] * buffer.strides[0]
        extent = count - as_expr(offset)
    dtype = buffer.dtype.element
    if content_lanes > 1:
        start, extent = start // content_lanes, as_expr(extent) // content_lanes
        dtype = dtype.with_lanes(content_lanes)
    arguments = (type_annotation(dtype), buffer.data, start, as_expr(extent), const(mask, "int32"))
    return Call(DType(ptr_type), Op.get("tir.tvm_access_ptr"), arguments)


def type_annotation(dtype: str) -> Expr:
    """A dtype as an argument of a call."""
    return Call(DType(dtype), Op.get("tir.type_annotation"), ())


ATOMIC_DTYPES = ("int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
"""The dtypes of elements to which threads can add at the same time."""


def atomic_add(address: object, value: object) -> Expr:
    """Add to an element of memory, of which no addition by another thread at that time is lost.

    Floats are rounded in the order in which threads come, which may be another one each time.

    Args:
        address: the element, ``C[i]``, or ``T.address_of(C[i])``.
        value: what is added, of the dtype of the element.

    Returns:
        What the element was before.

    Raises:
        ArgumentError: for an address that is not that of an element.
        DTypeError: for a value of another dtype than the element, or elements that cannot be
            added to by all devices.
    """
    pointer = address_of(address) if isinstance(address, BufferLoad) else as_expr(address)
    element = pointer.args[0] if isinstance(pointer, Call) and pointer.args else None
    if not isinstance(element, BufferLoad) or pointer.op is not Op.get("tir.address_of"):  # type: ignore[attr-defined]
        raise ArgumentError(
            f"`atomic_add` needs an element of a buffer, or its address, got {address!r}"
        )
    number = const(value, element.dtype) if isinstance(value, (int, float)) else as_expr(value)
    if number.dtype is not element.dtype:
        raise DTypeError(
            f"`atomic_add`: the element is {element.dtype} and the value {number.dtype}; cast it"
        )
    if str(element.dtype) not in ATOMIC_DTYPES:
        raise DTypeError(
            f"`atomic_add`: elements are {', '.join(ATOMIC_DTYPES)}, not {element.dtype}"
        )
    return Call(element.dtype, Op.get("tir.atomic_add"), (pointer, number))


def isnullptr(x: object) -> Expr:
    """Whether the handle `x` is null, as bool."""
    operand = _require_handle(as_expr(x), "isnullptr")
    return Call(BOOL, Op.get("tir.isnullptr"), (operand,))


def lookup_param(param_name: str) -> Expr:
    """The handle of the linked parameter of that name."""
    return Call(HANDLE, Op.get("tir.lookup_param"), (StringImm(param_name),))


def prefetch_address(address: object, rw: int = 0, locality: int = 3) -> Expr:
    """Bring the cache line of an address nearer, as an expression to evaluate.

    Args:
        address: an element of a buffer, or a handle. It may lie outside of the memory.
        rw: 0 if the line will be read, 1 if it will be written.
        locality: from 0 (used once) to 3 (keep it in all cache levels).
    """
    pointer = address_of(address) if isinstance(address, BufferLoad) else as_expr(address)
    _require_handle(pointer, "prefetch_address")
    mode, keep = const(rw, "int32"), const(locality, "int32")
    for name, value, limit in (("rw", mode, 1), ("locality", keep, 3)):
        if not isinstance(value, IntImm) or not 0 <= value.value <= limit:
            raise ArgumentError(f"`prefetch_address`: {name} is a constant from 0 to {limit}")
    return Call(VOID, Op.get("tir.prefetch_address"), (pointer, mode, keep))


def tvm_struct_get(arr: object, index: object, field: int, dtype: str) -> Expr:
    """Field `field` (see `StructField`) of element `index` of the structures at `arr`."""
    pointer = _require_handle(as_expr(arr), "tvm_struct_get")
    arguments = (pointer, as_expr(index), const(int(StructField(field)), "int32"))
    return Call(DType(dtype), Op.get("tir.tvm_struct_get"), arguments)


def tvm_struct_set(arr: object, index: object, field: int, value: object) -> Expr:
    """Set field `field` of element `index` of the structures at `arr`, to evaluate."""
    pointer = _require_handle(as_expr(arr), "tvm_struct_set")
    position = const(int(StructField(field)), "int32")
    arguments = (pointer, as_expr(index), position, as_expr(value))
    return Call(INT32, Op.get("tir.tvm_struct_set"), arguments)


def tvm_stack_alloca(dtype_str: str, num: object) -> Expr:
    """Memory on the stack for `num` structures.

    Args:
        dtype_str: ``"shape"`` (int64), ``"arg_value"`` (packed argument), ``"array"`` (DLPack
            tensor), or ``"arg_tcode"`` (int32).
        num: how many.
    """
    return Call(HANDLE, Op.get("tir.tvm_stack_alloca"), (StringImm(dtype_str), as_expr(num)))


def tvm_stack_make_shape(*args: object) -> Expr:
    """The address of an int64 array on the stack that holds `args`."""
    return Call(HANDLE, Op.get("tir.tvm_stack_make_shape"), tuple(map(as_expr, args)))


def tvm_stack_make_array(
    data: object,
    shape: object,
    strides: object,
    ndim: object,
    arr_dtype: object,
    elem_offset: object,
    *device: object,
) -> Expr:
    """The address of a DLPack tensor on the stack with these fields.

    Args:
        data: handle of the elements.
        shape: handle of `ndim` int64 extents.
        strides: handle of `ndim` int64 strides, or 0 for compact.
        ndim: number of dimensions.
        arr_dtype: any constant of the dtype of the elements.
        elem_offset: position of the first element.
        *device: the int64 word of the tensor with its device, unless that is the CPU; only in an
            argument of a call by name.
    """
    arguments = (data, shape, strides, ndim, arr_dtype, elem_offset, *device)
    return Call(HANDLE, Op.get("tir.tvm_stack_make_array"), tuple(map(as_expr, arguments)))


def _require_handle(operand: Expr, name: str) -> Expr:
    if not operand.dtype.is_handle:
        raise DTypeError(f"`{name}` needs a handle, got {operand!r} of dtype {operand.dtype!s}")
    return operand
