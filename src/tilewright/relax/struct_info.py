"""Struct info: what the compiler knows about a value.

It says what kind of value it is, and for an array its rank, its dtype and its extents, which may
be expressions of symbolic sizes. Every expression of a normalised program has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT64, DType, PrimType
from tilewright.ir.expr import Expr
from tilewright.ir.module import VDevice
from tilewright.ir.node import Node, Span, attr, child, meta, node
from tilewright.providers import provider
from tilewright.tir.function import PrimFunc

if TYPE_CHECKING:
    from tilewright.relax.expr import RelaxExpr

UNKNOWN_NDIM = -1
"""The rank of an array or a shape whose rank is not known."""

_set = object.__setattr__


class StructInfo(Node):
    """Base class of struct info."""

    __slots__ = ()


@node
class ObjectStructInfo(StructInfo):
    """Any value at all."""

    span: Span | None = meta(default=None)


@node
class PrimStructInfo(StructInfo):
    """A scalar.

    Attributes:
        dtype: its type.
        value: the expression that it equals; None where that is not known.
    """

    dtype: DType = attr()
    value: Expr | None = child(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, dtype: object = None, value: object = None, span: Span | None = None
    ) -> None:
        known = None if value is None else as_expr(value, None if dtype is None else DType(dtype))
        if dtype is None and known is None:
            raise ArgumentError("PrimStructInfo: give the dtype of the scalar, or its value")
        _set(self, "dtype", DType(dtype) if dtype is not None else known.dtype)  # type: ignore[union-attr]
        _set(self, "value", known)
        _set(self, "span", span)


@node
class ShapeStructInfo(StructInfo):
    """A shape.

    Attributes:
        values: the extents, of dtype int64; None where only the rank is known.
        ndim: how many there are; -1 where that is not known either.
    """

    values: tuple[Expr, ...] | None = child(default=None)
    ndim: int = attr(default=UNKNOWN_NDIM)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        values: Sequence[Any] | None = None,
        ndim: int = UNKNOWN_NDIM,
        span: Span | None = None,
    ) -> None:
        extents = None if values is None else extents_of(values)
        _set(self, "values", extents)
        _set(self, "ndim", _rank("Shape", ndim, extents))
        _set(self, "span", span)


@node
class TensorStructInfo(StructInfo):
    """An array.

    Attributes:
        shape: a `ShapeExpr`, or a variable that stands for a shape; None where it is not known.
        dtype: type of the elements; None where it is not known.
        vdevice: where the array is; None for the default device.
        ndim: number of dimensions; -1 where it is not known.
    """

    shape: RelaxExpr | None = child(default=None)
    dtype: DType | None = attr(default=None)
    vdevice: VDevice | None = attr(default=None)
    ndim: int = attr(default=UNKNOWN_NDIM)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        shape: Any = None,
        dtype: object = None,
        vdevice: VDevice | None = None,
        ndim: int = UNKNOWN_NDIM,
        span: Span | None = None,
    ) -> None:
        known = None if shape is None else provider("graph expressions").as_shape(shape)
        info = None if known is None else known.struct_info
        if info is not None and not isinstance(info, ShapeStructInfo):
            raise ArgumentError(f"Tensor: the shape is a shape, got {shape!r}")
        if info is not None and info.values is None:
            extents_of(getattr(known, "values", ()))  # no extent of an array is -1
        rank = UNKNOWN_NDIM if info is None else info.ndim
        if ndim not in (UNKNOWN_NDIM, rank) and rank != UNKNOWN_NDIM:
            raise ShapeError(f"Tensor: the shape has {rank} dimensions, but ndim is {ndim}")
        _set(self, "shape", known)
        _set(self, "dtype", None if dtype is None or dtype == "" else DType(dtype))
        _set(self, "vdevice", vdevice)
        _set(self, "ndim", ndim if rank == UNKNOWN_NDIM else rank)
        _set(self, "span", span)

    @property
    def extents(self) -> tuple[Expr, ...] | None:
        """The extents as int64 expressions; None where they are not known."""
        info = None if self.shape is None else self.shape.struct_info
        return info.values if isinstance(info, ShapeStructInfo) else None


@node
class TupleStructInfo(StructInfo):
    """Several values.

    Attributes:
        fields: what is known of each.
    """

    fields: tuple[StructInfo, ...] = child()
    span: Span | None = meta(default=None)

    def __init__(self, fields: Sequence[StructInfo], span: Span | None = None) -> None:
        for position, field in enumerate(fields):
            if not isinstance(field, StructInfo):
                raise ArgumentError(f"Tuple: field {position} is not struct info: {field!r}")
        _set(self, "fields", tuple(fields))
        _set(self, "span", span)


@node
class FuncStructInfo(StructInfo):
    """A function.

    Symbolic sizes that occur in `params` are the function's own: each call gives them values.

    Attributes:
        params: what it takes; None for anything.
        ret: what it returns.
        purity: whether a call has no effect but its result.
        derive_func: what a call returns, where `params` is None; None for `ret`. A function from
            the call to struct info, or the name under which `register_func` has one.
    """

    __compare_first__ = ("params",)
    __patterns__ = ("params",)

    params: tuple[StructInfo, ...] | None = child(default=None)
    ret: StructInfo = child(default=None)
    purity: bool = attr(default=True)
    derive_func: str | Callable[..., StructInfo] | None = attr(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        params: Sequence[StructInfo] | None = None,
        ret: StructInfo | None = None,
        purity: bool = True,
        derive_func: str | Callable[..., StructInfo] | None = None,
        span: Span | None = None,
    ) -> None:
        if derive_func is not None and not (isinstance(derive_func, str) or callable(derive_func)):
            raise ArgumentError(
                f"Callable: derive_func is a function, or the name of one, got {derive_func!r}"
            )
        if derive_func is not None and params is not None:
            raise ArgumentError("Callable: derive_func is for functions of unknown parameters")
        _set(self, "params", None if params is None else tuple(params))
        _set(self, "ret", ret if ret is not None else ObjectStructInfo())
        _set(self, "purity", bool(purity))
        _set(self, "derive_func", derive_func)
        _set(self, "span", span)

    @staticmethod
    def opaque_func(
        *,
        ret: StructInfo | None = None,
        derive_func: str | Callable[..., StructInfo] | None = None,
        purity: bool = False,
    ) -> FuncStructInfo:
        """A function whose parameters are not known."""
        return FuncStructInfo(None, ret, purity, derive_func)


def struct_info_of_kernel(func: PrimFunc) -> FuncStructInfo:
    """What is known of a tensor program: its buffers are arrays, and a call has effects."""
    params: list[StructInfo] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is not None:
            params.append(TensorStructInfo(buffer.shape, buffer.dtype))
        elif param.dtype.is_handle:
            params.append(ObjectStructInfo())
        else:
            params.append(PrimStructInfo(param.dtype))
    returned = func.ret_type
    ret = PrimStructInfo(returned.dtype) if isinstance(returned, PrimType) else TupleStructInfo(())
    return FuncStructInfo(params, ret, purity=False)


def extents_of(values: Sequence[Any], least: int = 0) -> tuple[Expr, ...]:
    """Extents as int64 expressions.

    Args:
        values: the extents.
        least: the smallest that is allowed.

    Raises:
        ArgumentError: for an extent that is not an integer.
        ShapeError: for a smaller one.
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ArgumentError(f"a shape is a sequence of extents, got {values!r}")
    return tuple(_extent(position, value, least) for position, value in enumerate(values))


def _extent(position: int, value: Any, least: int) -> Expr:
    try:
        extent = as_expr(value)
    except DTypeError:
        raise ArgumentError(
            f"extent {position} of a shape is an integer, got {value!r}; an array becomes a shape "
            "by R.tensor_to_shape, and R.match_cast names its extents"
        ) from None
    if not extent.dtype.is_scalar_integer:
        hint = ", or a size such as tir.Var('n', 'int64')" if isinstance(value, str) else ""
        raise ArgumentError(f"extent {position} of a shape is an integer{hint}, got {value!r}")
    constant = getattr(extent, "value", 0)
    if isinstance(constant, int) and constant < least:
        raise ShapeError(f"extent {position} of a shape is {constant}, which is negative")
    return cast(INT64, extent)


def _rank(owner: str, ndim: int, extents: tuple[Expr, ...] | None) -> int:
    if extents is None:
        return ndim
    if ndim not in (UNKNOWN_NDIM, len(extents)):
        raise ShapeError(f"{owner}: {len(extents)} extents are given, but ndim is {ndim}")
    return len(extents)
