"""What inlining a block into another one needs: its value as a function of where it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.linear import detect_linear_equation
from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import cast
from tilewright.ir.expr import Call, Expr, IntImm, Let, Select, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.expressions import is_effect
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.contents import nodes_about
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.dataflow import require_only_blocks
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.proofs.scope import allocating_block
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, For, Stmt
from tilewright.tir.substitute import Substitution, substitute, variables_of


def single_store(realize: BlockRealize) -> BufferStore:
    """The store that the body of a block consists of; refuses any other block."""
    block = realize.block
    if block.init is not None:
        raise ScheduleError(
            "{0} is a reduction: it has an initialisation, so its value is not an expression",
            at=[realize],
        )
    body = block.body
    if not isinstance(body, BufferStore) or block.match_buffers or block.alloc_buffers:
        raise ScheduleError("the body of {0} must be a single store", at=[realize])
    if body.predicate is not None or body.value.dtype.lanes != body.buffer.dtype.lanes:
        raise ScheduleError("the store of {0} must be to one element", at=[realize])
    for node in (*body.indices, body.value):
        _require_pure(realize, node)
    return body


def _require_pure(realize: BlockRealize, expr: Expr) -> None:
    """Refuse what may not be evaluated more often, or less often."""
    for node in walk(expr):
        if isinstance(node, Var) and node.dtype.is_handle:
            raise ScheduleError(
                f"{{0}} uses the pointer `{node.name}`: what it reads is not known", at=[realize]
            )
        if isinstance(node, Call) and is_effect(node):
            raise ScheduleError(
                f"{{0}} calls `{getattr(node.op, 'name', node.op)}`, which has effects: it must "
                "run exactly as often as it does",
                at=[realize],
            )


def require_intermediate(tree: FunctionTree, realize: BlockRealize, buffer: Buffer) -> None:
    """Refuse a buffer that is needed after the function has run."""
    if allocating_block(tree, buffer) is None:
        raise ScheduleError(
            f"{{0}} writes `{buffer.name}`, which is an output of the function and must stay",
            at=[realize],
        )


def users(tree: FunctionTree, buffer: Buffer) -> list[BlockRealize]:
    """The leaf blocks that mention `buffer`; refuses uses that are not plain accesses."""
    require_only_blocks(tree)
    found: list[BlockRealize] = []
    for realize in tree.blocks_mentioning(buffer):
        block = realize.block
        for match in block.match_buffers:
            if match.source.buffer.data is buffer.data:
                raise ScheduleError(
                    f"{{0}} has the view `{match.buffer.name}` of `{buffer.name}`", at=[realize]
                )
        if not tree.blocks_below(realize):
            used = [_uses(node, buffer, realize) for node in nodes_about(realize, buffer)]
            if any(used) or _declares(block, buffer):
                found.append(realize)
        elif any(_uses(node, buffer, realize) for value in _own(realize) for node in walk(value)):
            raise ScheduleError(f"a binding of {{0}} reads `{buffer.name}`", at=[realize])
    return found


def _own(realize: BlockRealize) -> tuple[Expr, ...]:
    return (*realize.iter_values, realize.predicate)


def _uses(node: object, buffer: Buffer, at: Stmt) -> bool:
    if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data is buffer.data:
        lanes = node.indices[-1].dtype.lanes if node.indices else 1
        if node.buffer is not buffer or node.predicate is not None or lanes > 1:
            raise ScheduleError(
                f"{{0}} accesses `{buffer.name}` in another way than element by element", at=[at]
            )
        return True
    if node is buffer.data:
        raise ScheduleError(f"{{0}} uses the pointer of `{buffer.name}`", at=[at])
    return False


# --- from an element to the instance that writes it ----------------------------------------------


class Inverse(NamedTuple):
    """From the indices of an element to the iterators of the instance that accesses it.

    Attributes:
        indices: variables that stand for the indices.
        iterators: the value of each iterator in terms of them, for an element that is accessed.
    """

    indices: tuple[Var, ...]
    iterators: dict[Var, Expr]

    def at(self, indices: Sequence[Expr], analyzer: Analyzer) -> dict[Var, Expr]:
        """The values of the iterators for an element."""
        values = {
            var: cast(var.dtype, index) for var, index in zip(self.indices, indices, strict=True)
        }
        return {
            var: cast(var.dtype, analyzer.simplify(substitute(value, values)))
            for var, value in self.iterators.items()
        }


def invert(block: Block, indices: Sequence[Expr]) -> Inverse | None:
    """The inverse of an access of `block`, if different instances access different elements.

    For an element that no instance accesses, it gives iterators that are out of their domains or
    access another element.
    """
    analyzer = Analyzer()
    domains = {}
    known: dict[Var, Expr] = {}
    for iter_var in block.iter_vars:
        assert iter_var.dom is not None
        domains[iter_var.var] = iter_var.dom
        analyzer.bind(iter_var.var, iter_var.dom)
        if is_const_int(iter_var.dom.extent, 1):
            known[iter_var.var] = iter_var.dom.min
    places = tuple(Var(f"axis{n}", index.dtype) for n, index in enumerate(indices))
    rest = dict(zip(places, indices, strict=True))
    progress = True
    while progress:
        progress = False
        for place, index in list(rest.items()):
            solved = _solve(place, substitute(index, known), domains)
            if solved is not None:
                known[solved[0]] = analyzer.simplify(solved[1])
                del rest[place]
                progress = True
    unknown = {var: domain for var, domain in domains.items() if var not in known}
    if unknown:
        remaining = {p: i for p, i in rest.items() if any(v in unknown for v in variables_of(i))}
        index_map = IndexMap(tuple(unknown), tuple(remaining.values()))
        try:
            back, _ = index_map.non_surjective_inverse(list(unknown.values()))
        except ArgumentValueError:
            return None
        values = back.map_indices(tuple(remaining))
        known.update(zip(unknown, values, strict=True))
    return Inverse(places, known)


def _solve(place: Var, index: Expr, domains: dict[Var, object]) -> tuple[Var, Expr] | None:
    """The iterator that `index` contains, times a number, if it is the only one; and its value."""
    iterators = [var for var in variables_of(index) if var in domains]
    if len(iterators) != 1:
        return None
    linear = detect_linear_equation(index, iterators)
    if not linear or not isinstance(linear[0], IntImm) or linear[0].value == 0:
        return None
    factor = linear[0].value
    distance = place - linear[1] if factor > 0 else linear[1] - place
    value = distance if abs(factor) == 1 else floordiv(distance, abs(factor))
    return iterators[0], cast(iterators[0].dtype, value)


class Instantiation(Substitution):
    """An expression of a block at other iterators; indices that change are simplified."""

    def __init__(self, values: dict[Var, Expr], analyzer: Analyzer) -> None:
        super().__init__(values)
        self._analyzer = analyzer

    def BufferLoad(self, load: BufferLoad) -> BufferLoad:
        changed = super().BufferLoad(load)
        if changed is load:
            return load
        return changed.replace(indices=tuple(map(self._analyzer.simplify, changed.indices)))

    def Select(self, select: Select) -> Select:
        return self._with_condition(select, select.map_children(self))

    def _with_condition(self, old: Select, new: Select) -> Select:
        if new.condition is old.condition:
            return new
        return new.replace(condition=self._analyzer.simplify(new.condition))

    def Call(self, call: Call) -> Call:
        changed = call.map_children(self)
        if getattr(call.op, "name", None) != "tir.if_then_else" or changed is call:
            return changed
        condition = self._analyzer.simplify(changed.args[0])
        return changed.replace(args=(condition, *changed.args[1:]))

    def Let(self, let: Let) -> Let:
        # Each copy of a binder needs a variable of its own.
        fresh = Var(let.var.name, let.var.dtype)
        value = self(let.value)
        return let.replace(
            var=fresh, value=value, body=self(substitute(let.body, {let.var: fresh}))
        )


_STORES = (BufferStore, type(None))


# --- the program without the block ---------------------------------------------------------------


def without_buffer(body: Stmt, buffer: Buffer, stale: set[BlockKey]) -> Stmt:
    """`body` where `buffer` is not allocated and blocks with keys in `stale` have new regions."""

    def visit(stmt: Any) -> Stmt:
        below = stmt
        while below.__class__ is For:
            below = below.body
        if below.__class__ is BlockRealize and below.block.key not in stale:
            block = below.block
            if all(b is not buffer for b in block.alloc_buffers) and _is_leaf(block):
                return stmt
        if isinstance(stmt, BufferStore):
            return stmt
        changed = stmt.map_children(lambda item: visit(item) if isinstance(item, Stmt) else item)
        return finish(changed) if isinstance(changed, Block) else changed

    def finish(stmt: Block) -> Block:
        if any(allocated is buffer for allocated in stmt.alloc_buffers):
            kept = tuple(item for item in stmt.alloc_buffers if item is not buffer)
            stmt = stmt.replace(alloc_buffers=kept)
        return with_accesses(stmt) if stmt.key in stale else stmt

    return visit(body)


def _is_leaf(block: Block) -> bool:
    """Whether a block is plain to contain no other block."""
    return block.init.__class__ in _STORES and block.body.__class__ in _STORES


def enclosing_users(tree: FunctionTree, buffer: Buffer) -> set[BlockKey]:
    """The blocks that contain blocks and say that they access `buffer`."""
    return {
        realize.block.key
        for realize in tree.blocks_mentioning(buffer)
        if realize.block.key is not None
        and tree.blocks_below(realize)
        and _declares(realize.block, buffer)
    }


def _declares(block: Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in (*block.reads, *block.writes))
