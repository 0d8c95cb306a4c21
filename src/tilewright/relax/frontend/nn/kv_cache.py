"""`KVCache`: the keys or values of the tokens so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, DTypeError
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import PrimValue, RelaxExpr, ShapeExpr
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.parameter import get_default_dtype
from tilewright.relax.frontend.nn.tensor import (
    Tensor,
    current_builder,
    shape_expr,
    wrap_nested,
)
from tilewright.relax.op import call_inplace_packed, call_pure_packed, zeros
from tilewright.relax.struct_info import ObjectStructInfo, TensorStructInfo
from tilewright.relax.vm.builtins import APPEND_TO_CACHE, CREATE_CACHE, VIEW_OF_CACHE


class KVCache(Effect):
    """Rows of equal shape that grow from call to call.

    Args:
        init_seq_len: the number of rows for which there is memory at first.
        unit_shape: the shape of a row, such as ``(heads, size)``.
        dtype: of the elements.
    """

    def __init__(
        self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None
    ) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = get_default_dtype() if dtype is None else dtype

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[RelaxExpr]:
        """Build an empty cache."""
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        rows = builder.emit(zeros(shape, self.dtype))
        cache = call_pure_packed(
            CREATE_CACHE, rows, shape, PrimValue(0), sinfo_args=ObjectStructInfo()
        )
        return [builder.emit(cache, name_hint)]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the rows."""
        self.dtype = self.dtype if dtype is None else dtype

    def append(self, new_element: Tensor) -> None:
        """Add rows at the end.

        Args:
            new_element: ``(rows, *unit_shape)``.

        Raises:
            DTypeError: for another dtype than that of the cache.
        """
        if new_element.dtype != self.dtype:
            raise DTypeError(
                f"KVCache.append: the cache has dtype {self.dtype}, the rows {new_element.dtype}"
            )
        self.state = current_builder().emit(
            call_inplace_packed(
                APPEND_TO_CACHE, self._cache("append"), new_element._expr,
                inplace_indices=[0], sinfo_args=ObjectStructInfo(),
            )
        )  # fmt: skip

    def view(self, seq_len: Any) -> Tensor:
        """The first `seq_len` rows, ``(seq_len, *unit_shape)``."""
        shape = shape_expr([seq_len, *self.unit_shape])
        info = TensorStructInfo(shape, self.dtype)
        rows = call_pure_packed(VIEW_OF_CACHE, self._cache("view"), shape, sinfo_args=info)
        return wrap_nested(rows, "view")

    def _cache(self, caller: str) -> RelaxExpr:
        if self.state is None:
            raise ArgumentError(
                f"KVCache.{caller}: the function has no cache; it is called while a module that "
                "has the cache as an attribute is exported, with an effect_mode that is not 'none'"
            )
        return self.state
