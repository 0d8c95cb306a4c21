"""Where in a scope a new statement goes so that it runs between the accesses of a buffer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import flow
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, SeqStmt, Stmt

AnyStmt = TypeVar("AnyStmt", bound=Stmt)


class Late(NamedTuple):
    """A block that runs after all iterations of some loop around the place.

    Attributes:
        realize: the block.
        around: the nearest loop or block around both it and the place.
    """

    realize: BlockRealize
    around: For | BlockRealize


class InsertionPoint(NamedTuple):
    """A place directly before or after a statement.

    Attributes:
        stmt: the statement.
        around: the nearest loop or block around it.
        late: the readers that are not in `around`.
        conditional: the branch or other statement below which it lies, if there is one.
    """

    stmt: Stmt
    around: For | BlockRealize
    late: tuple[Late, ...] = ()
    conditional: Stmt | None = None


class _Search:
    """Goes down from the body of a scope, one sequence of statements at a time."""

    def __init__(self, tree: FunctionTree, scope: BlockRealize, accesses: Sequence[Stmt]) -> None:
        self.tree = tree
        self._lines = {stmt: {stmt, *tree.ancestors(stmt)} for stmt in accesses}
        self.around: For | BlockRealize = scope
        self.conditional: Stmt | None = None
        self.children: tuple[Stmt, ...] = ()
        self._enter(scope.block.body)

    def _enter(self, stmt: Stmt) -> None:
        self.children = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)

    def inside(self, stmt: Stmt, accesses: Sequence[AnyStmt]) -> list[AnyStmt]:
        """Those of `accesses` that are in `stmt`."""
        return [access for access in accesses if stmt in self._lines[access]]

    def descend(self, stmt: Stmt, towards: Sequence[BlockRealize]) -> None:
        """Go on in the part of `stmt` that contains all of `towards`."""
        if isinstance(stmt, For):
            self.around = stmt
        else:
            self.conditional = stmt
        parts = [part for part in stmt.children() if isinstance(part, Stmt)]
        chosen = [part for part in parts if self.inside(part, towards)]
        if len(chosen) > 1:
            raise ScheduleError(
                "{0} and {1} are in different branches",
                at=[self.inside(part, towards)[0] for part in chosen],
            )
        self._enter(chosen[0])


def place_before(
    tree: FunctionTree,
    scope: BlockRealize,
    readers: Sequence[BlockRealize],
    writers: Sequence[Stmt],
) -> InsertionPoint:
    """The outermost place after the writers, blocks or stores, and before the first reader.

    In one iteration of the loops around it, no writer runs between the place and a reader. Writers
    that run after all readers stay there.

    Raises:
        ScheduleError: if a writer runs between two readers.
    """
    search = _Search(tree, scope, [*readers, *writers])
    late: list[Late] = []
    while True:
        children = search.children
        found = [number for number, child in enumerate(children) if search.inside(child, readers)]
        first, last = found[0], found[-1]
        _refuse_between(search, children[first + 1 : last + 1], readers, writers)
        behind = [w for child in children[last + 1 :] for w in search.inside(child, writers)]
        if late and behind:
            raise _overwritten(tree, behind[0], late[0].realize)
        mixed = search.inside(children[first], writers)
        if not mixed:
            return InsertionPoint(children[first], search.around, tuple(late), search.conditional)
        inside = search.inside(children[first], readers)
        late += [Late(reader, search.around) for reader in readers if reader not in set(inside)]
        readers, writers = inside, mixed
        search.descend(children[first], readers)


def _refuse_between(
    search: _Search,
    children: Sequence[Stmt],
    readers: Sequence[BlockRealize],
    writers: Sequence[Stmt],
) -> None:
    for position, child in enumerate(children):
        found = search.inside(child, writers)
        if found:
            following = [r for c in children[position:] for r in search.inside(c, readers)]
            raise _overwritten(search.tree, found[0], following[-1])


def _overwritten(tree: FunctionTree, writer: Stmt, reader: BlockRealize) -> ScheduleError:
    hint = "name the blocks that shall read the copy by consumer_blocks"
    if not isinstance(writer, BlockRealize):
        return ScheduleError(
            "what is outside of blocks writes the buffer after the copy and before {0} reads it",
            at=[reader, writer],
            hint=hint,
        )
    return ScheduleError(
        "{0} writes the buffer after the copy and before {1} reads it",
        at=[writer, reader],
        counterexample=partial(flow, tree, writer, reader),
        hint=hint,
    )


def place_after(
    tree: FunctionTree,
    scope: BlockRealize,
    realize: BlockRealize,
    others: Sequence[BlockRealize],
) -> InsertionPoint:
    """The outermost place after `realize` such that none of `others` runs before it.

    More exactly: in one iteration of the loops around the place, none of `others` runs between an
    instance of `realize` and the place.
    """
    search = _Search(tree, scope, [realize, *others])
    while True:
        child = next(child for child in search.children if search.inside(child, [realize]))
        others = search.inside(child, others)
        if not others:
            return InsertionPoint(child, search.around, (), search.conditional)
        search.descend(child, [realize])
