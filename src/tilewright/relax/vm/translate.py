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
    DataTypeImm,
    Function,
    If,
    MatchCast,
    PrimValue,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.sizes import assume_sizes, extents_in, symbolic_vars_of
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.kernel_calls import KernelCalls
from tilewright.relax.vm.plan import Liveness, with_releases
from tilewright.relax.vm.signature import Signature, SizeMatch, match_info, size_of, without_shape
from tilewright.relax.vm.steps import (
    AllocateStep,
    Arena,
    ArenaStep,
    ArrayValue,
    BranchStep,
    KeepStep,
    KeptValue,
    LiteralValue,
    Memory,
    MemoryOrigin,
    NotCompilableError,
    ShapeValue,
    Step,
    TransferStep,
    TupleValue,
    Value,
    arrays_in,
)
from tilewright.relax.vm.translate_calls import translate_call
from tilewright.relax.vm.translate_values import as_argument, field_of, keep, receive, unpack
from tilewright.runtime.ndarray import NDArray
from tilewright.tir.substitute import substitute


class Program:
    """A graph function as steps.

    Attributes:
        results: the arrays that it returns, whose memory is that of the results.
        structure: structure of its result, see `tir.transform.return_results`.
        slots: how many values of any kind it keeps.
    """

    def __init__(
        self,
        name: str,
        steps: list[Step],
        signature: Signature,
        results: list[ArrayValue],
        structure: object,
        analyzer: Analyzer,
        slots: int,
    ) -> None:
        self.name, self.steps, self.signature = name, steps, signature
        self.results, self.structure = results, structure
        self.analyzer, self.slots = analyzer, slots


def translate(function: Function, signature: Signature, kernels: KernelCalls) -> Program:
    """The steps of a graph function.

    Args:
        function: in normal form, its operators lowered to calls of tensor programs.

    Raises:
        NotCompilableError: for what needs values of unknown kind.
        ShapeError: for a call with arrays that never fit.
        LoweringError: for an operator that has not been legalised.
    """
    return Translation(function, signature, kernels).program()


