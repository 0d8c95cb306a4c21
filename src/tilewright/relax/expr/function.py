"""Bindings, the blocks that they form, and graph functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tilewright.ir.convert import EMPTY, Attributes
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.node import Node, Span, attr, binds, child, meta, node
from tilewright.providers import provider
from tilewright.relax.expr.leaves import RelaxExpr, Var
from tilewright.relax.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo

_set = object.__setattr__


class Binding(Node):
    """Base class of what gives a variable its value."""

    __slots__ = ()
    var: Var
    value: RelaxExpr
    span: Span | None


@node
class VarBinding(Binding):
    """``var = value``."""

    var: Var = binds()
    value: Any = child()  # a `RelaxExpr`, or the `GlobalVar` of a function
    span: Span | None = meta(default=None)

    __compare_first__ = ("var",)


@node
class MatchCast(Binding):
    """``var = match_cast(value, struct_info)``.

    A check when the program runs; symbolic sizes that occur here first are defined by it.
    """

    var: Var = binds()
    value: RelaxExpr = child()
    struct_info: StructInfo = child()
    span: Span | None = meta(default=None)

    __compare_first__ = ("value",)


@node
class BindingBlock(Node):
    """Bindings, one after the other."""

    bindings: tuple[Binding, ...] = child()
    span: Span | None = meta(default=None)


@node
class DataflowBlock(BindingBlock):
    """Bindings without effects, which may be reordered, merged and left out."""


@node
class SeqExpr(RelaxExpr):
    """The value of `body` after the blocks.

    Ordinary blocks that follow each other become one: nothing tells them apart.
    """

    blocks: tuple[BindingBlock, ...] = child()
    body: RelaxExpr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        blocks: Sequence[BindingBlock],
        body: RelaxExpr,
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        _set(self, "blocks", _joined(tuple(blocks)))
        _set(self, "body", body)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


def _joined(blocks: tuple[BindingBlock, ...]) -> tuple[BindingBlock, ...]:
    """`blocks`, with neighbouring ordinary blocks joined."""
    if not any(type(a) is type(b) is BindingBlock for a, b in pairwise(blocks)):
        return blocks
    joined: list[BindingBlock] = []
    for block in blocks:
        if joined and type(block) is type(joined[-1]) is BindingBlock:
            last = joined.pop()
            block = BindingBlock(last.bindings + block.bindings, last.span)
        joined.append(block)
    return tuple(joined)


@node
class Function(BaseFunc, RelaxExpr):
    """A graph function.

    Attributes:
        params: the parameters, whose struct info defines the symbolic sizes of the function.
        body: the result.
        ret_struct_info: what is known of the result; None before it has been inferred.
        is_pure: whether a call has no effect but its result.
        attrs: ``global_symbol`` is the exported name.
    """

    __node_name__ = "RelaxFunction"
    __compare_first__ = ("params",)

    params: tuple[Var, ...] = binds()
    body: RelaxExpr = child()
    ret_struct_info: StructInfo | None = child(default=None)
    is_pure: bool = attr(default=True)
    attrs: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)

    @property
    def struct_info(self) -> StructInfo | None:  # type: ignore[override]
        """The signature."""
        infos = [param.struct_info or ObjectStructInfo() for param in self.params]
        return FuncStructInfo(infos, self.ret_struct_info, self.is_pure)

    def __bool__(self) -> bool:
        # A function is not a value of the graph whose truth only the running program knows.
        return True

    def bind_params(self, binding_map: Mapping[str | Var, Any]) -> Function:
        """This function with some parameters fixed; see `tilewright.relax.transform.BindParams`.

        Args:
            binding_map: from parameters, or their names, to arrays.
        """
        return provider("graph parameters").bind_named_params(self, binding_map)

    def bind_symbolic_vars(self, binding_map: Mapping[Any, Any]) -> Function:
        """This function with symbolic sizes fixed; see `relax.transform.BindSymbolicVars`.

        Args:
            binding_map: from symbolic sizes, or their names, to numbers.
        """
        binding = provider("graph parameters").BindSymbolicVars(binding_map, "main")
        return binding(IRModule({"main": self}))["main"]

    def graph(self) -> Any:
        """A picture of the function: boxes are operations, arrows the arrays between them.

        Notebooks show it; `save(path)` writes it as SVG.
        """
        return provider("graph pictures").draw(self)
