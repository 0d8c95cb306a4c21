"""Replacing what looks like a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.analysis.functions import remove_all_unused
from tilewright.relax.dpl.context import Matches, PatternContext
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.expr import (
    Binding,
    Call,
    DataflowBlock,
    Function,
    MatchCast,
    RelaxExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.mutator import PyExprMutator
from tilewright.relax.sizes import symbolic_vars_of


def rewrite_call(
    pattern: DFPattern,
    rewriter: Callable[[RelaxExpr, Matches], RelaxExpr],
    func: Function,
    mod: IRModule | None = None,
) -> Function:
    """`func` with each call, tuple, or field of a tuple that looks like `pattern` replaced.

    Args:
        pattern: what is replaced.
        rewriter: from a value, and what each pattern stands for, to what replaces it; the value
            itself for no change.
        func: the function.
        mod: the module of the function, where that calls others.
    """
    _require_function("rewrite_call", func)
    if not isinstance(pattern, DFPattern):
        raise ArgumentError(f"rewrite_call: expected a pattern, got {pattern!r}")
    return remove_all_unused(_ValueRewriter(pattern, rewriter, mod).visit_expr(func))


class _ValueRewriter(PyExprMutator):
    def __init__(
        self, pattern: DFPattern, rewriter: Callable[..., RelaxExpr], mod: IRModule | None
    ) -> None:
        PyExprMutator.__init__(self, mod)
        self._pattern, self._rewriter = pattern, rewriter
        self._casts: set[Var] = set()

    def visit_match_cast_(self, binding: MatchCast) -> None:
        PyExprMutator.visit_match_cast_(self, binding)
        self._casts.add(self.get_var_remap(binding.var))

    def _lookup(self, var: Var) -> RelaxExpr | None:
        # What a cast promises is lost where it is looked through.
        return None if var in self._casts else self.builder_.lookup_usable(var)

    def visit_call_(self, call: Call) -> Any:
        return self._rewritten(PyExprMutator.visit_call_(self, call))

    def visit_tuple_(self, expr: Tuple) -> Any:
        return self._rewritten(PyExprMutator.visit_tuple_(self, expr))

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> Any:
        return self._rewritten(PyExprMutator.visit_tuple_getitem_(self, expr))

    def _rewritten(self, value: RelaxExpr) -> RelaxExpr:
        found = Matching(self._lookup).match(self._pattern, value)
        if found is None:
            return value
        changed = self._rewriter(value, found)
        if not isinstance(changed, RelaxExpr):
            raise ArgumentError(
                f"rewrite_call: the rewriter returned {changed!r}; it must return an expression, "
                f"the one that it was given for no change"
            )
        return changed


def rewrite_bindings(
    ctx: PatternContext,
    rewriter: Callable[[Matches, dict[Var, RelaxExpr]], Mapping[Var, Any]],
    func: Function,
    mod: IRModule | None = None,
) -> Function:
    """`func` with values of its dataflow blocks replaced, where the patterns of `ctx` are found.

    It goes on until nothing more is found. Values that were replaced take no part any more, and
    the rewriter is asked once about the same values.

    Args:
        ctx: the patterns.
        rewriter: from the variable that stands for each pattern, and all bindings of the block, to
            the new values of some variables of the block. A new value may use every variable of
            the block that does not depend on it: bindings are ordered as they need each other.
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
        asked: set[tuple[int, ...]] = set()
        replaced: set[Var] = set()
        while changes := self._changes(block, asked, replaced):
            replaced.update(changes)
            block = block.replace(bindings=_ordered(_changed(block.bindings, changes)))
        return PyExprMutator.visit_dataflow_block_(self, block)

    def _changes(
        self, block: DataflowBlock, asked: set[tuple[int, ...]], replaced: set[Var]
    ) -> dict[Var, Any]:
        """The new values of matches that do not touch each other."""
        values = {binding.var: binding.value for binding in block.bindings}
        changes: dict[Var, Any] = {}
        touched: set[Var] = set()
        for matches in self._ctx.matches_in(block):
            variables = [value for value in matches.values() if isinstance(value, Var)]
            key = tuple(map(id, variables))
            if key in asked or not replaced.isdisjoint(variables):
                continue
            # A new value may use something that must have no other users.
            only = (matches[use.producer] for use in self._ctx.uses if use.only)
            if not touched.isdisjoint(only) or not changes.keys().isdisjoint(variables):
                continue
            asked.add(key)
            new = self._rewriter(matches, dict(values))
            _check_changes(new, values)
            changes.update(new)
            for value in new.values():
                touched.update(_mentioned_by(value))
        return changes


def _check_changes(changes: Any, values: Mapping[Var, Any]) -> None:
    if not isinstance(changes, Mapping):
        raise ArgumentError(
            f"rewrite_bindings: the rewriter must return a dictionary of new values by their "
            f"variables, which may be empty; got {changes!r}"
        )
    for var, value in changes.items():
        if not isinstance(var, Var) or var not in values:
            raise ArgumentError(f"rewrite_bindings: the block does not bind {var!r}")
        if not isinstance(value, RelaxExpr):
            raise ArgumentError(f"rewrite_bindings: {value!r} for {var!r} is not an expression")


def _changed(bindings: Sequence[Binding], changes: Mapping[Var, Any]) -> list[Binding]:
    return [VarBinding(b.var, changes[b.var]) if b.var in changes else b for b in bindings]


def _mentioned_by(value: Any) -> dict[Any, None]:
    """The variables and the sizes that a value mentions."""
    return {node: None for node in walk(value) if isinstance(node, (Var, Size))}


def _ordered(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """Bindings after those that they need, otherwise in the order in which they are."""
    definition: dict[Any, Binding] = {binding.var: binding for binding in bindings}
    for binding in bindings:
        if isinstance(binding, MatchCast):
            for size in symbolic_vars_of(binding.struct_info):
                definition.setdefault(size, binding)
    needs = {
        b: [definition[v] for v in _mentioned_by(b.value) if v in definition] for b in bindings
    }
    ordered: dict[Binding, None] = {}
    for binding in bindings:
        waiting, entered = [binding], {binding}
        while waiting:
            missing = [other for other in needs[waiting[-1]] if other not in ordered]
            if not missing:
                ordered[waiting.pop()] = None
                continue
            if missing[0] in entered:
                name = missing[0].var.name_hint
                raise ArgumentError(f"rewrite_bindings: the new value of {name} depends on itself")
            waiting.append(missing[0])
            entered.add(missing[0])
    return tuple(ordered)


def _require_function(caller: str, func: object) -> None:
    if not isinstance(func, Function):
        raise ArgumentError(f"{caller}: expected a graph function, got {func!r}")
