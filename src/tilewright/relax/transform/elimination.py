"""Removing unused bindings and functions, and common subexpressions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk_once
from tilewright.ir.structural import structural_equal
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.functions import writes_arguments
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.transform.function_pass import (
    WriteEpochs,
    is_pure,
    map_functions,
)
from tilewright.relax.transform.scopes import (
    ScopeRewriter,
    Substitution,
    sizes_by_definition,
    variables_in,
    with_bindings,
    with_blocks,
)


class DeadCodeElimination(ModulePass):
    """Remove bindings that nothing uses and functions that nothing calls.

    A call with an effect stays. So does a `match_cast` outside of dataflow blocks, which is a
    check::

        before:  with R.dataflow():             after:  with R.dataflow():
                     a = R.add(x, y)                        b = R.exp(x)
                     b = R.exp(x)                           R.output(b)
                     R.output(b)                        return b
                 return b

    Functions that are exported stay, and so do those that are called by their names.

    Args:
        entry_functions: names of functions that are called from outside; by default those that
            are exported.
    """

    def __init__(self, entry_functions: Sequence[str] | None = None) -> None:
        if isinstance(entry_functions, str):
            raise ArgumentError(
                f"DeadCodeElimination: entry_functions is a list of names, got {entry_functions!r}"
            )
        self._entries = None if entry_functions is None else tuple(entry_functions)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions: dict[GlobalVar, BaseFunc] = {
            var: remove_unused_bindings(func, mod) if isinstance(func, Function) else func
            for var, func in mod.functions.items()
        }
        result = IRModule(functions, mod.attrs, mod.global_infos)
        reachable = _reachable(result, self._entry_points(result))
        kept = {var: func for var, func in functions.items() if var.name_hint in reachable}
        if len(kept) == len(mod) and all(kept[v] is f for v, f in mod.functions.items()):
            return mod
        return IRModule(kept, mod.attrs, mod.global_infos)

    def _entry_points(self, mod: IRModule) -> list[str]:
        if self._entries is None:
            exported = [v.name_hint for v, f in mod.functions.items() if f.global_symbol]
            return exported or [var.name_hint for var in mod.functions]
        return [mod.get_global_var(name).name_hint for name in self._entries]


def _reachable(mod: IRModule, entries: Sequence[str]) -> set[str]:
    """The names of the functions that are called, directly or not, by those named."""
    found: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            function = mod[name]
        except UnknownNameError:
            continue  # a function of the registry
        found.add(name)
        for node in walk_once(function):
            if isinstance(node, GlobalVar):
                waiting.append(node.name_hint)
            elif isinstance(node, ExternFunc):
                waiting.append(node.global_symbol)
    return found


def remove_unused_bindings(function: Function, mod: IRModule) -> Function:
    """`function` without bindings that nothing uses and that have no effect."""
    return _Removal(function, mod)(function)


class _Removal(ScopeRewriter):
    """Goes through each scope from its end, and knows what has been used after each point."""

    def __init__(self, function: Function, mod: IRModule) -> None:
        self._mod = mod
        self._used: set[Any] = set()
        self._defined = sizes_by_definition(function)

    def RelaxFunction(self, function: Function) -> Function:
        result = function.map_children(self)
        self._used.update(variables_in(result.ret_struct_info))
        return result

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        self._use(seq.body)
        blocks = []
        for block in reversed(seq.blocks):
            is_dataflow = isinstance(block, DataflowBlock)
            kept = list(self._kept(block.bindings, is_dataflow))
            blocks.append(with_bindings(block, kept[::-1]))
        return with_blocks(seq, blocks[::-1])

    def _kept(self, bindings: tuple[Binding, ...], is_dataflow: bool) -> Iterator[Binding]:
        for binding in reversed(bindings):
            if not self._is_used(binding) and self._is_removable(binding, is_dataflow):
                continue
            value = self(binding.value)
            self._use(value)
            self._use(binding.var.struct_info)
            if isinstance(binding, MatchCast):
                self._use(binding.struct_info)
            yield binding if value is binding.value else binding.replace(value=value)

    def _use(self, root: Any) -> None:
        if root is not None:
            self._used.update(variables_in(root))

    def _is_used(self, binding: Binding) -> bool:
        if binding.var in self._used:
            return True
        return any(size in self._used for size in self._defined.get(binding, ()))

    def _is_removable(self, binding: Binding, is_dataflow: bool) -> bool:
        if isinstance(binding, MatchCast) and not is_dataflow:
            return False
        return is_pure(binding.value, self._mod)


class EliminateCommonSubexpr(ModulePass):
    """Reuse the value of an expression instead of computing it again.

    ::

        before:  a = R.add(x, y)                after:  a = R.add(x, y)
                 b = R.add(x, y)                        c = R.multiply(a, a)
                 c = R.multiply(a, b)

    Branches use what was computed before them. Calls with effects stay as they are, and so do those
    whose results are written over later, or are objects, such as caches, that may have a state.

    Args:
        call_only: whether only calls are looked at, not tuples and their fields.
    """

    def __init__(self, call_only: bool = False) -> None:
        self._kinds = (Call,) if call_only else (Call, TupleGetItem, Tuple)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        epochs = WriteEpochs(mod)

        def eliminated(function: Function) -> Function:
            return _Elimination(self._kinds, mod, epochs.written_arrays(function))(function)

        return map_functions(mod, eliminated)


_Values = dict[Hashable, list[tuple[RelaxExpr, Var]]]
"""The variables of the expressions that are known at a point, by a key that equal ones share."""


class _Elimination(Substitution):
    def __init__(self, kinds: tuple[type, ...], mod: IRModule, written: set[Var]) -> None:
        super().__init__()
        self._kinds, self._mod, self._written = kinds, mod, written
        self._scopes: list[_Values] = []

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        self._scopes.append({})
        blocks = list(map(self._block, seq.blocks))
        seq = with_blocks(seq, blocks)
        body = self(seq.body)
        self._scopes.pop()
        return seq if body is seq.body else seq.replace(body=body)

    def _block(self, block: BindingBlock) -> BindingBlock:
        self._scopes.append({})
        kept = [binding for old in block.bindings for binding in self._binding(old)]
        values = self._scopes.pop()
        for key, known in values.items():
            lasting = [item for item in known if not isinstance(item[1], DataflowVar)]
            if not isinstance(block, DataflowBlock) or lasting:
                self._scopes[-1].setdefault(key, []).extend(lasting)
        return with_bindings(block, kept)

    def _binding(self, binding: Binding) -> list[Binding]:
        is_written = binding.var in self._written
        binding = self(binding)
        value = binding.value
        if not isinstance(binding, VarBinding) or not isinstance(value, self._kinds):
            return [binding]
        if is_written or not is_pure(value, self._mod) or writes_arguments(value):
            return [binding]
        if isinstance(value, Call) and _has_objects(binding.var.struct_info):
            return [binding]
        key = _key(value)
        known = self._find(key, value, binding.var)
        if known is None:
            self._scopes[-1].setdefault(key, []).append((value, binding.var))
            return [binding]
        if isinstance(known, DataflowVar) and not isinstance(binding.var, DataflowVar):
            return [binding.replace(value=known)]  # it is used where `known` cannot be
        self._variables[binding.var] = known
        return []

    def _find(self, key: Hashable, value: RelaxExpr, like: Var) -> Var | None:
        """A variable with the value, and with struct info as precise as that of another."""
        for scope in reversed(self._scopes):
            for other, var in scope.get(key, ()):
                if structural_equal(other, value) and self._says_as_much(var, like):
                    return var
        return None

    def _says_as_much(self, var: Var, like: Var) -> bool:
        if var.struct_info is None or like.struct_info is None:
            return var.struct_info is like.struct_info
        return is_base_of(like.struct_info, var.struct_info, self._analyzer)


def _has_objects(info: StructInfo | None) -> bool:
    """Whether a value has parts that are neither arrays nor numbers nor functions."""
    if isinstance(info, TupleStructInfo):
        return any(map(_has_objects, info.fields))
    return info is None or isinstance(info, ObjectStructInfo)


def _key(value: Any) -> Hashable:
    """A key that is the same for equal expressions, and differs for most others."""
    if isinstance(value, Var):
        return id(value)
    if isinstance(value, Call):
        callee: Hashable = id(value.op) if isinstance(value.op, Op) else _key(value.op)
        return ("Call", callee, *map(_key, value.args))
    if isinstance(value, Tuple):
        return ("Tuple", *map(_key, value.fields))
    if isinstance(value, TupleGetItem):
        return ("TupleGetItem", _key(value.tuple_value), value.index)
    if isinstance(value, GlobalVar):
        return ("GlobalVar", value.name_hint)
    if isinstance(value, ExternFunc):
        return ("ExternFunc", value.global_symbol)
    if isinstance(value, Constant):  # a few elements tell most weights apart
        elements = value.data.__array__(copy=False)
        return ("Constant", elements.shape, elements.flat[:4].tobytes())
    return type(value).__name__
