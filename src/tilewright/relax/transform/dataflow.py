"""Dataflow blocks: conversion from and to ordinary blocks, and the order of their bindings."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, Literal

from tilewright.error import ArgumentError, require_one_of
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Var,
)
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.transform.function_pass import (
    DataflowBlockPass,
    FunctionPass,
    WriteEpochs,
    is_pure,
)
from tilewright.relax.transform.scopes import (
    Substitution,
    map_scopes,
    variables_in,
    with_bindings,
    with_blocks,
)


class ToNonDataflow(FunctionPass):
    """Make all blocks ordinary ones, whose variables live to the end of their scope."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _Opening()(func)


class _Opening(Substitution):
    def define(self, var: Var) -> Var:
        var = super().define(var)
        if not isinstance(var, DataflowVar):
            return var
        new = self._variables[var] = Var(var.name_hint, var.struct_info, var.span)
        return new

    def DataflowBlock(self, block: DataflowBlock) -> BindingBlock:
        opened = block.map_children(self)
        return BindingBlock(opened.bindings, block.span)

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        blocks = [self(block) for block in seq.blocks]
        if len(blocks) > 1:
            blocks = [BindingBlock(tuple(b for block in blocks for b in block.bindings))]
        body = self(seq.body)
        seq = with_blocks(seq, blocks)
        return seq if body is seq.body else seq.replace(body=body)


class ConvertToDataflow(FunctionPass):
    """Put neighbouring bindings without effects into dataflow blocks.

    Branches and definitions of functions stay in ordinary blocks. Variables that only the block
    uses become its own::

        before:  a = R.add(x, x)                after:  with R.dataflow():
                 b = R.exp(a)                               a = R.add(x, x)
                 _ = R.print(b)                             b = R.exp(a)
                 return b                                   R.output(b)
                                                        _ = R.print(b)
                                                        return b

    Args:
        min_size: how many bindings a new block has at least.
    """

    def __init__(self, min_size: int = 2) -> None:
        if not isinstance(min_size, int) or min_size < 1:
            raise ArgumentError(f"ConvertToDataflow: min_size is at least 1, got {min_size!r}")
        self._min_size = min_size

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        changed = map_scopes(func, lambda seq: self._scope(seq, mod))
        return func if changed is func else _LocalVariables(changed)(changed)

    def _scope(self, seq: SeqExpr, mod: IRModule) -> SeqExpr:
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            if isinstance(block, DataflowBlock):
                blocks.append(block)
            else:
                blocks += self._split(block, mod)
        return with_blocks(seq, _join_neighbours(blocks))

    def _split(self, block: BindingBlock, mod: IRModule) -> list[BindingBlock]:
        """The blocks that an ordinary one is taken apart into."""
        runs: list[tuple[bool, list[Binding]]] = []
        for binding in block.bindings:
            pure = _fits_dataflow(binding.value, mod)
            if not runs or runs[-1][0] != pure:
                runs.append((pure, []))
            runs[-1][1].append(binding)
        pieces: list[BindingBlock] = []
        for pure, bindings in runs:
            if pure and len(bindings) >= self._min_size:
                pieces.append(DataflowBlock(tuple(bindings), block.span))
            elif pieces and not isinstance(pieces[-1], DataflowBlock):
                pieces[-1] = BindingBlock((*pieces[-1].bindings, *bindings), block.span)
            else:
                pieces.append(BindingBlock(tuple(bindings), block.span))
        return [block] if len(pieces) == 1 and type(pieces[0]) is BindingBlock else pieces


def _fits_dataflow(value: RelaxExpr, mod: IRModule) -> bool:
    return not isinstance(value, (If, Function)) and is_pure(value, mod)


def _join_neighbours(blocks: list[BindingBlock]) -> list[BindingBlock]:
    joined: list[BindingBlock] = []
    for block in blocks:
        both_dataflow = isinstance(block, DataflowBlock)
        if joined and both_dataflow and isinstance(joined[-1], DataflowBlock):
            joined[-1] = DataflowBlock((*joined[-1].bindings, *block.bindings))
        else:
            joined.append(block)
    return joined


