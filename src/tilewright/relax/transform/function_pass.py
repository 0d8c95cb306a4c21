"""What passes over functions share: effects of expressions, decorators, and mutators of modules."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import EachFunctionPass, Pass, pass_decorator
from tilewright.relax.analysis import contains_impure_call
from tilewright.relax.analysis.functions import writes_arguments, writing_functions
from tilewright.relax.analysis.variables import definition
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    RelaxExpr,
    Var,
    VarBinding,
)
from tilewright.relax.mutator import PyExprMutator
from tilewright.relax.op.table import operator_of
from tilewright.relax.transform.scopes import ScopeRewriter
from tilewright.relax.visitor import bindings_of


def is_pure(value: RelaxExpr, mod: IRModule) -> bool:
    """Whether `value` can be left out where nothing uses it, and computed once for two uses."""
    # An inner function has effects only where it is called.
    return isinstance(value, Function) or not contains_impure_call(value, module=mod)


class WriteEpochs:
    """Number of calls that may overwrite arrays before each binding of a block.

    Computations may move within an epoch, where the arrays stay the same. Arrays may share memory,
    so it does not matter which ones such a call writes.
    """

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod

    def of(self, bindings: Sequence[Binding]) -> list[int]:
        """The epoch of each binding; a call that writes belongs to the one that it ends."""
        before = itertools.accumulate((self._may_write(b.value) for b in bindings), initial=0)
        return list(itertools.islice(before, len(bindings)))

    def written_arrays(self, function: Function) -> set[Var]:
        """Variables whose arrays a call in `function` may overwrite, through aliases too."""
        bindings = bindings_of(function)
        written: set[Var] = set()
        for binding in reversed(bindings):
            value = binding.value
            if isinstance(value, Call):
                entry = operator_of(value)
                is_view = entry is not None and entry.is_view
                if self._writes(value) or (is_view and binding.var in written):
                    written.update(node for node in walk(value) if isinstance(node, Var))
            elif binding.var in written:
                written.update(node for node in walk(value) if isinstance(node, Var))
        return written

    def _writes(self, call: Call) -> bool:
        return writes_arguments(call) or self._callee_writes(call.op)

    def _may_write(self, value: RelaxExpr) -> bool:
        """Whether evaluating `value` may write over arrays."""
        return any(isinstance(node, Call) and self._writes(node) for node in walk(value))

    def _callee_writes(self, callee: object) -> bool:
        return isinstance(callee, GlobalVar) and callee in self._writing_functions

    @cached_property
    def _writing_functions(self) -> set[GlobalVar]:
        return writing_functions(self._mod)


class ModuleMutator(PyExprMutator):
    """Rewrites the graph functions of a module, one after the other."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.mod = mod

    def visit_function_(self, function: Function) -> Any:
        """Rewrite a function; one of the module is announced to `begin_function`."""
        if not self.builder_.is_in_body:
            function = self.begin_function(function)
        return super().visit_function_(function)

    def begin_function(self, function: Function) -> Function:
        """Prepare for a function of the module; what is to be rewritten in its place."""
        return function

    def module(self, func_name: str | None = None) -> IRModule:
        """The module with its functions rewritten; the same one if nothing changed.

        Args:
            func_name: the function that is rewritten; by default all.
        """
        is_same = True
        chosen = None if func_name is None else self.mod.get_global_var(func_name)
        for name, function in self.mod.functions.items():
            if isinstance(function, Function) and chosen in (None, name):
                changed = self.visit_expr(function)
                if changed is not function:
                    is_same = False
                    self.builder_.update_func(name, changed)
        return self.mod if is_same else self.builder_.get()


class ViewMutator(ModuleMutator):
    """A mutator that replaces copies by views of other arrays, where it may.

    Attributes:
        keeps: whether the value that is being visited must stay an array of its own, because a
            call may write over it.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.keeps = False
        self._epochs = WriteEpochs(mod)
        self._written: set[Var] = set()

    def begin_function(self, function: Function) -> Function:
        self._written = self._epochs.written_arrays(function)
        return function

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.keeps = binding.var in self._written
        super().visit_var_binding_(binding)


class ConvertingMutator(ModuleMutator):
    """A mutator that converts an array once for all its uses in a block."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._converted: dict[Var, Var] = {}

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """A block, outside of which what is bound in it is perhaps not visible."""
        outer, self._converted = self._converted, {}
        result = super().visit_binding_block(block)
        self._converted = outer
        return result

    def converted(self, value: Any, conversion: Callable[[Any], RelaxExpr]) -> Var:
        """The variable of ``conversion(value)``, which is emitted if there is none yet."""
        known = self._converted.get(value) if isinstance(value, Var) else None
        if known is None or self.builder_.lookup_usable(known) is None:
            known = self.builder_.emit(conversion(value))
            if isinstance(value, Var):
                self._converted[value] = known
        return known


