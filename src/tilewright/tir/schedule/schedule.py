"""`Schedule`: a program under transformation, with its history."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.ir.expr import Expr
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.tir.analysis.verify import verify_declared_regions
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.arguments import resolve
from tilewright.tir.schedule.edits.declarations import with_nested_accesses
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.methods import PrimitiveMethods
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive
from tilewright.tir.schedule.proofs.edit_checks import (
    require_bound_variables,
    require_representable,
    require_still_initialised,
)
from tilewright.tir.schedule.proofs.kernels import require_kernels
from tilewright.tir.schedule.proofs.legality import require_still_independent
from tilewright.tir.schedule.state import ScheduleState, StmtSRef
from tilewright.tir.schedule.symbols import BlockRV, ComputeLocation, LoopRV, SymbolTable
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.traces.random_choices import RandomState
from tilewright.tir.schedule.traces.trace import Trace
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind

_LEVELS = ("detail", "fast", "none")


class Schedule(PrimitiveMethods):
    """A program that is transformed step by step, each step proved to keep its meaning.

    The methods that transform take and return random variables: `BlockRV`, `LoopRV` and `ExprRV`
    stand for blocks, loops and numbers of the program as it is at the time. A block may also be
    given by name. What a primitive cannot prove it refuses with a `ScheduleError`, and the program
    stays as it was.

    Args:
        mod: a module, or a function, which becomes the function ``main`` of a module (and is
            still exported under its ``global_symbol``).
        seed: of the random choices of the sampling methods; by default another one every time.
        debug_mask: ``"all"`` (or -1) to verify after each step that the program is well-formed;
            ``"none"`` (or 0) not to.
        error_render_level: what errors say: ``"detail"`` with the script and a counterexample,
            ``"fast"`` one line, ``"none"`` nothing.
        enable_check: whether primitives prove what they require. Without, a wrong schedule gives
            a wrong program; for replaying schedules that were proved before.

    Raises:
        VerifyError: for a block that accesses what it does not declare to read or to write.
    """

    def __init__(
        self,
        mod: IRModule | PrimFunc,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        if debug_mask not in ("none", "all") and not isinstance(debug_mask, int):
            raise ArgumentValueError(
                f'Schedule: debug_mask is "none", "all" or a number, got {debug_mask!r}'
            )
        require_one_of("Schedule: error_render_level", error_render_level, _LEVELS)
        module = _as_module(mod)
        if enable_check:
            verify_declared_regions(module)
        self._state = ScheduleState(module, bool(enable_check))
        self._trace = Trace()
        self._random = RandomState(seed)
        self._symbols = SymbolTable()
        self._debug = debug_mask not in ("none", 0)
        self._level = error_render_level
        self._working_on: GlobalVar | None = self._state.only_function()

    # --- what there is ----------------------------------------------------------------------

    @property
    def mod(self) -> IRModule:
        """The program as it is now."""
        return self._state.mod

    @property
    def state(self) -> ScheduleState:
        """The program with an index of its statements."""
        return self._state

    @property
    def trace(self) -> Trace:
        """The history: prints as Python, and can be saved and replayed."""
        return self._trace

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The function in which `get_block` looks if it is not told another."""
        return self._working_on

    def work_on(self, func_name: str) -> None:
        """Let `get_block` look in the function `func_name` from now on."""
        self._working_on = self._state.global_var(func_name)

    def copy(self) -> Schedule:
        """An independent schedule of the same program, in constant time.

        Random variables of this schedule stand for the same in the copy. The copy's random
        choices are seeded by `fork_seed`.
        """
        copy = Schedule.__new__(Schedule)
        copy.__dict__.update(self.__dict__)
        copy._state = self._state.copy()
        copy._trace = self._trace.copy()
        copy._random = RandomState(self.fork_seed())
        copy._symbols = self._symbols.copy()
        return copy

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self._random = RandomState(None if seed == -1 else seed)

    def fork_seed(self) -> int:
        """A seed for another schedule, from the random choices of this one."""
        return self._random.fork_seed()

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Print the program and the trace; options as in `IRModule.show`."""
        self.mod.show(*args, **kwargs)
        self.trace.show(*args, **kwargs)

    def _repr_html_(self) -> str:
        return self.mod._repr_html_()

    # --- random variables -------------------------------------------------------------------

    def get(self, rand_var_or_sref: Any) -> Any:
        """What a random variable stands for now: a `Block`, a `For`, or an int."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, (BlockRV, LoopRV)):
            _, stmt = self.statement(rand_var_or_sref)
            return stmt.block if isinstance(stmt, BlockRealize) else stmt
        if isinstance(rand_var_or_sref, Expr):
            return self.number(rand_var_or_sref)
        raise ArgumentError(f"get: expected a random variable, got {rand_var_or_sref!r}")

    def get_sref(self, rand_var_or_stmt: Any) -> StmtSRef:
        """A reference to the statement of a random variable, or to a statement of the program."""
        if isinstance(rand_var_or_stmt, (Block, For)):
            return self._state.get_sref(rand_var_or_stmt)
        name, stmt = self.statement(rand_var_or_stmt)
        if isinstance(stmt, ComputeLocation):
            raise ScheduleError(f"{rand_var_or_stmt!r} stands for no loop, but for a place")
        return self._state.get_sref(stmt.block if isinstance(stmt, BlockRealize) else stmt, name)

    def remove_rv(self, rand_var: Any) -> None:
        """Forget a random variable."""
        self._symbols.remove(rand_var)

    def number(self, value: Any) -> int:
        """The value of a number, a sampled `ExprRV`, or an expression over some."""
        return self._symbols.number(value)

    def with_numbers(self, value: Any) -> Any:
        """`value` (an argument, or a list or dictionary) with sampled numbers filled in."""
        return self._symbols.with_numbers(value)

    def mentions_numbers(self, index_map: IndexMap) -> bool:
        """Whether there are sampled numbers of this schedule in an index map."""
        return self._symbols.mentions_numbers(index_map)

    def statement(self, rand_var: Any) -> tuple[str, Any]:
        """The function and the statement of a random variable (or the place that it is)."""
        return self._symbols.statement(rand_var, self._state)

    # --- applying primitives ----------------------------------------------------------------

    def apply(self, primitive: str, arguments: Mapping[str, Any], decision: Any = None) -> Any:
        """Apply the primitive of that name; what replaying a trace does.

        Args:
            primitive: its name; or the name of a step of another package, which is not a method.
            arguments: by name; parameters that are left out have their defaults.
            decision: of a sampling.

        Raises:
            ArgumentError: if an argument is missing, or there is none of that name.
        """
        found = InstructionKind.get(primitive).primitive
        if found.package != "tir":
            raise ArgumentValueError(f"{found.name} is not a step of a tir.Schedule")
        complete = found.defaults | dict(arguments)
        missing = [name for name, value in complete.items() if value is inspect.Parameter.empty]
        if missing or len(complete) > len(found.defaults):
            wrong = missing or [name for name in complete if name not in found.defaults]
            what = "the argument is missing" if missing else "there is no such argument"
            raise ArgumentError(f"{found.name}: `{wrong[0]}`: {what}")
        if decision is not None:
            complete["decision"] = decision
        return self._apply(found, complete)

    def apply_instruction(self, inst: Instruction, decision: Any = None) -> None:
        """Apply a recorded instruction, the outputs of which then stand for what it returns here.

        The trace has the same instruction afterwards. That is for trying many decisions of one
        trace: schedules that share instructions share random variables, too.

        Args:
            inst: the instruction; what it uses is known in this schedule.
            decision: of a sampling; None to choose at random.
        """
        primitive = inst.kind.primitive
        arguments = {**primitive.defaults, **inst.arguments}
        if decision is not None:
            arguments["decision"] = decision
        self._apply(primitive, arguments, inst)

    def _call(self, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._apply(primitive, primitive.bind(args, kwargs))

    def _apply(
        self, primitive: Primitive, arguments: dict[str, Any], inst: Instruction | None = None
    ) -> Any:
        tree = after = None
        values: dict[str, Any] = {}
        try:
            recorded, values, name = resolve(self, primitive, arguments)
            tree = self._state.tree(name)
            edit = self._run(primitive, tree, values)
            if edit.func is not tree.func:
                after = with_nested_accesses(
                    tree, FunctionTree(name, edit.func, tree.checked, tree)
                )
                require_bound_variables(tree, after)
                require_still_independent(tree, after, edit.by_construction)
                if ForKind.THREAD_BINDING not in edit.by_construction:
                    require_kernels(tree, after)
                require_still_initialised(tree, after)
                require_representable(tree, after)
        except ScheduleError as error:
            attempt = tree and partial(self._attempt, primitive, tree, values)
            raise error.raised_by(primitive.name, tree, self._level, attempt) from None
        results, decision = edit.results if primitive.is_sampling else (edit.results, None)
        if after is not None:
            self._state.update(after)
            if self._debug:
                self._state.verify(name, primitive.name)
        if inst is not None:
            self._symbols.assign(name, inst.outputs, results)
            self._trace.append(inst, decision)
            return None
        # An index map in terms of sampled numbers is recorded so, and not as what it is now.
        recorded |= {k: v for k, v in edit.recorded.items() if not self._is_sampled(recorded[k])}
        if primitive.is_sampling:
            recorded = {k: v for k, v in recorded.items() if k != "decision"}
        outputs = self._symbols.define(name, results)
        returned = (
            outputs if isinstance(outputs, list) else [outputs] if outputs is not None else []
        )
        kind = InstructionKind.get(primitive.name)
        inst = Instruction.of(kind, recorded, tuple(returned), isinstance(outputs, list))
        self._trace.append(inst, decision)
        return outputs

    def _is_sampled(self, value: Any) -> bool:
        return isinstance(value, IndexMap) and self.mentions_numbers(value)

    def _attempt(
        self, primitive: Primitive, tree: FunctionTree, values: dict[str, Any]
    ) -> FunctionTree:
        """The program after a primitive that does not prove what it requires."""
        unchecked = FunctionTree(tree.name, tree.func, checked=False)
        return FunctionTree(tree.name, self._run(primitive, unchecked, values).func, checked=False)

    @deep_recursion
    def _run(self, primitive: Primitive, tree: Any, values: dict[str, Any]) -> Any:
        positional: tuple[Any, ...] = ()
        if primitive.parameters and primitive.parameters[0].variadic:
            values = dict(values)
            positional = tuple(values.pop(primitive.parameters[0].name))
        if primitive.is_sampling:
            return primitive.apply(tree, self._random, *positional, **values)
        return primitive.apply(tree, *positional, **values)

    # --- blocks by name ---------------------------------------------------------------------

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name`.

        Args:
            name: its name, which no other block of the function has.
            func_name: the function to look in; by default the one that `work_on` chose, or the
                only one.
        """
        if func_name is None:
            if self._working_on is None:
                names = [var.name_hint for var in self._state.functions]
                raise ArgumentValueError(
                    f"get_block: the module has several functions, {names}: give func_name, or "
                    "choose one by work_on"
                )
            func_name = self._working_on.name_hint
        return self._apply(PRIMITIVES["get_block"], {"name": name, "func_name": func_name})

    # --- questions about primitives -----------------------------------------------------------

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` accepts the block and the loop; nothing is recorded.

        Args:
            block: the block that pads, or its name.
            loop: the loop before which the constant would be filled in.
        """
        primitive = PRIMITIVES["decompose_padding"]
        recorded = self._trace
        self._trace = recorded.copy()
        try:
            arguments = primitive.bind((block, loop), {})
            _, values, name = resolve(self, primitive, arguments)
        finally:
            self._trace = recorded
        try:
            primitive.apply(self._state.tree(name), **values)
        except ScheduleError:
            return False
        return True


def _as_module(mod: Any) -> IRModule:
    if isinstance(mod, PrimFunc):
        return IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"Schedule: expected a PrimFunc or an IRModule, got {mod!r}")
    if not any(isinstance(func, PrimFunc) for func in mod.functions.values()):
        raise ArgumentValueError("Schedule: the module has no PrimFunc")
    return mod
