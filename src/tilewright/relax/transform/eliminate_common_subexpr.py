"""An expression that is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.structural import structural_equal
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    RelaxExpr,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.transform.effects import WriteEpochs, is_pure, writes_arguments
from tilewright.relax.transform.function_pass import map_functions
from tilewright.relax.transform.scopes import Substitution, with_bindings, with_blocks


class EliminateCommonSubexpr(ModulePass):
    """Use the value of an expression again instead of computing it a second time.

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
    """Something that is the same for equal expressions, and soon differs for others."""
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
