"""Fusion by patterns, and composite functions for external compilers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.expr import (
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    RelaxExpr,
    Var,
    VarBinding,
)
from tilewright.relax.transform.function_pass import WriteEpochs
from tilewright.relax.transform.fuse_ops import PRIMITIVE
from tilewright.relax.transform.group_functions import BindingGroup, GroupOutliner

COMPOSITE = "Composite"
"""The attribute of a function that looks like a pattern: the name of the pattern."""

CODEGEN = "Codegen"
"""The attribute of a function that another compiler takes: the name of that compiler."""


@dataclass(frozen=True, eq=False)
class PatternCheckContext:
    """What the check of a pattern may ask.

    Attributes:
        matched_expr: the value of the last operator.
        annotated_expr: what the patterns with names stand for.
        matched_bindings: the values that would be moved, by their variables.
        var_usages: the variables that use each variable of the block.
        value_to_bound_var: the variable that each value of the block is bound to.
    """

    matched_expr: RelaxExpr
    annotated_expr: Mapping[str, Any]
    matched_bindings: Mapping[Var, RelaxExpr]
    var_usages: Mapping[Var, Sequence[Var]]
    value_to_bound_var: Mapping[RelaxExpr, Var]


@dataclass(frozen=True, eq=False)
class FusionPattern:
    """What becomes a function.

    Attributes:
        name: the value of its attribute ``Composite``; up to a point it names a compiler.
        pattern: how it looks.
        annotation_patterns: names for parts of the pattern, for `check` and `attrs_getter`.
        check: whether a group may be made, asked for each place that looks like the pattern.
        attrs_getter: further attributes of the function, from what the named parts stand for.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict)
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


class FuseOpsByPattern(ModulePass):
    """Move each match of a pattern into a function with the attribute ``Composite``.

    Patterns that come first go first, and so do the later ones of two places that overlap. A value
    inside of a group that is used outside of it keeps the group from being made.

    Args:
        patterns: `FusionPattern`, or tuples of what these are made of, at least name and pattern.
        bind_constants: whether constants stay in the functions, or become parameters.
        annotate_codegen: whether the call of each function is moved into another function, with
            the attributes ``Codegen`` (the name of the pattern up to its first point) and
            ``global_symbol``.
    """

    def __init__(
        self,
        patterns: Sequence[FusionPattern | tuple[Any, ...]],
        bind_constants: bool = True,
        annotate_codegen: bool = False,
    ) -> None:
        self.patterns = tuple(map(_as_fusion_pattern, patterns))
        self.bind_constants, self.annotate_codegen = bind_constants, annotate_codegen

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        epochs = WriteEpochs(mod)

        def groups(block: DataflowBlock) -> list[BindingGroup]:
            return self._groups(_BlockView(block, epochs.of(block.bindings)))

        result = GroupOutliner(mod, "fused", groups).outlined(skip=(PRIMITIVE, CODEGEN))
        return with_codegen_functions(result, _single_calls) if self.annotate_codegen else result

    def _groups(self, view: _BlockView) -> list[BindingGroup]:
        taken: set[int] = set()
        groups: list[BindingGroup] = []
        for fusion in self.patterns:
            for position in reversed(range(len(view.bindings))):
                found = None if position in taken else view.group(fusion, position, taken)
                if found is not None:
                    positions, attrs = found
                    taken.update(positions)
                    name = re.sub(r"\W", "_", fusion.name)
                    groups.append(BindingGroup(positions, attrs, self.bind_constants, name))
        return groups


def _as_fusion_pattern(value: object) -> FusionPattern:
    made = value if isinstance(value, FusionPattern) else _from_tuple(value)
    if (
        made is None
        or not isinstance(made.name, str)
        or not isinstance(made.pattern, DFPattern)
        or not isinstance(made.annotation_patterns, Mapping)
    ):
        raise ArgumentError(
            f"FuseOpsByPattern: expected a name and a pattern, and perhaps names for its parts, a "
            f"check, and attributes, got {value!r}"
        )
    for what, function in (("check", made.check), ("attrs_getter", made.attrs_getter)):
        if function is not None and not callable(function):
            raise ArgumentError(f"FuseOpsByPattern: the {what} of {made.name!r} is not a function")
    return made


def _from_tuple(value: Any) -> FusionPattern | None:
    if not isinstance(value, tuple) or not 2 <= len(value) <= 5:
        return None
    parts: list[Any] = [*value, None, None, None][:5]
    if len(value) == 3 and callable(value[2]):  # (name, pattern, check)
        parts[2:4] = None, value[2]
    name, pattern, annotations, check, attrs_getter = parts
    return FusionPattern(name, pattern, annotations or {}, check, attrs_getter)