def is_call_of(expr: object, *names: str) -> bool:
    """Whether `expr` is a call of one of these operators, such as ``"nn.conv2d"``."""
    return (
        isinstance(expr, Call)
        and isinstance(expr.op, Op)
        and expr.op.name.removeprefix("relax.") in names
    )


def constant_of(builder: BlockBuilder, value: Any) -> Constant | None:
    """The constant that an operand is; None for another value."""
    found = definition(builder.lookup_usable, value)
    return found if isinstance(found, Constant) else None


class CountingMutator(ModuleMutator):
    """A mutator that knows how often each variable of the function is used."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._uses: Counter[Var] = Counter()
        self._originals: dict[Var, Var] = {}

    def begin_function(self, function: Function) -> Function:
        self._uses = Counter(node for node in walk(function.body) if isinstance(node, Var))
        return function

    def set_var_remap(self, vid: Var, var: Any) -> None:
        super().set_var_remap(vid, var)
        if isinstance(var, Var):
            self._originals[var] = self._originals.get(vid, vid)

    def sole_definition(self, value: Any) -> Any:
        """What an operand is bound to, if nothing else uses it, and it can be computed here."""
        while isinstance(value, Var):
            if self._uses[self._originals.get(value, value)] != 1:
                return None
            value = self.builder_.lookup_usable(value)
        return value


def map_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """`mod` with `change` applied to each graph function; `mod` itself if nothing changes."""
    functions = {
        var: change(func) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    if all(functions[var] is func for var, func in mod.functions.items()):
        return mod
    return IRModule(functions, mod.attrs, mod.global_infos)


class FunctionPass(EachFunctionPass):
    """A pass that transforms each graph function of a module."""

    name = "FunctionPass"
    function_class = Function

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Any:
        """The transformed function, or None to remove it; `mod` is the module before the pass."""
        raise NotImplementedError


class DataflowBlockPass(FunctionPass):
    """A pass that transforms each dataflow block of the graph functions of a module."""

    name = "DataflowBlockPass"

    def transform_dataflowblock(
        self, block: DataflowBlock, mod: IRModule, ctx: PassContext
    ) -> DataflowBlock:
        """The transformed block, which must bind the same variables that others use."""
        raise NotImplementedError

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _EachBlock(self, mod, ctx)(func)


class _EachBlock(ScopeRewriter):
    def __init__(self, block_pass: DataflowBlockPass, mod: IRModule, ctx: PassContext) -> None:
        self._pass, self._mod, self._ctx = block_pass, mod, ctx

    def DataflowBlock(self, block: DataflowBlock) -> DataflowBlock:
        block = block.map_children(self)
        result = self._pass.transform_dataflowblock(block, self._mod, self._ctx)
        if not isinstance(result, DataflowBlock):
            raise ArgumentError(
                "a pass over dataflow blocks gives a DataflowBlock, this one gave a "
                f"{type(result).__name__}"
            )
        return result


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(func, mod, ctx) -> func``.

    It gets each graph function of the module. A class with a method
    ``transform_function(self, func, mod, ctx)`` becomes a class of passes.

    Args:
        pass_func: the function or class; without, the result is a decorator.
        opt_level: from which level on a `Sequential` runs it.
        name: by default that of the function or class.
        required: passes, or their names, that a `Sequential` runs before it.
        traceable: kept for old programs.
    """
    del traceable
    return pass_decorator(FunctionPass, "transform_function", pass_func, opt_level, name, required)


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str | Pass] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a pass of a function ``(block, mod, ctx) -> block``.

    It gets each dataflow block of the graph functions of the module. A class with a method
    ``transform_dataflowblock(self, block, mod, ctx)`` becomes a class of passes. The arguments are
    those of `function_pass`.
    """
    del traceable
    return pass_decorator(
        DataflowBlockPass, "transform_dataflowblock", pass_func, opt_level, name, required
    )
