"""Rewriting bodies of functions and branches: their scopes, variables and symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Var,
    VarBinding,
)
from tilewright.relax.sizes import SizeSubstitution, symbolic_vars_of


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


def with_bindings(block: BindingBlock, bindings: Sequence[Binding]) -> BindingBlock:
    """`block` with other bindings; the same block if they are the same."""
    same = len(bindings) == len(block.bindings) and all(map(_is, bindings, block.bindings))
    return block if same else block.replace(bindings=tuple(bindings))


def with_body(function: Function, body: RelaxExpr) -> Function:
    """`function` with another body; the same function if it is the same."""
    return function if body is function.body else function.replace(body=body)


def _is(a: object, b: object) -> bool:
    return a is b


class Substitution(SizeSubstitution):
    """Replaces graph variables and symbolic sizes by expressions, and binds what changes anew.

    Variables whose struct info changes are replaced by new ones, where they are bound and where
    they are used.

    Args:
        variables: what stands for each variable, a leaf.
        analyzer: simplifies the extents that change.
        fresh: whether all that is bound inside gets new variables, so that the result can stand
            beside the original; symbolic sizes that a match_cast defines get new ones, too.
    """

    def __init__(
        self,
        variables: Mapping[Var, RelaxExpr] | None = None,
        sizes: Mapping[ScalarVar, Expr] | None = None,
        analyzer: Analyzer | None = None,
        fresh: bool = False,
    ) -> None:
        super().__init__(dict(sizes or {}), analyzer)
        self._variables: dict[Var, RelaxExpr] = dict(variables or {})
        self._fresh = fresh
        self._known: set[ScalarVar] = set()

    def variable(self, var: Var) -> RelaxExpr:
        """What stands for a variable where it is used."""
        value = self._variables.get(var)
        if value is None:
            return var
        return self.variable(value) if isinstance(value, Var) else value

    RelaxVar = DataflowVar = variable  # type: ignore[assignment]

    def define(self, var: Var) -> Var:
        """What stands for a variable where it is bound."""
        info = None if var.struct_info is None else self(var.struct_info)
        if info is var.struct_info and not self._fresh:
            return var
        new = type(var)(var.name_hint, info, var.span)
        self._variables[var] = new
        return new

    def VarBinding(self, binding: VarBinding) -> VarBinding:
        if isinstance(binding.value, Function):  # which may call itself
            var = self.define(binding.var)
            value = self(binding.value)
        else:
            value = self(binding.value)
            var = self.define(binding.var)
        if var is binding.var and value is binding.value:
            return binding
        return binding.replace(var=var, value=value)

    def MatchCast(self, binding: MatchCast) -> MatchCast:
        value = self(binding.value)
        if self._fresh:
            self._rename_sizes(binding)
        info, var = self(binding.struct_info), self.define(binding.var)
        if var is binding.var and value is binding.value and info is binding.struct_info:
            return binding
        return binding.replace(var=var, value=value, struct_info=info)

    def _rename_sizes(self, binding: MatchCast) -> None:
        """New symbolic sizes for those that the binding defines."""
        for size in symbolic_vars_of(binding.struct_info):
            if size not in self._sizes and size not in self._known:
                self._sizes[size] = size.replace()  # type: ignore[index]

    def RelaxFunction(self, function: Function) -> Function:
        self._known.update(s for p in function.params for s in symbolic_vars_of(p))
        params = tuple(map(self.define, function.params))
        result = function.map_children(self)
        if all(new is old for new, old in zip(params, function.params, strict=True)):
            return result
        return result.replace(params=params)

    def _with_struct_info(self, expr: Any) -> Any:
        changed = expr.map_children(self)
        if expr.struct_info is None:
            return changed
        info = self(expr.struct_info)
        return changed if info is expr.struct_info else changed.replace(struct_info=info)

    def RelaxCall(self, call: Call) -> Call:
        return self._with_struct_info(call)

    def If(self, branch: If) -> If:
        return self._with_struct_info(branch)

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        return self._with_struct_info(seq)

    def Constant(self, constant: Constant) -> Constant:
        return constant


def substitute_variables(
    root: Any,
    variables: Mapping[Var, RelaxExpr] | None = None,
    sizes: Mapping[ScalarVar, Expr] | None = None,
) -> Any:
    """`root` with graph variables and symbolic sizes replaced by expressions."""
    return Substitution(variables, sizes)(root) if variables or sizes else root