class _BlockView:
    """A dataflow block, with who uses what.

    Args:
        block: the block.
        epochs: how many calls that may write over arrays come before each binding.
    """

    def __init__(self, block: DataflowBlock, epochs: Sequence[int]) -> None:
        self.bindings, self.epochs = block.bindings, epochs
        self.positions = {binding.var: n for n, binding in enumerate(block.bindings)}
        self.values = {b.var: b.value for b in block.bindings if isinstance(b, VarBinding)}
        self.bound = {value: var for var, value in self.values.items()}
        self.users: dict[Var, list[Var]] = {binding.var: [] for binding in block.bindings}
        for binding in block.bindings:
            for var in dict.fromkeys(n for n in walk(binding.value) if isinstance(n, Var)):
                if var in self.users:
                    self.users[var].append(binding.var)

    def group(
        self, fusion: FusionPattern, position: int, taken: set[int]
    ) -> tuple[tuple[int, ...], dict[str, Any]] | None:
        """The group that ends with a binding, and its attributes; None if there is none."""
        root = self.bindings[position]
        if root.var not in self.values:
            return None
        found = Matching(self.values.get).match(fusion.pattern, root.value)
        if found is None:
            return None
        moved = {value for value in found.values() if self._is_bound(value)}
        members = {self.bound[value] for value in moved}
        positions = tuple(sorted(self.positions[var] for var in members))
        if not positions or positions[-1] != position or not taken.isdisjoint(positions):
            return None
        inner = members - {root.var}
        if len({self.epochs[place] for place in positions}) > 1:
            return None
        if not all(self._is_used_only_by(var, members) for var in inner):
            return None
        named = {
            name: found[part] for name, part in fusion.annotation_patterns.items() if part in found
        }
        if fusion.check is not None and not fusion.check(self._context(root.var, members, named)):
            return None
        attrs = {COMPOSITE: fusion.name, PRIMITIVE: 1}
        if fusion.attrs_getter is not None:
            more = fusion.attrs_getter(named)
            if not isinstance(more, Mapping):
                raise ArgumentError(
                    f"FuseOpsByPattern: the attrs_getter of {fusion.name!r} returned {more!r}, not "
                    f"a dictionary"
                )
            attrs |= more
        return positions, attrs

    def _is_bound(self, value: object) -> bool:
        return isinstance(value, RelaxExpr) and not isinstance(value, Var) and value in self.bound

    def _is_used_only_by(self, var: Var, members: set[Var]) -> bool:
        return isinstance(var, DataflowVar) and members.issuperset(self.users[var])

    def _context(
        self, root: Var, members: set[Var], named: Mapping[str, Any]
    ) -> PatternCheckContext:
        matched = {var: self.values[var] for var in self.positions if var in members}
        return PatternCheckContext(self.values[root], named, matched, self.users, self.bound)


# --- functions for other compilers -----------------------------------------------------------


def with_codegen_functions(
    mod: IRModule, groups_of: Callable[[DataflowBlock, IRModule], Iterator[tuple[int, ...]]]
) -> IRModule:
    """`mod` with groups of calls of composite functions moved into functions for a compiler."""

    def groups(block: DataflowBlock) -> list[BindingGroup]:
        found = []
        for positions in groups_of(block, mod):
            compiler = compiler_of(block.bindings[positions[-1]].value, mod)
            calls = [block.bindings[position].value for position in positions]
            names = [call.op.name_hint.removeprefix("fused_") for call in calls]  # type: ignore[attr-defined]
            name = "_".join([*names, compiler or ""])
            found.append(BindingGroup(positions, {CODEGEN: compiler}, True, name))
        return found

    result = GroupOutliner(mod, "fused", groups).outlined(skip=(PRIMITIVE, CODEGEN))
    if result is mod:
        return mod
    for var, func in list(result.functions.items()):
        if var not in mod.functions:
            result.update_func(var, func.with_attr("global_symbol", var.name_hint))
    return result


def compiler_of(value: object, mod: IRModule) -> str | None:
    """The compiler of the composite function that a value calls; None for another value."""
    if not isinstance(value, Call) or not isinstance(value.op, GlobalVar) or value.op not in mod:
        return None
    callee = mod[value.op]
    if not isinstance(callee, Function) or COMPOSITE not in callee.attrs:
        return None
    return str(callee.attrs[COMPOSITE]).split(".", 1)[0]


def _single_calls(block: DataflowBlock, mod: IRModule) -> Iterator[tuple[int, ...]]:
    for position, binding in enumerate(block.bindings):
        if compiler_of(binding.value, mod) is not None:
            yield (position,)


class MergeCompositeFunctions(ModulePass):
    """Move calls of composite functions of one compiler that use each other into one function.

    The functions have the attributes ``Codegen``, the name of the compiler, and ``global_symbol``.
    Only the last value of a group is used outside of it, so no group can depend on itself.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return with_codegen_functions(mod, _groups)


def _groups(block: DataflowBlock, mod: IRModule) -> Iterator[tuple[int, ...]]:
    """The groups of calls, from the last one on as large as they can be."""
    epochs = WriteEpochs(mod).of(block.bindings)
    compilers = [compiler_of(binding.value, mod) for binding in block.bindings]
    users: dict[Var, list[int]] = {binding.var: [] for binding in block.bindings}
    for position, binding in enumerate(block.bindings):
        for node in walk(binding.value):
            if isinstance(node, Var) and node in users:
                users[node].append(position)
    taken: set[int] = set()
    for last in reversed(range(len(block.bindings))):
        if last in taken or compilers[last] is None:
            continue
        group = {last}
        # Who uses a value comes later, so one way back sees all users before the value.
        for position in reversed(range(last)):
            var = block.bindings[position].var
            if (
                position not in taken
                and compilers[position] == compilers[last]
                and epochs[position] == epochs[last]
                and isinstance(var, DataflowVar)
                and users[var]
                and group.issuperset(users[var])
            ):
                group.add(position)
        taken |= group
        yield tuple(sorted(group))
