"""What is open while functions are built: the module, the function, its scopes and its block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.relax.expr import (
    BindingBlock,
    Call,
    Function,
    If,
    RelaxExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.scope import FunctionScope, Names, OpenBlock, Scope
from tilewright.relax.struct_info import FuncStructInfo, StructInfo, TupleStructInfo
from tilewright.tir.function import PrimFunc


class SharedFunctions:
    """The tensor programs of a module that are not exported, by structural hash."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._waiting = list(module.functions)
        self._by_hash: dict[int, list[GlobalVar]] = {}
        self._last: tuple[BaseFunc, int] | None = None
        """The function that was looked for last, which is often added next, and its hash."""

    def add(self, name: GlobalVar, function: BaseFunc) -> None:
        """Make known that the module has a function."""
        if _is_shareable(function):
            self._waiting.append(name)

    def find(self, function: BaseFunc) -> GlobalVar | None:
        """The name of a tensor program that equals `function`."""
        if not _is_shareable(function):
            return None
        for name in self._waiting:
            known = self._module.functions.get(name)
            if known is not None and _is_shareable(known):
                self._by_hash.setdefault(self._hash(known), []).append(name)
        self._waiting.clear()
        for name in self._by_hash.get(self._hash(function), ()):
            # A function may have been replaced since.
            known = self._module.functions.get(name)
            if known is not None and structural_equal(known, function):
                return name
        return None

    def _hash(self, function: BaseFunc) -> int:
        if self._last is None or self._last[0] is not function:
            self._last = function, structural_hash(function)
        return self._last[1]


def _is_shareable(function: BaseFunc) -> bool:
    return isinstance(function, PrimFunc) and function.global_symbol is None


