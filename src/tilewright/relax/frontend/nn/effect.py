"""State of modules, which functions take and return: the order of what is printed, and caches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, DTypeError
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import PrimValue, RelaxExpr, ShapeExpr, Var
from tilewright.relax.frontend.nn.parameter import get_default_dtype
from tilewright.relax.frontend.nn.tensor import (
    Tensor,
    current_builder,
    graph_value,
    shape_expr,
    wrap_nested,
)
from tilewright.relax.op import call_inplace_packed, call_pure_packed, null_value, zeros
from tilewright.relax.struct_info import ObjectStructInfo, TensorStructInfo
from tilewright.relax.vm.builtins import (
    APPEND_TO_CACHE,
    CALL_DEBUG_FUNCTION,
    CREATE_CACHE,
    VIEW_OF_CACHE,
)


class Effect:
    """State that functions of a module change: a cache, or the order of what is printed.

    A graph function has no state: it takes the state after its inputs, and returns the changed one
    with its result. The function ``_initialize_effect`` of the module makes the first.

    Subclasses that keep one value override `emit_init` only.
    """

    state: RelaxExpr | None = None
    """The state where the building of the function has come to."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[RelaxExpr]:
        """Build what makes the first state.

        Args:
            name_hint: the path of the effect in the module.
            builder: builds the function ``_initialize_effect``.

        Returns:
            The values of the state.
        """
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """Parameters for the state, one for each value of it."""
        return [Var(name_hint, ObjectStructInfo())]

    def set_state(self, state_vars: list[Any]) -> None:
        """Begin a function with this state."""
        (self.state,) = state_vars

    def finalize(self) -> list[Any]:
        """End a function: the state that it returns."""
        state, self.state = self.state, None
        return [state]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the state, where it has one."""


class IOEffect(Effect):
    """Calls that are kept, in their order: each takes the state that the one before returned."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[RelaxExpr]:
        """Build the first state, which is nothing."""
        return [builder.emit(null_value(), name_hint)]

    def call(self, name: str, line: str, args: tuple[Any, ...]) -> None:
        """Call the registered function `name` with a line of the user's source and `args`."""
        builder = current_builder()
        if self.state not in builder.function_scope.visible:
            raise ArgumentError(
                "nn.op.print_ and nn.op.debug_func: a module with define_subroutine = True, and a "
                "method whose effect_mode is 'none', have no effect that keeps their order"
            )
        values = [graph_value(arg) for arg in args]
        expr = call_pure_packed(
            CALL_DEBUG_FUNCTION, self.state, name, line, *values, sinfo_args=ObjectStructInfo()
        )
        self.state = builder.emit(expr, "_io")

    def print_(self, tensor: Any) -> None:
        """Print an array when the function runs."""
        self.call("vm.builtin.debug_print", "", (tensor,))


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
