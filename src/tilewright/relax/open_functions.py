"""What is open while functions are built: the function, its scopes and its block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import IRModule
from tilewright.relax.expr import (
    BindingBlock,
    Call,
    If,
    RelaxExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.module_builder import ModuleBuilder
from tilewright.relax.scope import FunctionScope, OpenBlock, Scope


class OpenFunctions(ModuleBuilder):
    """The functions that are being built, innermost last, and what is known of their variables.

    Args:
        mod: the module to begin with, which is not changed.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        super().__init__(mod)
        self._functions = [FunctionScope()]

    # --- functions --------------------------------------------------------------------------

    @contextmanager
    def body_of_function(self, params: Sequence[Var]) -> Iterator[FunctionScope]:
        """A ``with`` statement around the body of a function that the caller makes itself."""
        scope = FunctionScope(None, params)
        self._functions.append(scope)
        try:
            yield scope
        finally:
            del self._functions[self._functions.index(scope) :]

    @property
    def is_in_body(self) -> bool:
        """Whether the body of a function is being built."""
        return len(self._functions) > 1

    def _current_function(self, caller: str) -> FunctionScope:
        if self.function_scope.name is None:
            raise ArgumentError(f"{caller} stands inside of `with builder.function(name)`")
        return self.function_scope

    @property
    def function_scope(self) -> FunctionScope:
        """The function that is being built; outside of all, a nameless one."""
        return self._functions[-1]

    def current_func(self) -> FunctionScope | None:
        """The function that is being built; None outside of all."""
        return None if self.function_scope.name is None else self.function_scope

    def finalize(self) -> IRModule:
        """The finished module."""
        if len(self._functions) > 1:
            raise ArgumentError(f"function {self.function_scope.name!r} is not finished")
        return self.get()

    # --- scopes and blocks ------------------------------------------------------------------

    def begin_scope(self, params: Sequence[Var] = ()) -> None:
        """Begin the body of a branch or of an inner function."""
        self.function_scope.add_params(params)
        self.function_scope.scopes.append(Scope())

    def end_scope(self) -> tuple[BindingBlock, ...]:
        """End it; its blocks."""
        return self.function_scope.end_scope()

    def begin_dataflow_block(self) -> None:
        """Begin a block in which nothing has an effect."""
        self._begin_block(is_dataflow=True)

    def begin_binding_block(self) -> None:
        """Begin an ordinary block."""
        self._begin_block(is_dataflow=False)

    def _begin_block(self, is_dataflow: bool) -> None:
        if self.in_dataflow:
            raise ArgumentError("a dataflow block cannot have blocks inside")
        self.function_scope.close_block()
        self.function_scope.scope.open = OpenBlock(is_dataflow)

    def end_block(self) -> BindingBlock | None:
        """End the open block; None if nothing was bound in it."""
        return self.function_scope.close_block()

    @property
    def in_dataflow(self) -> bool:
        """Whether bindings go to a dataflow block now."""
        block = self.function_scope.scope.open
        return block is not None and block.is_dataflow

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """A ``with`` statement around bindings of which none has an effect."""
        self.begin_dataflow_block()
        scope = self.function_scope.scope
        try:
            yield
        except BaseException:
            scope.open = None  # what an error interrupted is not part of the function
            raise
        self.end_block()

    # --- variables --------------------------------------------------------------------------

    def lookup_binding(self, var: Var) -> RelaxExpr | None:
        """The value of a variable of this function; None for a parameter."""
        return self.function_scope.bound.get(var)

    def lookup_usable(self, var: Var) -> RelaxExpr | None:
        """Like `lookup_binding`; None also for a value that cannot be computed again here.

        That is so if an operand is a variable of a finished dataflow block or branch, or may have
        been written over since, and for a `match_cast`, of which the value says less.
        """
        scope, value = self.function_scope, self.lookup_binding(var)
        if var in scope.casts or not scope.visible.issuperset(_variables_of(value)):
            return None
        is_operation = isinstance(value, (Call, If))
        is_old = is_operation and scope.writes_before.get(var, 0) != scope.writes
        return None if is_old else value

    def get_unique_name(self, name_prefix: str) -> str:
        """A name that no variable of this function has."""
        return self.function_scope.names.unique(name_prefix)

    def defines_size(self, size: Size) -> bool:
        """Whether a symbolic size is known in this function."""
        return self.function_scope.defines_size(size)

    @property
    def analyzer(self) -> Analyzer:
        """What is known of the symbolic sizes of this function."""
        return self.function_scope.analyzer


def _variables_of(value: Any) -> Iterator[Var]:
    """The variables that are operands of an operation."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Var):
            yield part
        elif isinstance(part, Call):
            waiting += (part.op, *part.args)
        elif isinstance(part, Tuple):
            waiting += part.fields
        elif isinstance(part, TupleGetItem):
            waiting.append(part.tuple_value)
