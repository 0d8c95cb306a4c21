"""Emitting the expressions that operators of other frameworks become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Function, PrimValue, RelaxExpr, SeqExpr, Var
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.struct_info import ShapeStructInfo, TensorStructInfo

_FAR: Final = 1 << 40
"""More than any extent."""


class Emitter:
    """Emits expressions into the function that a builder is making.

    Attributes:
        builder: makes the function.
    """

    def __init__(self, builder: BlockBuilder) -> None:
        self.builder = builder

    @property
    def name_hint(self) -> str:
        """The name of new variables."""
        return ""

    def emit(self, expr: Any) -> Any:
        """Bind `expr` to a variable, which has struct info; a variable stays as it is."""
        return expr if isinstance(expr, Var) else self.builder.emit(expr, self.name_hint)

    def branch(self, body: Callable[[], Any]) -> SeqExpr:
        """What `body` emits and returns as an expression of its own, such as a branch."""
        return self._scope((), body)

    def function(self, params: Sequence[Var], body: Callable[[Sequence[Var]], Any]) -> Function:
        """The pure function whose body is what `body` emits and returns, given the parameters."""
        whole = self._scope(params, lambda: body(params))
        return Function(tuple(params), whole, is_pure=True)

    def _scope(self, params: Sequence[Var], body: Callable[[], Any]) -> SeqExpr:
        self.builder.begin_scope(params)
        try:
            result = body()
        finally:
            blocks = self.builder.end_scope()
        return SeqExpr(blocks, result)

    def emit_te(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Bind what a function of `tilewright.topi` computes, where there is no operator for it."""
        return self.builder.emit_te(function, *args, **kwargs)

    def shape_of(self, value: Any) -> list[Any]:
        """The extents of an array."""
        extents = value.struct_info.extents
        assert extents is not None, "the extents of every value are known or named"
        return list(extents)

    def rank_of(self, value: Any) -> int:
        """The number of dimensions of an array."""
        return value.struct_info.ndim

    def dtype_of(self, value: Any) -> str:
        """The dtype of an array."""
        return str(value.struct_info.dtype)

    def is_float(self, value: Any) -> bool:
        """Whether the elements of an array are floats."""
        return self.dtype_of(value).startswith(("float", "bfloat"))

    def named(self, value: Any, ndim: int | None = None, dtype: str | None = None) -> Any:
        """An array whose extents have names, if they were not known.

        Raises:
            UnsupportedError: if the number of dimensions is not known.
        """
        info = value.struct_info
        if isinstance(info, TensorStructInfo) and info.extents is not None:
            return value
        rank = ndim if ndim is not None else getattr(info, "ndim", -1)
        kind = dtype or getattr(info, "dtype", None)
        if rank < 0 or kind is None:
            raise UnsupportedError("the number of dimensions of a value is not known")
        names = [Size(f"{self.name_hint or 'size'}_{axis}", INT64) for axis in range(rank)]
        return self.builder.match_cast(value, TensorStructInfo(names, str(kind)))

    def sizes_from(self, value: Any, count: int) -> list[Any]:
        """The `count` elements of an array of integers as expressions, which sizes can have."""
        # A shape has no negative extents: what may be negative is moved.
        vector = self.reshape(self.cast(value, "int64"), [count])
        vector = op.add(op.clip(vector, -_FAR, _FAR), self.operand(_FAR, "int64"))
        names = [Size(f"{self.name_hint or 'size'}_{place}", INT64) for place in range(count)]
        shape = self.emit(op.tensor_to_shape(self.emit(vector)))
        self.builder.match_cast(shape, ShapeStructInfo(names))
        return [name - _FAR for name in names]

    def cast(self, value: Any, dtype: str) -> Any:
        """An array with elements of `dtype`; a number stays as it is."""
        if not isinstance(value, RelaxExpr) or self.dtype_of(value) == dtype:
            return value
        return self.emit(op.astype(value, dtype))

    def operand(self, value: Any, dtype: str) -> Any:
        """An array or a number with elements of `dtype`."""
        if isinstance(value, RelaxExpr):
            return self.cast(value, dtype)
        element = DType(dtype)
        is_symbolic = isinstance(value, Expr)
        return PrimValue(cast(element, value) if is_symbolic else const(value, element))

    def permute(self, value: Any, axes: Sequence[int]) -> Any:
        """Permute dimensions; a permutation of a permutation is one."""
        order = [axis % len(axes) for axis in axes]
        if isinstance(value, Var):
            binding = self.builder.lookup_binding(value)
            if isinstance(binding, Call) and binding.op is _PERMUTE:
                before = binding.attrs["axes"]
                order, value = [int(before[axis]) for axis in order], binding.args[0]
        return value if order == sorted(order) else self.emit(op.permute_dims(value, order))

    def reshape(self, value: Any, shape: Sequence[Any]) -> Any:
        """Elements in the same order with another shape."""
        return value if self.same_shape(value, shape) else self.emit(op.reshape(value, shape))

    def same_shape(self, value: Any, shape: Sequence[Any]) -> bool:
        """Whether an array is known to have these extents."""
        extents = value.struct_info.extents
        return (
            extents is not None
            and len(extents) == len(shape)
            and all(map(self.builder.analyzer.can_prove_equal, extents, shape))
        )


_PERMUTE: Final = op.permute_dims(Var("x", TensorStructInfo(ndim=2)), (1, 0)).op


def number(value: Any) -> Any:
    """An extent as an int, if it is one."""
    return int(value.value) if isinstance(value, IntImm) else value