class ModuleBuilder:
    """Builds a module: functions under names that are each given once.

    Args:
        mod: the module to begin with, which is not changed.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        if not isinstance(mod, IRModule | None):
            raise ArgumentError(f"expected an IRModule to begin with, got {mod!r}")
        self._module = IRModule() if mod is None else mod.clone()
        self._shared = SharedFunctions(self._module)
        self._signatures: dict[str, StructInfo] = {}
        self._function_names = Names()
        for name in self._module.functions:
            self._function_names.reserve(name.name_hint)

    def get(self) -> IRModule:
        """The module, with all functions that are finished."""
        return self._module.clone()

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function under `func_name`, with a number if the name is taken.

        A tensor program that is not exported and equals one of the module is not added again.
        """
        shared = self._shared.find(func)
        if shared is not None:
            return self._module.get_global_var(shared.name_hint)
        name = self._function_names.unique(func_name)
        self.update_func(GlobalVar(name), func)
        return self._module.get_global_var(name)

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Set the function named by `gv`."""
        self._function_names.reserve(gv.name_hint)
        self._module.update_func(gv, updated_func)
        self._shared.add(gv, updated_func)

    def has_function(self, name: str) -> bool:
        """Whether a function of that name is finished."""
        return name in self._module

    def lookup_function(self, name: GlobalVar) -> BaseFunc:
        """The finished function named `name`."""
        return self._module[name]

    def declare_func(self, name: str, signature: StructInfo) -> GlobalVar:
        """Make known a function of the module that is built later."""
        self._function_names.reserve(name)
        self._signatures[name] = signature
        return GlobalVar(name)

    def reserve_name(self, name: str) -> None:
        """Give `name` to no function that `add_func` adds."""
        self._function_names.reserve(name)

    def signature_of(self, gv: GlobalVar) -> StructInfo | None:
        """What is known of a function of the module; None if there is none."""
        declared = self._signatures.get(gv.name_hint)
        function = self._module.functions.get(gv)
        if isinstance(function, Function):
            return function.struct_info
        if function is None:
            return declared
        # Tensor programs write into their arguments.
        return FuncStructInfo.opaque_func(ret=TupleStructInfo(()))


class OpenFunctions(ModuleBuilder):
    """The functions that are being built, innermost last, and what is known of their variables."""

    def __init__(self, mod: IRModule | None = None) -> None:
        super().__init__(mod)
        self._functions = [FunctionScope()]

    # --- functions --------------------------------------------------------------------------

    @contextmanager
    def body_of_function(self, params: Sequence[Var]) -> Iterator[FunctionScope]:
        """A ``with`` statement around the body of a function that the caller makes itself."""
        scope = FunctionScope(None, params)
        self._functions.append(scope)
        try:
            yield scope
        finally:
            del self._functions[self._functions.index(scope) :]

    @property
    def is_in_body(self) -> bool:
        """Whether the body of a function is being built."""
        return len(self._functions) > 1

    def _current_function(self, caller: str) -> FunctionScope:
        if self.function_scope.name is None:
            raise ArgumentError(f"{caller} stands inside of `with builder.function(name)`")
        return self.function_scope

    @property
    def function_scope(self) -> FunctionScope:
        """The function that is being built; outside of all, a nameless one."""
        return self._functions[-1]

    def current_func(self) -> FunctionScope | None:
        """The function that is being built; None outside of all."""
        return None if self.function_scope.name is None else self.function_scope

    def finalize(self) -> IRModule:
        """The finished module."""
        if len(self._functions) > 1:
            raise ArgumentError(f"function {self.function_scope.name!r} is not finished")
        return self.get()

    # --- scopes and blocks ------------------------------------------------------------------

    def begin_scope(self, params: Sequence[Var] = ()) -> None:
        """Begin the body of a branch or of an inner function."""
        self.function_scope.add_params(params)
        self.function_scope.scopes.append(Scope())

    def end_scope(self) -> tuple[BindingBlock, ...]:
        """End it; its blocks."""
        return self.function_scope.end_scope()

    def begin_dataflow_block(self) -> None:
        """Begin a block in which nothing has an effect."""
        self._begin_block(is_dataflow=True)

    def begin_binding_block(self) -> None:
        """Begin an ordinary block."""
        self._begin_block(is_dataflow=False)

    def _begin_block(self, is_dataflow: bool) -> None:
        if self.in_dataflow:
            raise ArgumentError("a dataflow block cannot have blocks inside")
        self.function_scope.close_block()
        self.function_scope.scope.open = OpenBlock(is_dataflow)

    def end_block(self) -> BindingBlock | None:
        """End the open block; None if nothing was bound in it."""
        return self.function_scope.close_block()

    @property
    def in_dataflow(self) -> bool:
        """Whether bindings go to a dataflow block now."""
        block = self.function_scope.scope.open
        return block is not None and block.is_dataflow

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """A ``with`` statement around bindings without effects."""
        self.begin_dataflow_block()
        scope = self.function_scope.scope
        try:
            yield
        except BaseException:
            scope.open = None  # what an error interrupted is not part of the function
            raise
        self.end_block()

    # --- variables --------------------------------------------------------------------------

    def lookup_binding(self, var: Var) -> RelaxExpr | None:
        """The value of a variable of this function; None for a parameter."""
        return self.function_scope.bound.get(var)

    def lookup_usable(self, var: Var) -> RelaxExpr | None:
        """Like `lookup_binding`; None also for a value that cannot be computed again here.

        That is so if an operand is a variable of a finished dataflow block or branch, or may have
        been written over since, and for a `match_cast`, whose value has less precise struct info.
        """
        scope, value = self.function_scope, self.lookup_binding(var)
        if var in scope.casts or not scope.visible.issuperset(_variables_of(value)):
            return None
        is_operation = isinstance(value, (Call, If))
        is_old = is_operation and scope.writes_before.get(var, 0) != scope.writes
        return None if is_old else value

    def get_unique_name(self, name_prefix: str) -> str:
        """A name that no variable of this function has."""
        return self.function_scope.names.unique(name_prefix)

    def defines_size(self, size: Size) -> bool:
        """Whether a symbolic size is known in this function."""
        return self.function_scope.defines_size(size)

    @property
    def analyzer(self) -> Analyzer:
        """What is known of the symbolic sizes of this function."""
        return self.function_scope.analyzer


def _variables_of(value: Any) -> Iterator[Var]:
    """The variables that are operands of an operation."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Var):
            yield part
        elif isinstance(part, Call):
            waiting += (part.op, *part.args)
        elif isinstance(part, Tuple):
            waiting += part.fields
        elif isinstance(part, TupleGetItem):
            waiting.append(part.tuple_value)
