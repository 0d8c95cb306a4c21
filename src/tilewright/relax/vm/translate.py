"""From a graph function to steps over memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as Scalar
from tilewright.ir.function import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    Function,
    If,
    MatchCast,
    PrimValue,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.op import base
from tilewright.relax.op.table import operator_of
from tilewright.relax.sizes import assume_sizes, symbolic_vars_of
from tilewright.relax.struct_info import (
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.kernel_calls import KernelCalls
from tilewright.relax.vm.match_sizes import SizeMatch
from tilewright.relax.vm.match_values import match_argument, match_info, without_shape
from tilewright.relax.vm.signature import Signature, size_of
from tilewright.relax.vm.steps import (
    ArrayValue,
    BranchStep,
    CallStep,
    Memory,
    NotCompilableError,
    Place,
    ShapeValue,
    Step,
    TupleValue,
    Value,
    arrays_of,
)
from tilewright.runtime.ndarray import NDArray
from tilewright.tir.substitute import substitute


class Program:
    """A graph function as steps.

    Attributes:
        steps: what it does.
        signature: its parameters.
        results: the arrays that it returns, whose memory is that of the results.
        structure: what it returns: the number of a result, or a list of those.
        analyzer: what is known of its sizes.
    """

    def __init__(
        self,
        steps: list[Step],
        signature: Signature,
        results: list[ArrayValue],
        structure: object,
        analyzer: Analyzer,
    ) -> None:
        self.steps, self.signature = steps, signature
        self.results, self.structure = results, structure
        self.analyzer = analyzer


def translate(function: Function, signature: Signature, kernels: KernelCalls) -> Program:
    """The steps of a graph function.

    Args:
        function: in normal form, its operators lowered to calls of tensor programs.
        signature: its parameters.
        kernels: what it may call.

    Raises:
        NotCompilableError: for what needs values of unknown kind.
        ShapeError: for a call with arrays that never fit.
        LoweringError: for an operator that is no call of a tensor program.
    """
    return _Translation(function, signature, kernels).program()


class _Translation:
    def __init__(self, function: Function, signature: Signature, kernels: KernelCalls) -> None:
        self._function, self._signature = function, signature
        self._kernels = kernels
        self._values: dict[Var, Value] = dict(zip(function.params, signature.values, strict=True))
        self._sizes: dict[Scalar, Expr] = {size: size for size in signature.sizes}
        self._analyzer = Analyzer()
        assume_sizes(self._analyzer, (size for size in signature.sizes if size.dtype is INT64))
        self._steps: list[Step] = list(signature.checks)
        self._constants: dict[int, ArrayValue] = {}
        self._branch_memory: set[Memory] = set()
        """Memory that the innermost branch has made."""
        self._claimed: set[Memory] = set()

    def program(self) -> Program:
        """The whole function."""
        value = self._value(self._function.body)
        self._check_result(value, self._function.ret_struct_info)
        results: list[ArrayValue] = []
        structure = self._return(value, results)
        return Program(self._steps, self._signature, results, structure, self._analyzer)

    # --- results ----------------------------------------------------------------------------

    def _check_result(self, value: Value, info: StructInfo | None) -> None:
        """What the function promises to return holds."""
        if isinstance(info, TupleStructInfo) and isinstance(value, TupleValue):
            for item, part in zip(value.fields, info.fields, strict=True):
                self._check_result(item, part)
        elif isinstance(info, TensorStructInfo) and isinstance(value, ArrayValue):
            known = info.extents is not None and self._knows(info)
            self._match(value, info if known else without_shape(info), "return")

    def _knows(self, info: StructInfo) -> bool:
        return all(size in self._sizes for size in symbolic_vars_of(info))

    def _return(self, value: Value, results: list[ArrayValue]) -> object:
        """Let the arrays of the result be written where the caller wants them."""
        if isinstance(value, TupleValue):
            return [self._return(item, results) for item in value.fields]
        if not isinstance(value, ArrayValue):
            raise NotCompilableError("it returns something that is no array")
        memory = Memory(Place.RESULT, value.memory.size, len(results))
        result = ArrayValue(memory, value.extents, value.dtype)
        self._deliver(value, result, value.memory.root not in self._claimed)
        results.append(result)
        return len(results) - 1

    def _deliver(self, source: ArrayValue, target: ArrayValue, may_merge: bool) -> None:
        """Put an array into the memory of another one: by making it there, or else by a copy."""
        memory = source.memory.root
        if may_merge and memory.place is Place.TEMPORARY:
            memory.merged_into = target.memory
            self._claimed.add(target.memory)
        else:
            self._steps.append(self._kernels.copy(source, target, self._analyzer))

    # --- expressions ------------------------------------------------------------------------

    def _value(self, expr: RelaxExpr) -> Value:
        handler = _HANDLERS.get(type(expr))
        if handler is None:
            raise NotCompilableError(f"it has a {type(expr).__name__}")
        return handler(self, expr)

    def _variable(self, var: Var) -> Value:
        if var not in self._values:
            raise LoweringError(f"{var.name_hint} is not defined")
        return self._values[var]

    def _constant(self, constant: Constant) -> Value:
        found = self._constants.get(id(constant.data))
        if found is None:
            data: NDArray = constant.data
            extents = tuple(as_expr(extent, INT64) for extent in data.shape)
            memory = Memory(Place.CONSTANT, size_of(extents, data.dtype), data=data)
            found = self._constants[id(data)] = ArrayValue(memory, extents, data.dtype)
        return found

    def _tuple(self, expr: Tuple) -> Value:
        return TupleValue(tuple(map(self._value, expr.fields)))

    def _field(self, expr: TupleGetItem) -> Value:
        value = self._value(expr.tuple_value)
        if not isinstance(value, TupleValue):
            raise NotCompilableError("it takes a field of a value that is not known to be a tuple")
        return value.fields[expr.index]

    def _shape(self, expr: ShapeExpr) -> Value:
        return ShapeValue(tuple(map(self._known, expr.values)))

    def _scalar(self, expr: PrimValue) -> Value:
        return self._known(expr.value)

    def _known(self, expr: Expr) -> Expr:
        """An expression of sizes, in what is known when the function starts."""
        for size in symbolic_vars_of(expr):
            if size not in self._sizes:
                raise NotCompilableError(f"the size {size.name} is not known from the parameters")
        return self._analyzer.simplify(substitute(expr, self._sizes))

    def _sequence(self, expr: SeqExpr) -> Value:
        for block in expr.blocks:
            for binding in block.bindings:
                if isinstance(binding, MatchCast):
                    value = self._value(binding.value)
                    self._match(value, binding.struct_info, "match_cast")
                else:
                    value = self._value(binding.value)
                self._values[binding.var] = value
        return self._value(expr.body)

    def _branches(self, expr: If) -> Value:
        condition = self._value(expr.cond)
        if not isinstance(condition, (ArrayValue, Expr)):
            raise NotCompilableError("a condition is neither an array nor a scalar")
        result = self._new_arrays(expr.struct_info)
        step = BranchStep(condition)
        outer, outer_memory = self._steps, self._branch_memory
        branches = ((step.then_steps, expr.true_branch), (step.else_steps, expr.false_branch))
        for steps, branch in branches:
            self._steps, self._branch_memory = steps, set()
            sources = list(arrays_of(self._value(branch)))
            for source, target in zip(sources, arrays_of(result), strict=True):
                memory = source.memory.root
                may_merge = memory in self._branch_memory
                self._branch_memory.discard(memory)  # one array becomes only one result
                self._deliver(source, target, may_merge)
        self._steps, self._branch_memory = outer, outer_memory
        self._branch_memory.update(array.memory for array in arrays_of(result))
        self._steps.append(step)
        return result

    # --- calls ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Value:
        if isinstance(call.op, GlobalVar):
            return self._graph_call(call.op, call)
        operator = operator_of(call)
        if operator is None or not isinstance(call.op, Op):
            raise NotCompilableError("it calls a value, or a function that returns one")
        handler = _OPERATORS.get(call.op)
        if handler is not None:
            return handler(self, call)
        if operator.is_view:
            return self._view(call)
        if operator.legalize is not None:
            raise LoweringError(f"{call.op.name} is left over: LegalizeOps comes before")
        raise NotCompilableError(f"it has a call of {call.op.name}")

    def _view(self, call: Call) -> Value:
        """The same elements in the same order, with other extents."""
        source, info = self._value(call.args[0]), call.struct_info
        if not isinstance(source, ArrayValue) or not isinstance(info, TensorStructInfo):
            raise NotCompilableError(f"{call.op!r} is of a value that is not known to be an array")
        if info.extents is None or info.dtype is not source.dtype:
            raise NotCompilableError("the shape of a view is not known")
        extents = tuple(map(self._known, info.extents))
        size = self._analyzer.simplify(size_of(extents, source.dtype))
        match = SizeMatch(self._analyzer)
        match.values.update((known, known) for known in symbolic_vars_of(source.memory.size))
        match.match(source.memory.size, size, "reshape: the number of bytes")
        match.finish()
        self._steps += match.checks
        return ArrayValue(source.memory, extents, source.dtype)

    def _shape_of(self, call: Call) -> Value:
        value = self._value(call.args[0])
        if not isinstance(value, ArrayValue):
            raise NotCompilableError("it asks for the shape of what is not known to be an array")
        return ShapeValue(value.extents)

    def _kernel_call(self, call: Call) -> Value:
        callee = call.args[0]
        assert isinstance(callee, GlobalVar)
        scalars: tuple[Expr, ...] = ()
        for argument in call.args[2:]:
            values = self._value(argument)
            scalars += values.extents if isinstance(values, ShapeValue) else ()
        result = self._new_arrays(call.sinfo_args[0])
        inputs = tuple(arrays_of(self._value(call.args[1])))
        self._steps += self._kernels.call(callee, inputs, result, scalars, self._analyzer)
        return result

    def _dps_packed_call(self, call: Call) -> Value:
        result = self._new_arrays(call.sinfo_args[0])
        inputs = self._value(call.args[1])
        assert isinstance(inputs, TupleValue)
        self._steps += self._kernels.call_by_name(
            call.args[0], inputs.fields, result, self._analyzer
        )
        return result

    def _graph_call(self, callee: GlobalVar, call: Call) -> Value:
        signature = self._kernels.signature(callee)
        result = self._new_arrays(call.struct_info)
        match = SizeMatch(self._analyzer)
        arguments: list[ArrayValue | Expr] = []
        where = f"the call of {callee.name_hint}"
        for value, declared in zip(map(self._value, call.args), signature.values, strict=True):
            match_argument(match, declared, value, arguments, where)
        match.finish()
        self._steps += match.checks
        written = range(len(arguments), len(arguments) + sum(1 for _ in arrays_of(result)))
        params = set(signature.params)
        sizes = tuple(match.value_of(size, where) for size in signature.sizes if size not in params)
        arguments += arrays_of(result)
        label = callee.name_hint
        self._steps.append(CallStep(callee, tuple(arguments), sizes, frozenset(written), label))
        return result

    # --- memory and checks ------------------------------------------------------------------

    def _new_arrays(self, info: StructInfo | None) -> Value:
        if isinstance(info, TupleStructInfo):
            return TupleValue(tuple(map(self._new_arrays, info.fields)))
        if not isinstance(info, TensorStructInfo) or info.extents is None or info.dtype is None:
            raise NotCompilableError("the shape or the dtype of an array inside is not known")
        extents = tuple(map(self._known, info.extents))
        size = self._analyzer.simplify(size_of(extents, info.dtype))
        memory = Memory(Place.TEMPORARY, size)
        self._branch_memory.add(memory)
        return ArrayValue(memory, extents, info.dtype)

    def _match(self, value: Value, info: StructInfo, what: str) -> None:
        """Check that a value is what `info` says, and define the sizes that are new in it."""
        match = SizeMatch(self._analyzer)
        match.values.update(self._sizes)
        match_info(match, value, info, what)
        match.finish()
        self._sizes.update(match.values)
        self._steps += match.checks


_HANDLERS: Final[Mapping[type, Callable[[_Translation, Any], Value]]] = {
    Constant: _Translation._constant,
    Tuple: _Translation._tuple,
    TupleGetItem: _Translation._field,
    ShapeExpr: _Translation._shape,
    PrimValue: _Translation._scalar,
    SeqExpr: _Translation._sequence,
    If: _Translation._branches,
    Call: _Translation._call,
    Var: _Translation._variable,
    DataflowVar: _Translation._variable,
}
_OPERATORS: Final[Mapping[Op, Callable[[_Translation, Call], Value]]] = {
    base.CALL_TIR: _Translation._kernel_call,
    base.CALL_DPS_PACKED: _Translation._dps_packed_call,
    base.SHAPE_OF: _Translation._shape_of,
}
