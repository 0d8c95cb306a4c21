"""`Effect`: the state of a module, which its functions take and return."""

from __future__ import annotations

from typing import Any

from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import RelaxExpr, Var
from tilewright.relax.struct_info import ObjectStructInfo


class Effect:
    """State that functions of a module change: a cache, or the order of what is printed.

    A graph function has no state: it takes the state after its inputs, and returns the changed one
    beside its result. The function ``_initialize_effect`` of the module makes the first.

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