class _LocalVariables(Substitution):
    """Makes variables that are used in their own dataflow block only `DataflowVar`s."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._outputs: set[Var] = set()
        _used_outside(function, self._outputs)
        self._in_dataflow = False

    def DataflowBlock(self, block: DataflowBlock) -> DataflowBlock:
        self._in_dataflow = True
        changed = block.map_children(self)
        self._in_dataflow = False
        return changed

    def define(self, var: Var) -> Var:
        new = super().define(var)
        if not self._in_dataflow or isinstance(var, DataflowVar) or var in self._outputs:
            return new
        new = self._variables[var] = DataflowVar(new.name_hint, new.struct_info, new.span)
        return new


def _used_outside(root: RelaxExpr, outputs: set[Var]) -> None:
    """Add the variables that are used outside of the dataflow block that binds them."""
    if isinstance(root, Function):
        if root.ret_struct_info is not None:
            outputs.update(v for v in variables_in(root.ret_struct_info) if isinstance(v, Var))
        _used_outside(root.body, outputs)
    elif isinstance(root, If):
        outputs.update(v for v in variables_in(root.cond) if isinstance(v, Var))
        _used_outside(root.true_branch, outputs)
        _used_outside(root.false_branch, outputs)
    elif isinstance(root, SeqExpr):
        for block in root.blocks:
            own = {binding.var for binding in block.bindings}
            for binding in block.bindings:
                if isinstance(block, DataflowBlock):
                    used = {v for v in variables_in(binding) if isinstance(v, Var)}
                    outputs.update(used - own)
                else:
                    _used_outside(binding.value, outputs)
        outputs.update(v for v in variables_in(root.body) if isinstance(v, Var))
    else:
        outputs.update(v for v in variables_in(root) if isinstance(v, Var))


ORDERS: Final = ("depth-first", "breadth-first")
DIRECTIONS: Final = ("from-inputs", "from-outputs")


class TopologicalSort(DataflowBlockPass):
    """Order the bindings of each dataflow block by what they depend on.

    With ``"depth-first"``, a chain of operations stands together, so that fewer values are alive at
    the same time; with ``"breadth-first"``, operations of the same depth do.

    Args:
        order: ``"depth-first"`` or ``"breadth-first"``.
        direction: ``"from-inputs"``: each as early as its operands allow; ``"from-outputs"``: each
            as late as its users allow.
    """

    def __init__(
        self,
        order: Literal["depth-first", "breadth-first"] = "depth-first",
        direction: Literal["from-inputs", "from-outputs"] = "from-inputs",
    ) -> None:
        require_one_of("TopologicalSort: order", order, ORDERS)
        require_one_of("TopologicalSort: direction", direction, DIRECTIONS)
        self._order, self._direction = order, direction

    def transform_dataflowblock(
        self, block: DataflowBlock, mod: IRModule, ctx: PassContext
    ) -> DataflowBlock:
        bindings = list(block.bindings)
        before = _dependences(bindings, WriteEpochs(mod).of(bindings))
        if self._direction == "from-outputs":
            bindings.reverse()
            before = _inverted(bindings, before)
        ordered = list(_sorted(bindings, before, depth_first=self._order == "depth-first"))
        if self._direction == "from-outputs":
            ordered.reverse()
        return with_bindings(block, ordered)  # type: ignore[return-value]


_Graph = dict[Binding, list[Binding]]


def _dependences(bindings: list[Binding], epochs: list[int]) -> _Graph:
    """For each binding those of the block that must come before it, in their order.

    Nothing moves across a call that writes over arrays, which is the last one of its epoch.
    """
    definition: dict[object, Binding] = {}
    before: _Graph = {}
    last_write: Binding | None = None
    epoch: list[Binding] = []
    for position, binding in enumerate(bindings):
        used = dict.fromkeys(definition.get(variable) for variable in variables_in(binding))
        is_write = position + 1 < len(bindings) and epochs[position + 1] > epochs[position]
        used.update(dict.fromkeys((last_write, *(epoch if is_write else ()))))
        epoch.append(binding)
        if is_write:
            last_write, epoch = binding, []
        before[binding] = [other for other in used if other is not None]
        definition[binding.var] = binding
        if isinstance(binding, MatchCast):
            for size in symbolic_vars_of(binding.struct_info):
                definition.setdefault(size, binding)
    return before


def _inverted(order: list[Binding], before: _Graph) -> _Graph:
    """For each binding those that must come after it, in that order."""
    after: _Graph = {binding: [] for binding in order}
    for binding in order:
        for other in before[binding]:
            after[other].append(binding)
    return after


def _sorted(bindings: list[Binding], before: _Graph, depth_first: bool) -> Iterator[Binding]:
    """`bindings`, each after those that must come before it.

    Whatever can come next waits in a list; the next is the last of it, or the first.
    """
    after = _inverted(bindings, before)
    missing = {binding: len(others) for binding, others in before.items()}
    ready = deque(binding for binding in bindings if not missing[binding])
    if depth_first:
        ready.reverse()
    while ready:
        binding = ready.pop() if depth_first else ready.popleft()
        yield binding
        freed = []
        for other in after[binding]:
            missing[other] -= 1
            if not missing[other]:
                freed.append(other)
        ready += freed[::-1] if depth_first else freed
