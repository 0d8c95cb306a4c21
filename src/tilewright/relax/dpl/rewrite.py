"""Replacing what looks like a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.relax.analysis.calls import remove_all_unused
from tilewright.relax.dpl.context import PatternContext
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.expr import Binding, Call, DataflowBlock, Function, RelaxExpr, Var, VarBinding
from tilewright.relax.mutator import PyExprMutator

Matches = dict[DFPattern, Any]


def rewrite_call(
    pattern: DFPattern,
    rewriter: Callable[[Call, Matches], RelaxExpr],
    func: Function,
    mod: IRModule | None = None,
) -> Function:
    """`func` with each call that looks like `pattern` replaced.

    Args:
        pattern: what is replaced.
        rewriter: from a call, and what each pattern stands for, to what replaces it; the call
            itself for no change.
        func: the function.
        mod: the module of the function, where that calls others.
    """
    _require_function("rewrite_call", func)
    return remove_all_unused(_CallRewriter(pattern, rewriter, mod).visit_expr(func))


class _CallRewriter(PyExprMutator):
    def __init__(
        self, pattern: DFPattern, rewriter: Callable[..., RelaxExpr], mod: IRModule | None
    ) -> None:
        PyExprMutator.__init__(self, mod)
        self._pattern, self._rewriter = pattern, rewriter

    def visit_call_(self, call: Call) -> Any:
        call = PyExprMutator.visit_call_(self, call)
        matching = Matching(self.lookup_binding)
        if matching.match(self._pattern, call):
            return self._rewriter(call, matching.found)
        return call


def rewrite_bindings(
    ctx: PatternContext,
    rewriter: Callable[[dict[DFPattern, Var], dict[Var, RelaxExpr]], dict[Var, Any]],
    func: Function,
    mod: IRModule | None = None,
) -> Function:
    """`func` with values of its dataflow blocks replaced, where the patterns of `ctx` are found.

    It goes on until nothing more is found, values that were replaced taking no part any more.

    Args:
        ctx: the patterns.
        rewriter: from the variable that stands for each pattern, and all bindings of the block, to
            the new values of some variables. A new value may use what is bound before the first of
            these variables.
        func: the function.
        mod: the module of the function, where that calls others.
    """
    _require_function("rewrite_bindings", func)
    return remove_all_unused(_BindingRewriter(ctx, rewriter, mod).visit_expr(func))


class _BindingRewriter(PyExprMutator):
    def __init__(
        self, ctx: PatternContext, rewriter: Callable[..., Any], mod: IRModule | None
    ) -> None:
        PyExprMutator.__init__(self, mod)
        self._ctx, self._rewriter = ctx, rewriter

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:
        done: set[Var] = set()
        while True:
            found = self._first_change(block, done)
            if found is None:
                return PyExprMutator.visit_dataflow_block_(self, block)
            done.update(found)
            block = block.replace(bindings=_replaced(block.bindings, found))

    def _first_change(self, block: DataflowBlock, done: set[Var]) -> dict[Var, Any] | None:
        values = {binding.var: binding.value for binding in block.bindings}
        for matches in self._ctx.matches_in(block):
            if done.isdisjoint(matches.values()):
                changes = self._rewriter(matches, dict(values))
                done.update(matches.values())
                if changes:
                    return changes
        return None


def _replaced(bindings: tuple[Binding, ...], changes: dict[Var, Any]) -> tuple[Binding, ...]:
    """Bindings with new values; those that come first in the block stay where they are."""
    return tuple(
        VarBinding(binding.var, changes[binding.var]) if binding.var in changes else binding
        for binding in bindings
    )


def _require_function(caller: str, func: object) -> None:
    if not isinstance(func, Function):
        raise ArgumentError(f"{caller}: expected a graph function, got {func!r}")
