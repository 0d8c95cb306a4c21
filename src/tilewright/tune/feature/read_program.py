"""Reading the loop nests of a program, each once for all who look at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tilewright.arith.linear import LinearForm, Terms, nonzero
from tilewright.arith.quotients import Quotient
from tilewright.ir.expr import EQ, GE, GT, LE, LT, And, Call, Expr, IntImm, Not, Or, Ramp, Var
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from tilewright.tir.transform.building.allocations import BUFFER_DIM_ALIGN
from tilewright.tune.candidate import lifted
from tilewright.tune.feature.index_form import Anything, IndexReader, interval
from tilewright.tune.feature.nest import (
    Guard,
    LinearAccess,
    Loop,
    Memory,
    Nest,
    Part,
    Program,
    Statement,
)
from tilewright.tune.feature.operations import Operations

UNKNOWN_ITERATIONS: Final = 16
"""How often a ``while`` loop is thought to run."""

_UNROLL_STEP: Final = "pragma_auto_unroll_max_step"


def read_program(func: PrimFunc) -> Program:
    """The loop nests of `func`."""
    return _Reader(func).program


class _Reader:
    def __init__(self, func: PrimFunc) -> None:
        self._indices = IndexReader()
        self._memories: dict[Buffer, Memory] = {}
        self._by_data: dict[Var, Memory] = {}
        self._views: dict[Buffer, Any] = {}
        self._path: list[tuple[Nest, list[Part]]] = []
        self._loops: list[Loop] = []
        self._body: list[Part] = []
        self._guards: tuple[Guard, ...] = ()
        self._unroll_step = 0
        self._name = func.global_symbol or ""
        self._initialises = False
        for buffer in func.buffer_map.values():
            self._memory(buffer, allocated=False)
        self._visit(func.body)
        for memory, outside in self._allocations().items():
            memory.outside = outside
        reassociates = bool(int(func.attrs.get("tir.reassociate", 0)))
        self.program = Program(self._body, list(self._memories.values()), reassociates)
        for statement in self.program.statements():
            statement.settle()

    # --- statements -------------------------------------------------------------------------

    def _visit(self, stmt: Stmt) -> None:
        visitor = _VISITORS.get(stmt.__class__)
        if visitor is not None:
            visitor(self, stmt)
            return
        for child in stmt.children():
            if isinstance(child, Stmt):
                self._visit(child)

    def _seq(self, stmt: SeqStmt) -> None:
        for child in stmt.seq:
            self._visit(child)

    def _for(self, stmt: For) -> None:
        low, high = self._indices.form(stmt.extent).bounds(interval)
        tag = stmt.thread_binding.thread_tag if stmt.thread_binding is not None else ""
        outer = self._unroll_step
        if stmt.annotations:
            self._set_unroll_step(stmt.annotations)
        # An extent that depends on outer loops is what it is on average.
        loop = Loop(stmt.loop_var, max(1, (low + high + 1) // 2), stmt.kind, tag, self._unroll_step)
        start = self._indices.form(stmt.min)
        known = LinearForm({**start.terms, loop: 1}, start.constant)
        self._indices.known[stmt.loop_var] = known
        self._inside(loop, stmt.body)
        self._unroll_step = outer

    def _while(self, stmt: While) -> None:
        self._inside(Loop(None, UNKNOWN_ITERATIONS, ForKind.SERIAL), stmt.body)

    def _inside(self, loop: Loop, body: Stmt) -> None:
        nest, outer = Nest(loop), self._body
        outer.append(nest)
        self._path.append((nest, outer))
        self._loops.append(loop)
        self._body = nest.body
        self._visit(body)
        self._body = outer
        self._loops.pop()
        self._path.pop()

    def _set_unroll_step(self, annotations: Mapping[str, Any]) -> None:
        step = annotations.get(_UNROLL_STEP)
        if isinstance(step, (int, IntImm)):
            self._unroll_step = int(step)

    def _realize(self, realize: BlockRealize) -> None:
        block = realize.block
        reducing: list[Loop] = []
        known = self._indices.known
        for iter_var, value in zip(block.iter_vars, realize.iter_values, strict=True):
            form = known[iter_var.var] = self._indices.form(value)
            if iter_var.iter_type == IterType.COMM_REDUCE:
                reducing += _loops_in(form.terms)
        for loop in reducing:
            loop.reduces = True
        outer = self._guards, self._name, self._unroll_step
        self._guards = (*self._guards, *self._guards_of(realize.predicate))
        self._name = block.name_hint or self._name
        for buffer in block.alloc_buffers:
            self._memory(buffer, allocated=True)
        for match in block.match_buffers:
            self._views[match.buffer] = match.source
        if block.annotations:
            self._set_unroll_step(block.annotations)
            for index, axis, *wish in block.annotations.get(BUFFER_DIM_ALIGN, ()):
                memory = self._memories.get(block.writes[int(index)].buffer)
                if memory is not None:
                    memory.alignments[int(axis)] = (int(wish[0]), int(wish[1]))
        if block.init is not None:
            self._initialise(block, set(reducing))
        self._visit(block.body)
        self._guards, self._name, self._unroll_step = outer

    def _initialise(self, block: Block, reducing: set[Loop]) -> None:
        """Put the initialisation of a reduction in front of its outermost loop."""
        assert block.init is not None
        first = next((i for i, loop in enumerate(self._loops) if loop in reducing), None)
        outer = self._loops, self._body, self._initialises
        self._initialises = True
        if first is None:
            self._visit(block.init)
        else:
            inner = [loop for loop in self._loops[first:] if loop not in reducing]
            self._loops = [*self._loops[:first], *inner]
            before: list[Part] = []
            self._body = before
            for loop in inner:
                nest = Nest(loop)
                self._body.append(nest)
                self._body = nest.body
            self._visit(block.init)
            around = self._path[first][1]
            around[-1:-1] = before
        self._loops, self._body, self._initialises = outer

    def _branch(self, stmt: IfThenElse) -> None:
        guards = self._guards
        added = self._guards_of(stmt.condition)
        self._guards = (*guards, *added)
        self._visit(stmt.then_case)
        if stmt.else_case is not None:
            loops = frozenset(loop for guard in added for loop in guard.loops)
            holds = 1.0
            for guard in added:
                holds *= guard.share
            self._guards = (*guards, Guard(loops, 1.0 - holds))
            self._visit(stmt.else_case)
        self._guards = guards

    def _let(self, stmt: LetStmt) -> None:
        if stmt.value.dtype.is_integral:
            self._indices.known[stmt.var] = self._indices.form(stmt.value)
        self._visit(stmt.body)

    def _store(self, stmt: BufferStore) -> None:
        accesses = [self._access(stmt.buffer, stmt.indices, True)]
        self._statement(accesses, Operations(stmt.value))

    def _evaluate(self, stmt: Evaluate) -> None:
        """A call: it may write what it gets a pointer to."""
        if not isinstance(stmt.value, Call):
            return
        accesses = []
        for node in walk(stmt.value):
            memory = self._by_data.get(node) if isinstance(node, Var) else None
            if memory is not None:
                accesses.append(LinearAccess(memory, not accesses, {}))
        if accesses:
            self._statement(accesses, Operations(stmt.value))

    def _statement(self, accesses: list[LinearAccess], operations: Operations) -> None:
        for load, conditions in zip(operations.loads, operations.conditions, strict=True):
            access = self._access(load.buffer, load.indices, False)
            access.conditions = conditions
            accesses.append(access)
        loops = tuple(self._loops)
        lanes = {
            key for access in accesses for key in access.terms
            if key.__class__ is Loop and key.var is None and key not in loops
        }  # fmt: skip
        body = self._body
        for lane in lanes:
            nest = Nest(lane)
            body.append(nest)
            body = nest.body
        statement = Statement(
            self._name, (*loops, *lanes), accesses, operations, self._guards, self._initialises
        )
        body.append(statement)

    # --- accesses ---------------------------------------------------------------------------

    def _memory(self, buffer: Buffer, allocated: bool = True) -> Memory:
        found = self._memories.get(buffer)
        if found is None:
            same = self._by_data.get(buffer.data)
            extents = map(self._indices.form, buffer.shape)
            sizes = [max(1, extent.bounds(interval)[1]) for extent in extents]
            found = Memory(buffer, allocated if same is None else same.allocated, sizes)
            self._memories[buffer] = found
            self._by_data.setdefault(buffer.data, found)
        return found

    def _access(self, buffer: Buffer, indices: tuple[Expr, ...], is_store: bool) -> LinearAccess:
        view = self._views.get(buffer)
        if view is not None:
            return self._access_of_view(view, indices, is_store)
        memory = self._memory(buffer)
        terms: Terms = {}
        self._add_indices(indices, memory.strides, terms)
        return LinearAccess(memory, is_store, nonzero(terms))

    def _access_of_view(
        self, source: Any, indices: tuple[Expr, ...], is_store: bool
    ) -> LinearAccess:
        """An access of a part of a buffer that has a name of its own."""
        starts = tuple(item.min for item in source.region)
        access = self._access(source.buffer, starts, is_store)
        memory, terms = access.memory, access.terms
        self._add_indices(indices, memory.strides[len(starts) - len(indices) :], terms)
        return LinearAccess(memory, is_store, nonzero(terms))

    def _add_indices(self, indices: Iterable[Expr], strides: Iterable[int], terms: Terms) -> None:
        for index, stride in zip(indices, strides, strict=False):
            self._indices.add(index, stride, terms)
            if index.__class__ is Ramp:
                self._add_lanes(index, stride, terms)

    def _add_lanes(self, ramp: Any, stride: int, terms: Terms) -> None:
        lanes = ramp.lanes if isinstance(ramp.lanes, int) else UNKNOWN_ITERATIONS
        key = ("lanes", lanes)
        known: Any = self._views.get(key)  # type: ignore[call-overload]
        if known is None:
            known = self._views[key] = Loop(None, lanes, ForKind.VECTORIZED)  # type: ignore[index]
        terms[known] = terms.get(known, 0) + self._indices.add(ramp.stride, stride, {})

    def _allocations(self) -> dict[Memory, int]:
        """Around how many loops each buffer of the program itself lives.

        Memory is as large as what lives at a time: a copy that is made anew in each iteration of a
        loop takes the place of the one before.
        """
        common: dict[Memory, tuple[Loop, ...]] = {}
        for statement in Program(self._body, []).statements():
            loops = statement.loops
            for access in statement.accesses:
                memory = access.memory
                if memory.allocated:
                    known = common.get(memory)
                    common[memory] = loops if known is None else _common(known, loops)
        return {memory: len(loops) for memory, loops in common.items()}

    # --- conditions -------------------------------------------------------------------------

    def _guards_of(self, condition: Any) -> list[Guard]:
        """The parts of a condition that have to hold together."""
        kind = condition.__class__
        if kind is And:
            return [*self._guards_of(condition.a), *self._guards_of(condition.b)]
        if kind is IntImm and condition.value:
            return []
        if kind is Call and condition.args:
            return self._guards_of(condition.args[0])
        loops: set[Loop] = set()
        share = self._probability(condition, loops)
        return [Guard(frozenset(loops), share)] if share < 1.0 else []

    def _probability(self, condition: Any, loops: set[Loop]) -> float:
        """In which part of all iterations a condition holds, if its variables were independent.

        Adds the loops that it depends on to `loops`.
        """
        kind = condition.__class__
        if kind is IntImm:
            return 1.0 if condition.value else 0.0
        if kind is And:
            return self._probability(condition.a, loops) * self._probability(condition.b, loops)
        if kind is Or:
            neither = 1.0 - self._probability(condition.a, loops)
            return 1.0 - neither * (1.0 - self._probability(condition.b, loops))
        if kind is Not:
            return 1.0 - self._probability(condition.a, loops)
        if kind not in (LT, LE, GT, GE, EQ):
            return 1.0
        if not condition.a.dtype.is_integral:
            return 0.5
        terms: Terms = {}
        constant = self._indices.add(condition.a, 1, terms)
        constant += self._indices.add(condition.b, -1, terms)
        loops.update(_loops_in(terms))
        low, high = LinearForm(terms, constant).bounds(interval)
        if kind is EQ:
            return 1.0 / (high - low + 1) if low <= 0 <= high else 0.0
        if kind is LT or kind is LE:
            holding = (0 if kind is LT else 1) - low
        else:
            holding = high + (0 if kind is GT else 1)
        return min(1.0, max(0.0, holding / (high - low + 1)))


def _loops_in(terms: Terms) -> list[Loop]:
    found: list[Loop] = []
    for key in terms:
        if key.__class__ is Quotient:
            found += _loops_in(key.form.terms)
        elif key.__class__ is not Anything:
            found.append(key)
    return found


def _common(some: tuple[Loop, ...], others: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops with which both begin."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if one is not other:
            break
        count += 1
    return some[:count]


_VISITORS: Final[Mapping[type, Any]] = {
    SeqStmt: _Reader._seq,
    For: _Reader._for,
    While: _Reader._while,
    BlockRealize: _Reader._realize,
    IfThenElse: _Reader._branch,
    LetStmt: _Reader._let,
    BufferStore: _Reader._store,
    Evaluate: _Reader._evaluate,
}


_FACT = "loop nests"


def programs_of(schedule: Any) -> list[Program]:
    """The loop nests of each function of a schedule.

    They are remembered as long as the schedule keeps this version of the program.
    """
    found = []
    state = schedule.state
    for variable in state.functions:
        tree = state.tree(variable.name_hint)
        program = tree.facts.get(_FACT)
        if program is None:
            # What is copied of constants is copied before the program is called.
            func, _ = lifted(tree.func) if CONSTANT_PARAMS in tree.func.attrs else (tree.func, {})
            program = tree.facts[_FACT] = read_program(func)
        found.append(program)
    return found
