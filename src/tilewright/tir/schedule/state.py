"""The program behind a schedule: a module whose functions are indexed when they are looked at."""

from __future__ import annotations

from typing import Final

from tilewright.error import InternalError, VerifyError
from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Var
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute

_PREPARED: Final[LRUCache[PrimFunc]] = LRUCache(64)


def prepare(name: str, func: PrimFunc) -> PrimFunc:
    """`func` with keys for its blocks; loops that share a variable get their own.

    The result is the same for the same function, so that what is known about its blocks is known
    to all schedules of it.

    Raises:
        ScheduleError: for a function without a root block, such as a lowered one.
    """
    if not isinstance(func.body, BlockRealize):
        raise ScheduleError(
            f"the body of function `{name}` is not a block: only programs made of blocks can be "
            "scheduled, not what `tvm.lower` returns",
            hint="schedule the program before it is lowered",
        )
    return _PREPARED.get(func, None, lambda: newly_prepared(func))


def newly_prepared(func: PrimFunc) -> PrimFunc:
    """See `prepare`; for a function that was made just now, and is remembered elsewhere."""
    return func.with_body(_Preparation()(func.body))


class _Preparation(Rewriter):
    def __init__(self) -> None:
        self._keys: set[BlockKey] = set()
        self._variables: set[Var] = set()

    def Block(self, block: Block) -> Stmt:
        block = block.map_children(self)
        if block.key is None or block.key in self._keys:
            block = block.replace(key=BlockKey())
        assert block.key is not None
        self._keys.add(block.key)
        return block

    def For(self, loop: For) -> Stmt:
        var = loop.loop_var
        if var in self._variables:
            fresh = Var(var.name, var.dtype)
            loop = loop.replace(loop_var=fresh, body=substitute(loop.body, {var: fresh}))
        self._variables.add(loop.loop_var)
        body = self(loop.body)
        return loop if body is loop.body else loop.replace(body=body)


class StmtSRef:
    """A reference to a block or loop of one version of the program.

    Attributes:
        stmt: the `Block` or `For`.
        tree: the version of the function that it is in.
    """

    __slots__ = ("stmt", "tree")

    def __init__(self, stmt: Block | For, tree: FunctionTree) -> None:
        self.stmt = stmt
        self.tree = tree

    @property
    def parent(self) -> StmtSRef | None:
        """The nearest block or loop around it."""
        for above in self.tree.ancestors(self.stmt):
            if isinstance(above, (Block, For)):
                return StmtSRef(above, self.tree)
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StmtSRef) and self.stmt is other.stmt

    def __hash__(self) -> int:
        return hash(self.stmt)


class ScheduleState:
    """The functions of a module, each with an index made on demand.

    Args:
        mod: the module; it is not changed.
        checked: whether primitives prove what they require.
    """

    def __init__(self, mod: IRModule, checked: bool = True) -> None:
        self._source = mod
        self.checked = checked
        self._mod: IRModule | None = None
        self._trees: dict[str, FunctionTree] = {}
        self._functions: dict[str, PrimFunc] = {}
        self._shared = False

    @property
    def functions(self) -> list[GlobalVar]:
        """The names of the functions that can be scheduled."""
        return [v for v, f in self._source.functions.items() if isinstance(f, PrimFunc)]

    @property
    def mod(self) -> IRModule:
        """The module as it is now."""
        if self._mod is None:
            self._mod = self._source.clone()
            for name, func in self._functions.items():
                self._mod[name] = func
        return self._mod.clone()

    def only_function(self) -> GlobalVar | None:
        """The function ``main``, or the only one; None if there are several others."""
        functions = self.functions
        for var in functions:
            if var.name_hint == "main":
                return var
        return functions[0] if len(functions) == 1 else None

    def global_var(self, name: str) -> GlobalVar:
        """The name object of a function."""
        self._source[name]  # an unknown name is an error
        return GlobalVar(name)

    def tree(self, name: str) -> FunctionTree:
        """The function of that name, indexed."""
        return self._trees.get(name) or self._indexed(name)

    @deep_recursion
    def _indexed(self, name: str) -> FunctionTree:
        func = self._functions.get(name)
        if func is None:
            func = self._source[name]
            if not isinstance(func, PrimFunc):
                raise ScheduleError(f"`{name}` is not a tensor program, but {type(func).__name__}")
            func = prepare(name, func)
        found = FunctionTree(name, func, self.checked)
        self._own()
        self._trees[name] = found
        self._functions[name] = func
        return found

    def update(self, tree: FunctionTree) -> None:
        """Set a new version of a function."""
        self._own()
        self._functions[tree.name] = tree.func
        self._trees[tree.name] = tree
        self._mod = None

    def copy(self) -> ScheduleState:
        """An independent copy, in constant time."""
        copy = ScheduleState.__new__(ScheduleState)
        copy.__dict__.update(self.__dict__)
        self._shared = copy._shared = True
        return copy

    def _own(self) -> None:
        if self._shared:
            self._trees, self._functions = dict(self._trees), dict(self._functions)
            self._shared = False

    def get_sref(self, stmt: Block | For, name: str | None = None) -> StmtSRef:
        """A reference to a statement of the program.

        Raises:
            ScheduleError: if the program has no such statement.
        """
        names = [name] if name else [var.name_hint for var in self.functions]
        for candidate in names:
            tree = self.tree(candidate)
            if stmt in tree:
                return StmtSRef(stmt, tree)
        raise ScheduleError("the statement is not in the scheduled program")

    def replace(self, src_sref: StmtSRef, tgt_stmt: Stmt) -> None:
        """Replace a statement by one that the caller wrote.

        Nothing is proved. Blocks that the new statement keeps keep their identity.

        Args:
            src_sref: what to replace.
            tgt_stmt: a loop or block (or the realisation of a block).
        """
        tree, stmt = src_sref.tree, src_sref.stmt
        old: Stmt = stmt
        if isinstance(stmt, Block) and isinstance(tgt_stmt, BlockRealize):
            old = tree.realize(stmt)
        func = prepare(tree.name, tree.edit({old: tgt_stmt}).func)
        self.update(FunctionTree(tree.name, func, self.checked))

    def verify(self, name: str, primitive: str) -> None:
        """Complain if a step made a malformed function."""
        try:
            verify_well_formed(self._functions[name])
        except VerifyError as error:
            raise InternalError(f"{primitive} made a malformed program: {error}") from error