class Translation:
    """The steps of a function, one expression after the other.

    Attributes:
        kernels: what the function may call.
        where: what the value of the current binding is called in messages.
    """

    def __init__(self, function: Function, signature: Signature, kernels: KernelCalls) -> None:
        self._function, self._signature = function, signature
        self.kernels = kernels
        self.name = function.global_symbol or "a private function"
        self.values: dict[Var, Value] = {}
        self.sizes: dict[Scalar, Expr] = {size: size for size in signature.sizes}
        self.analyzer = Analyzer()
        for param in function.params:
            if param.struct_info is not None:
                assume_sizes(self.analyzer, extents_in(param.struct_info))
        self.steps: list[Step] = list(signature.checks)
        self._constants: dict[int, ArrayValue] = {}
        self._branch_memory: set[Memory] = set()
        """Memory that the innermost branch has made."""
        self._claimed: set[Memory] = set()
        self._returned: set[int] = set()
        """Slots with values that are returned."""
        self._slots = 0
        self._arenas: list[Arena] = []
        """The blocks of memory that the innermost branch can use, besides the first."""
        self._first_sizes = frozenset(signature.sizes)
        self._numbers: frozenset[Scalar] = self._first_sizes
        """Facts known at this position."""
        self.placement = kernels.placement
        if self.placement.has_device:
            self._new_arena(on_device=True)
        self.where = ""
        self.liveness = Liveness(function)

    def program(self) -> Program:
        """The whole function."""
        for param, given in zip(self._function.params, self._signature.values, strict=True):
            where = f"{self.name}: argument {param.name_hint}"
            self.values[param] = receive(self, given, param.struct_info, where)
        value = self.value(self._function.body)
        self._check_result(value, self._function.ret_struct_info)
        value = self.placed(value, self._function.ret_struct_info)
        results: list[ArrayValue] = []
        structure = self._return(value, results)
        steps = with_releases(self.steps, self._returned)
        return Program(
            self.name, steps, self._signature, results, structure, self.analyzer, self._slots
        )

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
        if not isinstance(value, ArrayValue) or not self._is_written_by_callers(value):
            return {"slot": self._returned_slot(value)}
        on_device = value.memory.root.on_device
        memory = Memory(MemoryOrigin.RESULT, value.memory.size, len(results), on_device=on_device)
        result = ArrayValue(memory, value.extents, value.dtype)
        self._deliver(value, result, value.memory.root not in self._claimed)
        results.append(result)
        return len(results) - 1

    def _is_written_by_callers(self, array: ArrayValue) -> bool:
        """Whether a caller knows the size of a result, and no value must be copied to get there."""
        if array.memory.root.slot is not None:
            return False
        return self._first_sizes.issuperset(v for e in array.extents for v in symbolic_vars_of(e))

    def _returned_slot(self, value: Value) -> int:
        kept = as_argument(self, value)
        if not isinstance(kept, KeptValue) or kept.slot in self._returned:
            slot = self.new_slot()
            self.steps.append(KeepStep(kept, slot))
            kept = KeptValue(slot)
        self._returned.add(kept.slot)
        return kept.slot

    def _deliver(self, source: ArrayValue, target: ArrayValue, may_merge: bool) -> None:
        """Put an array into the memory of another one: by making it there, or else by a copy."""
        memory, into = source.memory.root, target.memory.root
        if may_merge and memory.origin is MemoryOrigin.TEMPORARY and _can_be_one(memory, into):
            into.slot = into.slot if memory.slot is None else memory.slot
            memory.merged_into = into
            self._claimed.add(into)
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
            found = self._constants[id(data)] = ArrayValue(
                Memory(
                    MemoryOrigin.CONSTANT,
                    size_of(extents, data.dtype),
                    data=data,
                    on_device=self.placement.has_device,
                ),
                extents,
                data.dtype,
            )
        return found

    def _tuple(self, expr: Tuple) -> Value:
        return TupleValue(tuple(map(self.value, expr.fields)))

    def _field(self, expr: TupleGetItem) -> Value:
        value = self.value(expr.tuple_value)
        if isinstance(value, KeptValue):
            return field_of(self, value, expr.index, expr.struct_info)
        if not isinstance(value, TupleValue):
            raise NotCompilableError("it takes a field of a value that is not known to be a tuple")
        return value.fields[expr.index]

    def _shape(self, expr: ShapeExpr) -> Value:
        return ShapeValue(tuple(map(self.known, expr.values)))

    def _scalar(self, expr: PrimValue) -> Value:
        return self.known(expr.value)

    def known(self, expr: Expr) -> Expr:
        """An expression of sizes, in terms of values known on entry."""
        for size in symbolic_vars_of(expr):
            if size not in self.sizes:
                raise NotCompilableError(f"the size {size.name} is not known from the parameters")
        return self.analyzer.simplify(substitute(expr, self.sizes))

    def _sequence(self, expr: SeqExpr) -> Value:
        for block in expr.blocks:
            for binding in block.bindings:
                name = binding.var.name_hint
                self.where = f"{self.name}: {name}"
                value = self.value(binding.value)
                if isinstance(binding, MatchCast):
                    value = self._cast(value, binding.struct_info, name)
                self.values[binding.var] = value
        return self.value(expr.body)

    def _cast(self, value: Value, info: StructInfo, name: str) -> Value:
        """The value of a match_cast, which defines the sizes that are new in it."""
        where = f"{self.name}: match_cast: {name}"
        if isinstance(value, KeptValue):
            return unpack(self, value.slot, info, where, defines=True)
        if not isinstance(info, ObjectStructInfo):
            self.match(value, info, "match_cast")
        return value

    def _branches(self, expr: If) -> Value:
        condition = self.value(expr.cond)
        if isinstance(condition, KeptValue):
            known = expr.cond.struct_info
            is_array = isinstance(known, TensorStructInfo) and known.extents is not None
            flag = known if is_array else TensorStructInfo((), "bool")
            condition = unpack(self, condition.slot, flag, self.where)
        if isinstance(condition, ArrayValue):
            condition = self.place(condition, on_device=False)
        if not isinstance(condition, (ArrayValue, Expr)):
            raise NotCompilableError("a condition is neither an array nor a scalar")
        where = self.where
        result = self._places(expr.struct_info)
        step = BranchStep(condition)
        outer = (self.steps, self._branch_memory, self.sizes, self._numbers, self._arenas)
        branches = ((step.then_steps, expr.true_branch), (step.else_steps, expr.false_branch))
        for steps, branch in branches:
            self.steps, self._branch_memory, self.sizes = steps, set(), dict(outer[2])
            self._numbers, self._arenas = outer[3], list(outer[4])
            self._fill(result, self.value(branch))
        self.steps, self._branch_memory, self.sizes, self._numbers, self._arenas = outer
        self._branch_memory.update(array.memory for array in arrays_in(result))
        self.steps.append(step)
        return self._filled(result, expr.struct_info, where)

    def knows_sizes(self, info: StructInfo | None) -> bool:
        """Whether a value consists of arrays of known sizes."""
        if isinstance(info, TupleStructInfo):
            return all(map(self.knows_sizes, info.fields))
        is_array = isinstance(info, TensorStructInfo)
        return is_array and info.extents is not None and self._knows(info)

    def _places(self, info: StructInfo | None) -> Value:
        """Destinations of branch results: arrays of known size, or slots for other values."""
        if isinstance(info, TupleStructInfo):
            return TupleValue(tuple(map(self._places, info.fields)))
        return self.new_arrays(info) if self.knows_sizes(info) else KeptValue(self.new_slot())

    def _fill(self, place: Value, value: Value) -> None:
        """Put the value of a branch into its place."""
        if isinstance(place, TupleValue):
            fields = value.fields if isinstance(value, TupleValue) else ()
            if len(fields) != len(place.fields):
                raise NotCompilableError("a branch has a tuple of unknown length")
            for part, item in zip(place.fields, fields, strict=True):
                self._fill(part, item)
        elif isinstance(place, KeptValue):
            keep(self, value, place.slot)
        elif isinstance(value, ArrayValue) and isinstance(place, ArrayValue):
            memory = value.memory.root
            may_merge = memory in self._branch_memory
            self._branch_memory.discard(memory)  # one array becomes only one result
            self._deliver(value, place, may_merge)
        else:
            raise NotCompilableError("a branch has a value whose kind is not known")

    def _filled(self, place: Value, info: StructInfo | None, where: str) -> Value:
        """The results of branches as values."""
        if isinstance(place, TupleValue) and isinstance(info, TupleStructInfo):
            pairs = zip(place.fields, info.fields, strict=True)
            return TupleValue(tuple(self._filled(part, kind, where) for part, kind in pairs))
        if isinstance(place, KeptValue):
            return unpack(self, place.slot, info, where)
        return place

    # --- calls ------------------------------------------------------------------------------

    def _call(self, call: Call) -> Value:
        return translate_call(self, call)

    # --- memory and checks ------------------------------------------------------------------

    def new_arrays(self, info: StructInfo | None, on_device: bool | None = None) -> Value:
        """Arrays for what a call writes, where their struct info says, or all in one place."""
        if isinstance(info, TupleStructInfo):
            return TupleValue(tuple(self.new_arrays(field, on_device) for field in info.fields))
        if not isinstance(info, TensorStructInfo) or info.extents is None or info.dtype is None:
            raise NotCompilableError("the shape or the dtype of an array inside is not known")
        if on_device is None:
            on_device = self.placement.is_on_device(info)
        return self.new_array(tuple(map(self.known, info.extents)), info.dtype, on_device)

    def new_array(self, extents: tuple[Expr, ...], dtype: DType, on_device: bool) -> ArrayValue:
        """An array inside of the function."""
        size = self.analyzer.simplify(size_of(extents, dtype))
        arena = self._arena(size, on_device)
        memory = Memory(MemoryOrigin.TEMPORARY, size, arena=arena, on_device=on_device)
        self._branch_memory.add(memory)
        array = memory.made_as = ArrayValue(memory, extents, dtype)
        self.steps.append(AllocateStep(array))
        return array

    def _arena(self, size: Expr, on_device: bool) -> Arena | None:
        """The block for an array, which is made where its size is known."""
        sizes = set(symbolic_vars_of(size))
        if sizes <= self._first_sizes and not on_device:
            return None
        for arena in self._arenas:
            if sizes <= arena.known and on_device is arena.on_device:
                return arena
        return self._new_arena(on_device)

    def _new_arena(self, on_device: bool) -> Arena:
        arena = Arena(self._numbers, on_device)
        self._arenas.append(arena)
        self.steps.append(ArenaStep(arena))
        return arena

    def place(self, array: ArrayValue, on_device: bool) -> ArrayValue:
        """An array on the device or on the host: itself, or a copy."""
        memory = array.memory.root
        if memory.on_device is on_device:
            return array
        if memory.origin is MemoryOrigin.CONSTANT:  # which is on both
            twin = Memory(memory.origin, memory.size, data=memory.data, on_device=on_device)
            return ArrayValue(twin, array.extents, array.dtype)
        copy = self.new_array(array.extents, array.dtype, on_device)
        self.steps.append(TransferStep(array, copy))
        return copy

    def placed(self, value: Value, info: StructInfo | None) -> Value:
        """A value with its arrays where struct info says."""
        if isinstance(value, TupleValue):
            infos = info.fields if isinstance(info, TupleStructInfo) else [None] * len(value.fields)
            return TupleValue(tuple(map(self.placed, value.fields, infos)))
        if isinstance(value, ArrayValue):
            return self.place(value, self.placement.is_on_device(info))
        return value

    def new_slot(self) -> int:
        """A slot for a value of any kind."""
        self._slots += 1
        return self._slots - 1

    def new_number(self, dtype: DType, name: str = "number") -> Scalar:
        """A number that is known from here on."""
        number = Scalar(name, dtype)
        self._numbers |= {number}
        return number

    def new_sizes(self, count: int) -> tuple[Scalar, ...]:
        """The extents of something that are known from here on."""
        sizes = tuple(self.new_number(INT64, f"size_{axis}") for axis in range(count))
        assume_sizes(self.analyzer, sizes)
        return sizes

    def match(self, value: Value, info: StructInfo, what: str) -> None:
        """Check that a value is what `info` says, and define the sizes that are new in it."""
        match = SizeMatch(self.analyzer)
        match.values.update(self.sizes)
        match_info(match, value, info, what)
        match.finish()
        self.sizes.update(match.values)
        self.steps += match.checks


def _can_be_one(memory: Memory, into: Memory) -> bool:
    """Whether one memory can take the place of the other."""
    if memory.on_device is not into.on_device:
        return False
    if memory.slot is None:
        return True
    return into.origin is MemoryOrigin.TEMPORARY and into.slot is None


_HANDLERS: Final[Mapping[type, Callable[[Translation, Any], Value]]] = {
    Constant: Translation._constant,
    Tuple: Translation._tuple,
    TupleGetItem: Translation._field,
    ShapeExpr: Translation._shape,
    PrimValue: Translation._scalar,
    SeqExpr: Translation._sequence,
    If: Translation._branches,
    StringImm: lambda translation, expr: LiteralValue(str(expr.value)),
    DataTypeImm: lambda translation, expr: LiteralValue(expr.value),
    Call: Translation._call,
    Var: Translation._variable,
    DataflowVar: Translation._variable,
}
