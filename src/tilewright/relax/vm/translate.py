"""From a graph function to steps over memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as Scalar
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
from tilewright.relax.sizes import assume_sizes, symbolic_vars_of
from tilewright.relax.struct_info import (
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.kernel_calls import KernelCalls
from tilewright.relax.vm.last_uses import LastUses
from tilewright.relax.vm.match_sizes import SizeMatch
from tilewright.relax.vm.match_values import match_info, without_shape
from tilewright.relax.vm.signature import Signature, size_of
from tilewright.relax.vm.steps import (
    ArrayValue,
    BranchStep,
    Memory,
    NotCompilableError,
    Place,
    ShapeValue,
    Step,
    TupleValue,
    Value,
    arrays_of,
)
from tilewright.relax.vm.translate_calls import translate_call
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
    return Translation(function, signature, kernels).program()


class Translation:
    """The steps of a function, one expression after the other.

    Attributes:
        kernels: what the function may call.
        values: what the variables of the graph are.
        sizes: what the symbolic sizes of the graph are.
        analyzer: what is known of sizes.
        steps: those of the innermost branch, so far.
        last_uses: until when variables are used.
    """

    def __init__(self, function: Function, signature: Signature, kernels: KernelCalls) -> None:
        self._function, self._signature = function, signature
        self.kernels = kernels
        self.values: dict[Var, Value] = dict(zip(function.params, signature.values, strict=True))
        self.sizes: dict[Scalar, Expr] = {size: size for size in signature.sizes}
        self.analyzer = Analyzer()
        assume_sizes(self.analyzer, (size for size in signature.sizes if size.dtype is INT64))
        self.steps: list[Step] = list(signature.checks)
        self._constants: dict[int, ArrayValue] = {}
        self._branch_memory: set[Memory] = set()
        """Memory that the innermost branch has made."""
        self._claimed: set[Memory] = set()
        self.last_uses = LastUses(function)

    def program(self) -> Program:
        """The whole function."""
        value = self.value(self._function.body)
        self._check_result(value, self._function.ret_struct_info)
        results: list[ArrayValue] = []
        structure = self._return(value, results)
        return Program(self.steps, self._signature, results, structure, self.analyzer)

    # --- results ----------------------------------------------------------------------------

    def _check_result(self, value: Value, info: StructInfo | None) -> None:
        """What the function promises to return holds."""
        if isinstance(info, TupleStructInfo) and isinstance(value, TupleValue):
            for item, part in zip(value.fields, info.fields, strict=True):
                self._check_result(item, part)
        elif isinstance(info, TensorStructInfo) and isinstance(value, ArrayValue):
            known = info.extents is not None and self._knows(info)
            self.match(value, info if known else without_shape(info), "return")

    def _knows(self, info: StructInfo) -> bool:
        return all(size in self.sizes for size in symbolic_vars_of(info))

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
            self.steps.append(self.kernels.copy(source, target, self.analyzer))

    # --- expressions ------------------------------------------------------------------------

    def value(self, expr: RelaxExpr) -> Value:
        """What an expression is; its steps are added."""
        handler = _HANDLERS.get(type(expr))
        if handler is None:
            raise NotCompilableError(f"it has a {type(expr).__name__}")
        return handler(self, expr)

    def _variable(self, var: Var) -> Value:
        if var not in self.values:
            raise LoweringError(f"{var.name_hint} is not defined")
        return self.values[var]

    def _constant(self, constant: Constant) -> Value:
        found = self._constants.get(id(constant.data))
        if found is None:
            data: NDArray = constant.data
            extents = tuple(as_expr(extent, INT64) for extent in data.shape)
            memory = Memory(Place.CONSTANT, size_of(extents, data.dtype), data=data)
            found = self._constants[id(data)] = ArrayValue(memory, extents, data.dtype)
        return found

    def _tuple(self, expr: Tuple) -> Value:
        return TupleValue(tuple(map(self.value, expr.fields)))

    def _field(self, expr: TupleGetItem) -> Value:
        value = self.value(expr.tuple_value)
        if not isinstance(value, TupleValue):
            raise NotCompilableError("it takes a field of a value that is not known to be a tuple")
        return value.fields[expr.index]

    def _shape(self, expr: ShapeExpr) -> Value:
        return ShapeValue(tuple(map(self.known, expr.values)))

    def _scalar(self, expr: PrimValue) -> Value:
        return self.known(expr.value)

    def known(self, expr: Expr) -> Expr:
        """An expression of sizes, in what is known when the function starts."""
        for size in symbolic_vars_of(expr):
            if size not in self.sizes:
                raise NotCompilableError(f"the size {size.name} is not known from the parameters")
        return self.analyzer.simplify(substitute(expr, self.sizes))

    def _sequence(self, expr: SeqExpr) -> Value:
        for block in expr.blocks:
            for binding in block.bindings:
                if isinstance(binding, MatchCast):
                    value = self.value(binding.value)
                    self.match(value, binding.struct_info, "match_cast")
                else:
                    value = self.value(binding.value)
                self.values[binding.var] = value
        return self.value(expr.body)

    def _branches(self, expr: If) -> Value:
        condition = self.value(expr.cond)
        if not isinstance(condition, (ArrayValue, Expr)):
            raise NotCompilableError("a condition is neither an array nor a scalar")
        result = self.new_arrays(expr.struct_info)
        step = BranchStep(condition)
        outer, outer_memory, outer_sizes = self.steps, self._branch_memory, self.sizes
        branches = ((step.then_steps, expr.true_branch), (step.else_steps, expr.false_branch))
        for steps, branch in branches:
            self.steps, self._branch_memory, self.sizes = steps, set(), dict(outer_sizes)
            sources = list(arrays_of(self.value(branch)))
            for source, target in zip(sources, arrays_of(result), strict=True):
                memory = source.memory.root
                may_merge = memory in self._branch_memory
                self._branch_memory.discard(memory)  # one array becomes only one result
                self._deliver(source, target, may_merge)
        self.steps, self._branch_memory, self.sizes = outer, outer_memory, outer_sizes
        self._branch_memory.update(array.memory for array in arrays_of(result))
        self.steps.append(step)
        return result

    # --- calls ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Value:
        return translate_call(self, call)

    # --- memory and checks ------------------------------------------------------------------

    def new_arrays(self, info: StructInfo | None) -> Value:
        """Arrays for what a call writes."""
        if isinstance(info, TupleStructInfo):
            return TupleValue(tuple(map(self.new_arrays, info.fields)))
        if not isinstance(info, TensorStructInfo) or info.extents is None or info.dtype is None:
            raise NotCompilableError("the shape or the dtype of an array inside is not known")
        return self.new_array(tuple(map(self.known, info.extents)), info.dtype)

    def new_array(self, extents: tuple[Expr, ...], dtype: DType) -> ArrayValue:
        """An array inside of the function."""
        size = self.analyzer.simplify(size_of(extents, dtype))
        memory = Memory(Place.TEMPORARY, size)
        self._branch_memory.add(memory)
        return ArrayValue(memory, extents, dtype)

    def match(self, value: Value, info: StructInfo, what: str) -> None:
        """Check that a value is what `info` says, and define the sizes that are new in it."""
        match = SizeMatch(self.analyzer)
        match.values.update(self.sizes)
        match_info(match, value, info, what)
        match.finish()
        self.sizes.update(match.values)
        self.steps += match.checks


_HANDLERS: Final[Mapping[type, Callable[[Translation, Any], Value]]] = {
    Constant: Translation._constant,
    Tuple: Translation._tuple,
    TupleGetItem: Translation._field,
    ShapeExpr: Translation._shape,
    PrimValue: Translation._scalar,
    SeqExpr: Translation._sequence,
    If: Translation._branches,
    Call: Translation._call,
    Var: Translation._variable,
    DataflowVar: Translation._variable,
}
