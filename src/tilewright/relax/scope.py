"""Where bindings go while a graph function is built: its scopes, its names and its sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.expr import Var as Size
from tilewright.ir.op import CallEffectKind, Op
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    If,
    MatchCast,
    RelaxExpr,
    Var,
)
from tilewright.relax.sizes import assume_sizes, extents_in, symbolic_vars_of
from tilewright.relax.struct_info import FuncStructInfo, StructInfo
from tilewright.relax.struct_info_relation import erase_to_well_defined


class Names:
    """Names that are each given once: ``lv``, ``lv1``, ``lv2``, ..."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Give `name` to nobody any more."""
        self._used.add(name)

    def unique(self, prefix: str) -> str:
        """`prefix`, with a number if that name has been given."""
        number = self._next.get(prefix, 0)
        while (name := f"{prefix}{number or ''}") in self._used:
            number += 1
        self._next[prefix] = number + 1
        self._used.add(name)
        return name


class OpenBlock:
    """A block that is being built.

    Attributes:
        values: the variable of each expression that is bound.
    """

    def __init__(self, is_dataflow: bool) -> None:
        self.is_dataflow = is_dataflow
        self.bindings: list[Binding] = []
        self.values: dict[RelaxExpr, Var] = {}

    def close(self) -> BindingBlock:
        """The finished block."""
        return (DataflowBlock if self.is_dataflow else BindingBlock)(tuple(self.bindings))


class Scope:
    """The body of a function or a branch: blocks, the last of which may be open.

    Attributes:
        open: the block that bindings go to; None before there is one.
        values: the variable of each expression that the finished blocks bind for later ones.
        sizes: symbolic sizes that are defined here first.
    """

    def __init__(self) -> None:
        self.blocks: list[BindingBlock] = []
        self.open: OpenBlock | None = None
        self.values: dict[RelaxExpr, Var] = {}
        self.sizes: set[Size] = set()
        self.variables: set[Var] = set()

    def close_block(self) -> BindingBlock | None:
        """Finish the open block; one without bindings leaves nothing behind."""
        block, self.open = self.open, None
        if block is None or not block.bindings:
            return None
        if not block.is_dataflow:
            self.values.update(block.values)
        self.blocks.append(block.close())
        return self.blocks[-1]

    def outside(self, info: StructInfo) -> StructInfo:
        """What remains of struct info after the scope."""
        if not self.sizes and not self.variables:
            return info
        return erase_to_well_defined(
            info, lambda size: size not in self.sizes, lambda var: var not in self.variables
        )


class FunctionScope:
    """A function that is being built.

    Attributes:
        name: its name in the module; None for a function inside of another, and outside of all.
        is_pure: whether it promises to have no effects.
        scopes: the scopes that are open, innermost last.
        casts: the variables that a `match_cast` binds.
        writes: how many calls that may write over arrays have been bound.
        writes_before: how many of them came before each variable.
        visible: the variables that can be used where the building has come to.
        renamed: variables that were replaced when their struct info was found.
    """

    def __init__(
        self,
        name: str | None = None,
        params: Sequence[Var] | None = None,
        attrs: Any = None,
        is_pure: bool = True,
        is_private: bool = False,
    ) -> None:
        self.name, self.attrs = name, attrs
        self.params = None if params is None else tuple(params)
        self.is_pure, self.is_private = is_pure, is_private
        self.is_finished = False
        self.scopes = [Scope()]
        self.analyzer = Analyzer()
        self.names = Names()
        self.bound: dict[Var, RelaxExpr] = {}
        self.casts: set[Var] = set()
        self.writes = 0
        self.writes_before: dict[Var, int] = {}
        self.visible: set[Var] = set()
        self.renamed: dict[Var, Var] = {}
        self._sizes: set[Size] = set()
        self.add_params(self.params or ())

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    def add_params(self, params: Iterable[Var]) -> None:
        """Make parameters known: their names, and the sizes that they define."""
        for param in params:
            if not isinstance(param, Var):
                raise ArgumentError(
                    "a parameter is a relax.Var with struct info, such as relax.Var('x', "
                    f"relax.TensorStructInfo((2, 3), 'float32')), got {param!r}"
                )
            self.names.reserve(param.name_hint)
            self.visible.add(param)
            if param.struct_info is not None:
                self.add_sizes_of(param.struct_info)

    def defines_size(self, size: Size) -> bool:
        """Whether a symbolic size is known in the function."""
        return size in self._sizes

    def add_sizes_of(self, info: StructInfo) -> list[Size]:
        """Make the symbolic sizes of `info` known; those that were not before."""
        fresh = [size for size in symbolic_vars_of(info) if size not in self._sizes]
        self._sizes.update(fresh)
        assume_sizes(self.analyzer, extents_in(info))
        return fresh

    def close_block(self) -> BindingBlock | None:
        """Finish the open block; one without bindings leaves nothing behind."""
        block = self.scope.close_block()
        if isinstance(block, DataflowBlock):
            self.visible.difference_update(
                binding.var for binding in block.bindings if isinstance(binding.var, DataflowVar)
            )
        return block

    def end_scope(self) -> tuple[BindingBlock, ...]:
        """Finish the innermost scope; its blocks."""
        self.close_block()
        scope = self.scopes.pop()
        self.visible -= scope.variables
        if not self.scopes:
            self.scopes.append(Scope())
        return tuple(scope.blocks)

    def require_visible(self, var: Var) -> None:
        """Require that a variable can be used here, if the parameters are known."""
        if self.name is None or self.params is None or var in self.visible:
            return
        if isinstance(var.struct_info, FuncStructInfo):
            return  # that of an inner function, which may call itself
        if var not in self.bound:
            reason = f"is not a parameter of function {self.name!r}, and is not bound in it"
        elif isinstance(var, DataflowVar):
            reason = (
                "is known only in its dataflow block; use emit_output for what is used after it"
            )
        else:
            reason = "is known only in the branch that binds it"
        raise ArgumentError(f"variable {var.name_hint!r} {reason}")

    def bind(self, binding: Binding) -> Var:
        """Append a binding to the open block."""
        if self.is_finished:
            raise ArgumentError(f"function {self.name!r} has its result already")
        scope = self.scope
        if scope.open is None:
            scope.open = OpenBlock(is_dataflow=False)
        scope.open.bindings.append(binding)
        scope.variables.add(binding.var)
        self.writes_before[binding.var] = self.writes
        self.writes += _may_write(binding.value)
        if isinstance(binding, MatchCast):
            self.casts.add(binding.var)
        self.visible.add(binding.var)
        self.bound[binding.var] = binding.value
        self.names.reserve(binding.var.name_hint)
        return binding.var

    def remember(self, expr: RelaxExpr, var: Var) -> None:
        """Let `var` be the value of `expr`, wherever that stands from now on."""
        block = self.scope.open
        assert block is not None
        block.values[expr] = var

    def known_value(self, expr: RelaxExpr) -> Var | None:
        """The variable that is the value of `expr` already."""
        for scope in reversed(self.scopes):
            for values in (scope.open.values if scope.open else {}, scope.values):
                if expr in values:
                    return values[expr]
        return None


def _may_write(value: RelaxExpr) -> bool:
    """Whether evaluating `value` may write over arrays: pure operators do not."""
    if isinstance(value, Call):
        is_pure = isinstance(value.op, Op) and value.op.effect is CallEffectKind.PURE
        return not is_pure or "inplace_indices" in value.attrs
    return isinstance(value, If)
