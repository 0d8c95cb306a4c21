"""`IOEffect`: the order of what is printed while a function runs."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import RelaxExpr
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.tensor import current_builder, graph_value
from tilewright.relax.op import call_pure_packed, null_value
from tilewright.relax.struct_info import ObjectStructInfo
from tilewright.relax.vm.builtins import CALL_DEBUG_FUNCTION


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
