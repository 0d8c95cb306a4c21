"""Whether a block computes what a tensor intrinsic describes, and on which parts of its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.linear import mentions
from tilewright.ir.arithmetic import match_operands
from tilewright.ir.expr import (
    EQ,
    NE,
    Add,
    And,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Or,
    Sub,
    Var,
    is_const_int,
)
from tilewright.ir.node import Node, Role
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.schedule.edits.bindings import reads_memory
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, SeqStmt, Stmt
from tilewright.tir.substitute import substitute

COMMUTATIVE: Final = (Add, Mul, Min, Max, And, Or, EQ, NE)


class MatchedBuffer(NamedTuple):
    """Where a buffer of a description is found: element ``[i]`` is ``buffer[base + i]``.

    Attributes:
        buffer: the buffer of the program.
        base: an index per dimension, of which there may be more ahead than the description has.
    """

    buffer: Buffer
    base: tuple[Expr, ...]


class MismatchError(Exception):
    """Carries the reason why a block is not what a description says."""


class IntrinsicMatch:
    """Matches a block with a description.

    Args:
        analyzer: what is known in the block; what is inside is added.

    Attributes:
        places: what was found for each buffer of the description.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._variables: dict[Var, Expr] = {}
        self._inner: set[Var] = set()
        self.places: dict[Buffer, MatchedBuffer] = {}

    def match(self, block: Block, desc: Block) -> None:
        """Compare the bodies of a block of the program and of a description.

        Raises:
            MismatchError: with the first difference.
        """
        self._same_buffers(block, desc)
        if desc.init is not None:
            self._init(block, desc)
        self.stmt(block.body, desc.body)
        written = [store.buffer for store in walk(desc.body) if isinstance(store, BufferStore)]
        for buffer in dict.fromkeys(written):
            place = self.places[buffer]
            if any(p.buffer is place.buffer for b, p in self.places.items() if b is not buffer):
                raise MismatchError(
                    f"{place.buffer.name} is written, and stands for two buffers of the description"
                )

    # --- statements -------------------------------------------------------------------------

    def stmt(self, found: Any, desc: Any) -> None:
        """Match a statement of the program with one of the description."""
        if isinstance(found, For) or isinstance(desc, For):
            self._loop(found, desc)
        elif type(found) is not type(desc):
            raise MismatchError(f"{_kind(desc)} is expected where there is {_kind(found)}")
        elif isinstance(found, BlockRealize):
            self._block(found, desc)
        elif isinstance(found, SeqStmt):
            if len(found.seq) != len(desc.seq):
                raise MismatchError(
                    f"{len(desc.seq)} statements are expected where there are {len(found.seq)}"
                )
            for one, other in zip(found.seq, desc.seq, strict=True):
                self.stmt(one, other)
        elif isinstance(found, BufferStore):
            self._access(found, desc)
            self.expr(found.value, desc.value)
        else:
            self._children(found, desc)

    def _loop(self, found: Any, desc: Any) -> None:
        if isinstance(found, For) and isinstance(desc, For) and self._same_loop(found, desc):
            self._enter(found)
            self._variables[desc.loop_var] = found.loop_var
            self.stmt(found.body, desc.body)
        elif isinstance(found, For) and is_const_int(found.extent, 1):
            self._enter(found)
            self.stmt(found.body, desc)
        elif isinstance(desc, For) and is_const_int(desc.extent, 1):
            self._variables[desc.loop_var] = self._mapped(desc.min)
            self.stmt(found, desc.body)
        else:
            raise MismatchError(f"{_kind(desc)} is expected where there is {_kind(found)}")

    def _same_loop(self, found: For, desc: For) -> bool:
        return (
            found.kind is desc.kind
            and self._equal(found.min, desc.min)
            and self._equal(found.extent, desc.extent)
        )

    def _enter(self, loop: For) -> None:
        self._inner.add(loop.loop_var)
        self._analyzer.bind_range(loop.loop_var, loop.min, loop.extent)

    def _block(self, found: BlockRealize, desc: BlockRealize) -> None:
        if not self._equal(found.predicate, desc.predicate):
            raise MismatchError(
                f"block {found.block.name_hint} runs where {found.predicate}, but should where "
                f"{desc.predicate}"
            )
        self._same_buffers(found.block, desc.block)
        self._iterators(found, desc)
        if desc.block.init is not None or found.block.init is not None:
            self._init(found.block, desc.block)
        self.stmt(found.block.body, desc.block.body)

    def _iterators(self, found: BlockRealize, desc: BlockRealize) -> None:
        rest = list(zip(found.block.iter_vars, found.iter_values, strict=True))
        for iter_var, _ in rest:
            assert iter_var.dom is not None
            self._inner.add(iter_var.var)
            self._analyzer.bind_range(iter_var.var, iter_var.dom.min, iter_var.dom.extent)
        for iter_var, binding in zip(desc.block.iter_vars, desc.iter_values, strict=True):
            assert iter_var.dom is not None
            chosen = next(
                (n for n, pair in enumerate(rest) if self._same_iterator(*pair, iter_var, binding)),
                None,
            )
            if chosen is not None:
                self._variables[iter_var.var] = rest.pop(chosen)[0].var
            elif is_const_int(iter_var.dom.extent, 1):
                self._variables[iter_var.var] = self._mapped(iter_var.dom.min)
            else:
                raise MismatchError(
                    f"no iterator of block {found.block.name_hint} is the "
                    f"`{iter_var.var.name} = {binding}` of the description"
                )
        for iter_var, _ in rest:
            if iter_var.dom is None or not is_const_int(iter_var.dom.extent, 1):
                raise MismatchError(
                    f"the description has no iterator like `{iter_var.var.name}` of block "
                    f"{found.block.name_hint}"
                )

    def _same_iterator(self, found: Any, value: Expr, desc: Any, binding: Expr) -> bool:
        return (
            found.iter_type is desc.iter_type
            and self._equal(found.dom.min, desc.dom.min)
            and self._equal(found.dom.extent, desc.dom.extent)
            and self._equal(value, binding)
        )

    def _init(self, found: Block, desc: Block) -> None:
        if found.init is None or desc.init is None:
            which = "has no" if found.init is None else "has an"
            raise MismatchError(
                f"block {found.name_hint} {which} initialisation, unlike the description"
            )
        self.stmt(found.init, desc.init)

    def _same_buffers(self, found: Block, desc: Block) -> None:
        for block in (found, desc):
            if block.alloc_buffers or block.match_buffers:
                raise MismatchError(f"block {block.name_hint} has buffers of its own")

    # --- expressions ------------------------------------------------------------------------

    def expr(self, found: Any, desc: Any) -> None:
        """Match an expression of the program with one of the description."""
        if isinstance(desc, BufferLoad) and isinstance(found, BufferLoad):
            self._access(found, desc)
            return
        if desc.dtype.is_integral and not (reads_memory(found) or reads_memory(desc)):
            if found.dtype is desc.dtype and self._equal(found, desc):
                return
            raise MismatchError(f"`{desc}` is expected where there is `{found}`")
        if type(found) is not type(desc) or found.dtype is not desc.dtype:
            raise MismatchError(f"`{desc}` is expected where there is `{found}`")
        if not isinstance(found, COMMUTATIVE):
            self._children(found, desc)
            return
        before = dict(self.places)
        try:
            self._children(found, desc)
        except MismatchError as error:
            self.places = before
            try:
                self.expr(found.a, desc.b)  # type: ignore[attr-defined]
                self.expr(found.b, desc.a)  # type: ignore[attr-defined]
            except MismatchError:
                raise error from None

    def _children(self, found: Any, desc: Any) -> None:
        for field in type(found).__node_fields__:
            mine, other = getattr(found, field.name), getattr(desc, field.name)
            if field.role in (Role.META, Role.DERIVED):
                continue
            if field.role is Role.CHILD:
                self._items(mine, other)
            elif field.role is Role.BINDS:
                raise MismatchError(f"{_kind(found)} cannot be matched")
            elif mine is not other and (isinstance(mine, Node) or mine != other):
                raise MismatchError(f"{_kind(desc)} is expected where there is {_kind(found)}")

    def _items(self, found: Any, desc: Any) -> None:
        mine = found if isinstance(found, tuple) else () if found is None else (found,)
        other = desc if isinstance(desc, tuple) else () if desc is None else (desc,)
        if len(mine) != len(other):
            raise MismatchError("a part of the description is missing, or there is more than it")
        for one, two in zip(mine, other, strict=True):
            if isinstance(one, Stmt):
                self.stmt(one, two)
            else:
                self.expr(one, two)

    def _access(self, found: Any, desc: Any) -> None:
        """Match the buffer and the indices of a load or a store."""
        buffer: Buffer = found.buffer
        ahead = len(found.indices) - len(desc.indices)
        if buffer.dtype is not desc.buffer.dtype or buffer.scope() != desc.buffer.scope():
            raise MismatchError(
                f"{desc.buffer.name} is {desc.buffer.dtype!s} in {desc.buffer.scope()} memory, "
                f"but {buffer.name} is {buffer.dtype!s} in {buffer.scope()} memory"
            )
        indices = (*found.indices, *desc.indices)
        if ahead < 0 or found.predicate is not None or any(i.dtype.is_vector for i in indices):
            raise MismatchError(f"{buffer.name} is accessed in another way than the description's")
        simplify = self._analyzer.simplify
        base = (
            *map(simplify, found.indices[:ahead]),
            *(
                simplify(mine - self._mapped(other))
                for mine, other in zip(found.indices[ahead:], desc.indices, strict=True)
            ),
        )
        known = self.places.get(desc.buffer)
        if known is None:
            if any(mentions(index, self._inner) for index in base):
                raise MismatchError(
                    f"the indices of {buffer.name} are not those of {desc.buffer.name} plus an "
                    "offset"
                )
            self.places[desc.buffer] = MatchedBuffer(buffer, base)
        elif known.buffer is not buffer or not self._all_equal(known.base, base):
            raise MismatchError(
                f"{desc.buffer.name} stands for another part of {known.buffer.name} before than "
                f"here, where it is {buffer.name}[{', '.join(map(str, found.indices))}]"
            )

    # --- comparing --------------------------------------------------------------------------

    def _mapped(self, desc: Expr) -> Any:
        return _SameWidths()(substitute(desc, self._variables))

    def _equal(self, found: Expr, desc: Expr) -> bool:
        mapped = self._mapped(desc)
        if found is mapped or (is_const_int(found, 1) and is_const_int(mapped, 1)):
            return True
        if not found.dtype.is_integral or found.dtype.is_bool:
            return False
        return self._analyzer.can_prove_equal(found, mapped)

    def _all_equal(self, found: Sequence[Expr], desc: Sequence[Expr]) -> bool:
        return len(found) == len(desc) and all(
            self._analyzer.can_prove_equal(a, b) for a, b in zip(found, desc, strict=True)
        )


class _SameWidths(Rewriter):
    """Descriptions count in int32: what is computed with iterators in int64 is so, too."""

    def Add(self, expr: Add | Sub | Mul | FloorDiv | FloorMod) -> Expr:
        expr = expr.map_children(self)
        if expr.a.dtype is expr.b.dtype:
            return expr
        return type(expr)(*match_operands(expr.a, expr.b, "tensorize"))

    Sub = Mul = FloorDiv = FloorMod = Add


def _kind(node: Any) -> str:
    if isinstance(node, For):
        return f"a loop `{node.loop_var.name}` over {node.extent}"
    if isinstance(node, BlockRealize):
        return f"block {node.block.name_hint}"
    return f"a {type(node).__name__}"
