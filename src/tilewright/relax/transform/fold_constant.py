"""Constant expressions are evaluated at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.functions import writes_arguments
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    Function,
    PrimValue,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import PrimStructInfo, ShapeStructInfo, StructInfo
from tilewright.relax.transform.constant_evaluation import (
    LARGEST_WORK,
    Evaluation,
    bytes_of,
    is_computable,
    work_of,
)
from tilewright.relax.transform.legalize_ops import RepeatedCalls
from tilewright.relax.transform.scopes import Substitution, variables_in, with_bindings, with_blocks
from tilewright.relax.visitor import bindings_of

SMALL: Final = 1 << 14
"""Maximum size in bytes of results that are computed whatever the size of their operands."""


class FoldConstant(ModulePass):
    """Compute what depends on constants only.

    ::

        before:  lv = R.permute_dims(w)          # w is a constant
                 lv1 = R.matmul(x, lv)
        after:   lv1 = R.matmul(x, w1)           # w1 has the elements of w, transposed

    What cannot be computed, such as a division by zero, is left to the program, which may never
    reach it. So are results that take long to compute, and results larger than their operands, such
    as that of ``R.zeros``, unless they are small. Shapes and scalars that follow from the struct
    info of the arguments become values, too.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        plan = _FoldingPlan(mod)
        for function in mod.functions.values():
            if isinstance(function, Function):
                for binding in bindings_of(function):
                    plan.add(binding)
        values = plan.run()
        if not values:
            return mod
        result = mod.clone()
        for name, function in mod.functions.items():
            if isinstance(function, Function):
                result.update_func(name, _Folding(values)(function))
        return result


class _FoldingPlan:
    """What can be computed, as bindings of calls of tensor programs, in order."""

    def __init__(self, mod: IRModule) -> None:
        self._builder = BlockBuilder(mod)
        self._repeated = RepeatedCalls()
        self._steps: list[Binding] = []
        self._known: dict[Var, RelaxExpr] = {}
        """From a variable of the program to the variable of the plan, or to a leaf."""
        self._results: dict[Var, RelaxExpr] = {}
        """Those of them that are computed, and not leaves in the program already."""
        self._work: dict[GlobalVar, int] = {}
        """Iterations of each tensor program, in all of its calls."""

    def add(self, binding: Binding) -> None:
        """Note a binding of the program if its value can be computed."""
        if not isinstance(binding, VarBinding):
            return
        value = binding.value
        if isinstance(value, Call):
            known = self._said_by_struct_info(value)
            known = self._call(value) if known is None else known
        elif isinstance(value, TupleGetItem) and self._is_known(value.tuple_value):
            field = TupleGetItem(self._operand(value.tuple_value), value.index)
            known = self._emit(lambda: field)
        elif self._is_known(value):
            self._known[binding.var] = self._operand(value)
            return
        else:
            return
        if known is not None:
            self._results[binding.var] = self._known[binding.var] = known

    def run(self) -> dict[Var, RelaxExpr]:
        """The values of the variables of the program that can be computed."""
        if not self._results:
            return {}
        evaluation = Evaluation(self._builder.get(), self._work)
        computed = {step.var: evaluation.run(step) for step in self._steps}
        values = {
            var: computed[known] if isinstance(known, Var) else known
            for var, known in self._results.items()
        }
        return {var: value for var, value in values.items() if value is not None}

    # --- known values -----------------------------------------------------------------------

    def _is_known(self, value: Any) -> bool:
        if isinstance(value, Var):
            return value in self._known
        if isinstance(value, Tuple):
            return all(map(self._is_known, value.fields))
        if isinstance(value, (ShapeExpr, PrimValue)):
            return not any(isinstance(v, ScalarVar) for v in variables_in(value))
        return isinstance(value, (Constant, StringImm, DataTypeImm, GlobalVar))

    def _operand(self, value: Any) -> Any:
        """A known operand in terms of the plan."""
        if isinstance(value, Var):
            return self._known[value]
        return Tuple([*map(self._operand, value.fields)]) if isinstance(value, Tuple) else value

    def _said_by_struct_info(self, call: Call) -> RelaxExpr | None:
        """The value of a call that needs no computation."""
        entry, info = operator_of(call), call.struct_info
        if entry is None or not entry.is_pure:
            return None
        if isinstance(info, ShapeStructInfo) and info.values is not None:
            return ShapeExpr(info.values)
        if isinstance(info, PrimStructInfo) and info.value is not None:
            return PrimValue(info.value)
        return None

    # --- calls ------------------------------------------------------------------------------

    def _call(self, call: Call) -> RelaxExpr | None:
        entry = operator_of(call)
        if entry is None or not entry.is_pure or writes_arguments(call):
            return None
        if not all(map(self._is_known, call.args)) or not _is_worth_keeping(call):
            return None
        call = call.replace(args=tuple(map(self._operand, call.args)))
        if call.op is CALL_TIR or entry.is_view:
            return self._emit(lambda: call)
        legalize = entry.legalize
        if legalize is None:
            return None
        bound = self._builder.function_scope.bound
        return self._emit(
            lambda: self._repeated.legalized(
                call, lambda: legalize(self._builder, call), lambda: len(bound)
            )
        )

    def _emit(self, make: Callable[[], RelaxExpr]) -> RelaxExpr | None:
        """The variable of the plan that is bound to a value; None if it cannot be computed."""
        self._builder.begin_binding_block()
        var = self._builder.emit(make())
        block = self._builder.end_block()
        steps = () if block is None else block.bindings
        work = self._work_of(steps)
        if work is None or any(not isinstance(step, VarBinding) for step in steps):
            return None
        for name, count in work.items():
            self._work[name] = count + self._work.get(name, 0)
        self._steps += steps
        return var

    def _work_of(self, steps: Sequence[Binding]) -> dict[GlobalVar, int] | None:
        """Iterations of each tensor program; None if there are too many or unknown ones."""
        work: dict[GlobalVar, int] = {}
        for step in steps:
            if not is_computable(step.value):
                return None
            if isinstance(step.value, Call) and step.value.op is CALL_TIR:
                name: Any = step.value.args[0]
                arguments = step.value.args[1].struct_info
                function = self._builder.lookup_function(name)
                count = work_of(function, arguments.fields)  # type: ignore[union-attr]
                if count is None or count > LARGEST_WORK:
                    return None
                work[name] = count + work.get(name, 0)
        return work


def _is_worth_keeping(call: Call) -> bool:
    """Whether the result is small, or takes no more memory than its operands."""
    size = bytes_of(call.struct_info)
    if size is None:
        return False
    return size <= SMALL or size <= sum(_bytes_in(argument.struct_info) for argument in call.args)


def _bytes_in(info: StructInfo | None) -> int:
    return bytes_of(info) or 0


class _Folding(Substitution):
    """Puts the values of variables where they are used."""

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        changed = with_blocks(seq, list(map(self._block, seq.blocks)))
        body = self(seq.body)
        return changed if body is seq.body else changed.replace(body=body)

    def _block(self, block: BindingBlock) -> BindingBlock:
        kept: list[Binding] = []
        for binding in block.bindings:
            value = self._variables.get(binding.var)
            if value is None:
                kept.append(self(binding))
            elif not isinstance(binding.var, DataflowVar):
                kept.append(binding.replace(value=value))
        return with_bindings(block, kept)
