"""Moving groups of bindings into functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.ir.convert import attributes
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as SizeVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.relax.expr import (
    Binding,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.sizes import SizeSubstitution, symbolic_vars_of
from tilewright.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo
from tilewright.relax.transform.fusion_graph import called_kernel

LONGEST_NAME = 80
"""Names of functions that are made of many operators are cut off here."""


class BindingGroup(NamedTuple):
    """Bindings of a dataflow block that become a function.

    Attributes:
        positions: their places in the block, ascending; only the last value is used outside.
        keeps_constants: whether constants stay in the function, or become parameters.
        name: the name of the function, without its prefix; by default that of its kernels.
    """

    positions: tuple[int, ...]
    attrs: Mapping[str, Any]
    keeps_constants: bool = False
    name: str | None = None


class GroupOutliner:
    """Moves groups of bindings into functions."""

    def __init__(
        self, mod: IRModule, prefix: str, groups_of: Callable[[DataflowBlock], list[BindingGroup]]
    ) -> None:
        self.mod = mod
        self.result = mod.clone()
        self._prefix = prefix
        self._groups_of = groups_of
        self._numbers: dict[str, int] = {}

    def outlined(self, skip: Collection[str]) -> IRModule:
        """The module with all groups moved, but those of functions with an attribute of `skip`."""
        rewriter = _BlockRewriter(self._block)
        for var, func in self.mod.functions.items():
            if isinstance(func, Function) and not any(name in func.attrs for name in skip):
                changed = rewriter(func)
                if changed is not func:
                    self.result.update_func(var, changed)
        return self.mod if len(self.result) == len(self.mod) else self.result

    def _block(self, block: DataflowBlock) -> DataflowBlock:
        groups = [group for group in self._groups_of(block) if group.positions]
        if not groups:
            return block
        last = {group.positions[-1]: group for group in groups}
        moved = {position for group in groups for position in group.positions}
        bindings: list[Binding] = []
        for position, binding in enumerate(block.bindings):
            if position in last:
                bindings.append(self._call(block, last[position]))
            elif position not in moved:
                bindings.append(binding)
        return block.replace(bindings=tuple(bindings))

    def _call(self, block: DataflowBlock, group: BindingGroup) -> VarBinding:
        """The binding that calls the function of a group."""
        bindings = [block.bindings[position] for position in group.positions]
        outlined = outline(bindings, group.attrs, keeps_constants=group.keeps_constants)
        name = self._unique(group.name or _name_of(bindings))
        var = bindings[-1].var
        self.result.update_func(GlobalVar(name), outlined.func)
        call = Call(GlobalVar(name), outlined.arguments, None, (), var.struct_info)
        return VarBinding(var, call)

    def _unique(self, name: str) -> str:
        wanted = f"{self._prefix}_{name}"[:LONGEST_NAME]
        number = self._numbers.get(wanted, 0)
        while True:
            candidate = f"{wanted}{number}" if number else wanted
            number += 1
            if candidate not in self.result:
                self._numbers[wanted] = number
                return candidate


class _BlockRewriter(Rewriter):
    def __init__(self, rewrite: Callable[[DataflowBlock], DataflowBlock]) -> None:
        self._rewrite = rewrite

    def DataflowBlock(self, block: DataflowBlock) -> DataflowBlock:
        return self._rewrite(block)


def _name_of(bindings: Sequence[Binding]) -> str:
    kernels = [called_kernel(binding) for binding in bindings]
    return "_".join(kernel.name_hint for kernel in kernels if kernel is not None)


class Outlined(NamedTuple):
    """A function made of bindings, and its arguments."""

    func: Function
    arguments: tuple[RelaxExpr, ...]


def outline(
    bindings: Sequence[Binding], attrs: Mapping[str, Any], *, keeps_constants: bool = False
) -> Outlined:
    """The function that computes the last of some bindings.

    Its parameters are what the bindings use and do not bind, in the order of use. Symbolic sizes
    that are not extents of these come last, as a shape.
    """
    bound = {binding.var for binding in bindings}
    arguments = list(_free_values(bindings, bound, keeps_constants))
    sizes = {var: var.replace() for var in _sizes_of(bindings, arguments)}
    copy = Outline(sizes)
    params = [copy.renamed(argument, f"param_{n}", Var) for n, argument in enumerate(arguments)]
    known = {extent for param in params for extent in _extents(param.struct_info)}
    missing = [size for size, own in sizes.items() if own not in known]
    if missing:
        info = ShapeStructInfo([sizes[size] for size in missing])
        params.append(Var("sizes", info))
        arguments.append(ShapeExpr(missing))
    copied = [copy.binding(binding, Var if n == len(bindings) - 1 else DataflowVar)
              for n, binding in enumerate(bindings)]  # fmt: skip
    result = copied[-1].var
    assert result.struct_info is not None
    body = SeqExpr((DataflowBlock(tuple(copied)),), result, result.struct_info)
    func = Function(tuple(params), body, result.struct_info, True, attributes(attrs))
    return Outlined(func, tuple(arguments))


def _free_values(
    bindings: Sequence[Binding], bound: set[Var], keeps_constants: bool
) -> dict[RelaxExpr, None]:
    found: dict[RelaxExpr, None] = {}
    for binding in bindings:
        for node in walk(binding.value):
            if (isinstance(node, Var) and node not in bound) or (
                isinstance(node, Constant) and not keeps_constants
            ):
                found[node] = None
    return found


def _sizes_of(bindings: Sequence[Binding], arguments: Iterable[RelaxExpr]) -> list[SizeVar]:
    """The symbolic sizes that bindings or their arguments mention."""
    found: dict[SizeVar, None] = {}
    infos = [argument.struct_info for argument in arguments]
    nodes = [*infos, *(n for b in bindings for n in (b.value, b.var.struct_info))]
    for node in nodes:
        if node is not None:
            found.update(dict.fromkeys(symbolic_vars_of(node)))
    return list(found)


def _extents(info: StructInfo | None) -> tuple[Expr, ...]:
    return (info.extents or ()) if isinstance(info, TensorStructInfo) else ()


class Outline(SizeSubstitution):
    """Copies bindings with variables and symbolic sizes of their own."""

    def __init__(self, sizes: Mapping[SizeVar, Expr]) -> None:
        SizeSubstitution.__init__(self, sizes)
        self._values: dict[RelaxExpr, RelaxExpr] = {}

    def renamed(self, value: RelaxExpr, name: str, kind: type[Var]) -> Var:
        """A new variable for a variable or a constant."""
        name = value.name_hint if isinstance(value, Var) else name
        info = value.struct_info
        self._values[value] = renamed = kind(name, None if info is None else self(info))
        return renamed

    def binding(self, binding: Binding, kind: type[Var]) -> Binding:
        """A copy that binds a new variable of class `kind`."""
        changed = binding.map_children(self)
        return changed.replace(var=self.renamed(binding.var, "value", kind))

    def RelaxVar(self, var: Var) -> Any:
        return self._values.get(var, var)

    def DataflowVar(self, var: Var) -> Any:
        return self._values.get(var, var)

    def Constant(self, constant: Constant) -> Any:
        return self._values.get(constant, constant)

    def RelaxCall(self, call: Call) -> Call:
        return self._inferred(call)

    def TupleGetItem(self, item: TupleGetItem) -> TupleGetItem:
        return self._inferred(item)

    def _inferred(self, expr: Any) -> Any:
        changed = expr.map_children(self)
        if expr.struct_info is None:
            return changed
        return changed.replace(struct_info=self(expr.struct_info))
