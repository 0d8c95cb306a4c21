"""What passes share that move bindings about: scopes, uses and effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Var,
)
from tilewright.relax.sizes import symbolic_vars_of


class ScopeRewriter(Rewriter):
    """A rewriter of the bodies of functions and branches.

    It does not look into leaves and into struct info, and visits variables neither where they are
    bound nor where they are used.
    """

    def _leave(self, node: Any) -> Any:
        return node

    RelaxVar = DataflowVar = Constant = ShapeExpr = PrimValue = RelaxCall = _leave
    TupleGetItem = Tuple = ExternFunc = RelaxStringImm = DataTypeImm = GlobalVar = _leave
    ObjectStructInfo = PrimStructInfo = ShapeStructInfo = TensorStructInfo = _leave
    TupleStructInfo = FuncStructInfo = _leave


def map_scopes(function: Function, change: Callable[[SeqExpr], SeqExpr]) -> Function:
    """`function` with `change` applied to its body, branches and inner functions, inner ones first.

    The bodies are those of a normalised function, which are of class `SeqExpr`.
    """

    class Change(ScopeRewriter):
        def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
            return change(seq.map_children(self))

    return Change()(function)


def variables_in(root: Node) -> Iterator[Any]:
    """The graph variables and symbolic sizes that `root` mentions.

    Includes those in the struct info of variables that it uses and binds.
    """
    for node in walk(root):
        if isinstance(node, (Var, ScalarVar)):
            yield node
        elif isinstance(node, Binding):
            yield from _mentioned_by(node.var)
        elif isinstance(node, Function):
            for param in node.params:
                yield from _mentioned_by(param)


def _mentioned_by(var: Var) -> Iterator[Any]:
    if var.struct_info is not None:
        yield from variables_in(var.struct_info)


def sizes_by_definition(function: Function) -> dict[Binding, list[Any]]:
    """The symbolic sizes that each `MatchCast` of the function defines."""
    found: dict[Binding, list[Any]] = {}
    known: set[Any] = set()

    def visit(value: RelaxExpr) -> None:
        if isinstance(value, Function):
            for param in value.params:
                if param.struct_info is not None:
                    known.update(symbolic_vars_of(param.struct_info))
            visit(value.body)
        elif isinstance(value, SeqExpr):
            for block in value.blocks:
                for binding in block.bindings:
                    visit(binding.value)
                    if isinstance(binding, MatchCast):
                        sizes = symbolic_vars_of(binding.struct_info)
                        found[binding] = [size for size in sizes if size not in known]
                        known.update(sizes)
        elif isinstance(value, If):
            outer = set(known)
            for branch in (value.true_branch, value.false_branch):
                visit(branch)
                known.clear()
                known.update(outer)

    visit(function)
    return found


def with_blocks(seq: SeqExpr, blocks: Sequence[BindingBlock]) -> SeqExpr:
    """`seq` with other blocks, without the empty ones."""
    kept = tuple(block for block in blocks if block.bindings)
    same = len(kept) == len(seq.blocks) and all(map(_is, kept, seq.blocks))
    return seq if same else seq.replace(blocks=kept)


def with_joined_blocks(function: Function) -> Function:
    """`function` with one ordinary block where several stand next to each other."""

    def join(seq: SeqExpr) -> SeqExpr:
        joined: list[BindingBlock] = []
        for block in seq.blocks:
            if joined and type(joined[-1]) is type(block) is BindingBlock:
                joined[-1] = BindingBlock((*joined[-1].bindings, *block.bindings))
            else:
                joined.append(block)
        return with_blocks(seq, joined)

    return map_scopes(function, join)


def with_bindings(block: BindingBlock, bindings: Sequence[Binding]) -> BindingBlock:
    """`block` with other bindings; the same block if they are the same."""
    same = len(bindings) == len(block.bindings) and all(map(_is, bindings, block.bindings))
    return block if same else block.replace(bindings=tuple(bindings))


def with_body(function: Function, body: RelaxExpr) -> Function:
    """`function` with another body; the same function if it is the same."""
    return function if body is function.body else function.replace(body=body)


def _is(a: object, b: object) -> bool:
    return a is b
