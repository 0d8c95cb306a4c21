"""Calls of tensor programs of the module, and of registered functions, as steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from tilewright.arith import Analyzer
from tilewright.error import LoweringError, UnknownNameError, did_you_mean
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT64, DType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.relax.analysis.functions import writing_functions
from tilewright.relax.expr import ExternFunc, Function, RelaxExpr
from tilewright.relax.vm.placement import DeviceKernels
from tilewright.relax.vm.signature import Signature, SizeMatch, match_shapes
from tilewright.relax.vm.steps import (
    ArrayValue,
    CallStep,
    DistinctStep,
    MemoryOrigin,
    NotCompilableError,
    PackedCallStep,
    Step,
    TransferStep,
    Value,
    arrays_of,
)
from tilewright.runtime.registry import get_global_func
from tilewright.tir.buffer import Buffer, decl_buffer
from tilewright.tir.expr import IterType, IterVar, Range
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, ForKind, IfThenElse, Stmt
from tilewright.tir.substitute import symbolic_sizes


class KernelCalls:
    """What the graph functions of a module may call.

    Attributes:
        kernels: the tensor programs that are called, by name; copies are added to them.
        overlapping: parameters whose arrays may overlap, because the caller of the graph
            function has given them.
        packed: the graph functions that work with values of any kind: they are called as packed
            functions, by the symbol.
        placement: where arrays and kernels can be.
        started: the tensor programs that run on the device.
    """

    def __init__(
        self,
        module: IRModule,
        signatures: dict[GlobalVar, Signature],
        packed: dict[GlobalVar, str],
        started: DeviceKernels,
    ) -> None:
        self._module, self._signatures = module, signatures
        self.placement, self.started = started.placement, started
        self.kernels: dict[GlobalVar, PrimFunc] = {}
        self.overlapping: set[GlobalVar] = set()
        self.packed = packed

    def writes_parameters(self, callee: GlobalVar) -> bool:
        """Whether a graph function may write over arrays that its caller passes."""
        return callee in self._writing

    @cached_property
    def _writing(self) -> set[GlobalVar]:
        return writing_functions(self._module)

    def signature(self, callee: GlobalVar) -> Signature:
        """The parameters of a graph function that is compiled.

        Raises:
            NotCompilableError: if it is not.
        """
        if callee not in self._module.functions:
            raise UnknownNameError(f"the module has no function {callee.name_hint!r}")
        if callee not in self._signatures:
            raise NotCompilableError(f"it calls {callee.name_hint}, which is not compiled")
        return self._signatures[callee]

    def call(
        self,
        callee: GlobalVar,
        inputs: Sequence[ArrayValue],
        result: Value,
        scalars: Sequence[Expr],
        analyzer: Analyzer,
        written_over: Sequence[int] = (),
        on_device: bool = False,
    ) -> list[Step]:
        """The call of a tensor program with arrays for its results.

        Args:
            result: the new arrays that it writes, which follow.
            scalars: what comes after the arrays.
            written_over: the numbers of inputs that it writes, too.
            on_device: whether it is a kernel of the device, as all of its arrays are.

        Raises:
            UnknownNameError: if the module has no such function.
            LoweringError: if it takes something else.
            ShapeError: if the arrays never fit.
        """
        name, function = callee.name_hint, self._tensor_program(callee)
        if self.placement.has_device and not on_device:
            callee = self._on_host(callee)
        if not on_device:
            self.kernels[callee] = function
        outputs = list(arrays_of(result))
        arrays = [*inputs, *outputs]
        given = [array for array in inputs if _is_given(array)]
        rewritten = [inputs[number] for number in written_over]
        outputs += rewritten
        checks: list[Step] = []
        if any(map(_is_given, rewritten)):
            self.overlapping.add(callee)
            checks += (
                DistinctStep(array, other, name)
                for array in filter(_is_given, rewritten if on_device else ())
                for other in given
                if other is not array
            )
        buffers = [p for p in function.params if p in function.buffer_map]
        others = [p for p in function.params if p not in function.buffer_map]
        if len(buffers) != len(arrays) or len(others) != len(scalars):
            raise LoweringError(
                f"R.call_tir: {name} has {len(buffers)} arrays and {len(others)} scalars as "
                f"parameters, the call has {len(arrays)} arrays and {len(scalars)} scalars"
            )
        match = SizeMatch(analyzer)
        for param, value in zip(others, scalars, strict=True):
            match.match(param, value, f"{name}: {param.name}")
        for param, array in zip(buffers, arrays, strict=True):
            _match_buffer(match, name, function.buffer_map[param], array)
        match.finish()
        where = f"R.call_tir: {name}"
        by_param = dict(zip(buffers, arrays, strict=True))
        arguments = tuple(
            by_param[p] if p in by_param else match.value_of(p, where) for p in function.params
        )
        written = frozenset(
            position
            for position, param in enumerate(function.params)
            if any(by_param.get(param) is output for output in outputs)
        )
        sizes = tuple(match.value_of(size, where) for size in symbolic_sizes(function))
        return [*match.checks, *checks, CallStep(callee, arguments, sizes, written, name)]

    def _tensor_program(self, callee: GlobalVar) -> PrimFunc:
        function = self._module.functions.get(callee)
        if function is None:
            raise UnknownNameError(f"R.call_tir: the module has no function {callee.name_hint!r}")
        if not isinstance(function, PrimFunc):
            raise LoweringError(f"R.call_tir: {callee.name_hint} is not a tensor program")
        return function

    def runs_on_device(self, callee: GlobalVar) -> bool:
        """Whether a tensor program can run on the device."""
        function = self._tensor_program(callee)
        return self.placement.has_device and self.started.add(callee, function)

    def _on_host(self, callee: GlobalVar) -> GlobalVar:
        """The name of a tensor program on the host, where it may be on the device, too."""
        return GlobalVar(self._unused(f"{callee.name_hint}_on_host"))

    def _unused(self, name: str) -> str:
        """A name that no function of the module has."""
        found, number = name, 0
        while GlobalVar(found) in self._module.functions:
            number += 1
            found = f"{name}_{number}"
        return found

    def packed_symbol(self, callee: GlobalVar) -> str:
        """The symbol by which a graph function is called as a packed one from now on."""
        symbol = self.packed.get(callee)
        if symbol is not None:
            return symbol
        symbol = self._module[callee].global_symbol
        if symbol is None:
            taken = {function.global_symbol for function in self._module.functions.values()}
            symbol = f"{callee.name_hint}_private"
            while symbol in taken:
                symbol += "_"
        self.packed[callee] = symbol
        return symbol

    def is_tensor_program(self, name: str) -> bool:
        """Whether the module has a tensor program of that name."""
        return isinstance(self._module.functions.get(GlobalVar(name)), PrimFunc)

    def is_graph_function(self, name: str) -> bool:
        """Whether the module has a graph function of that name."""
        return isinstance(self._module.functions.get(GlobalVar(name)), Function)

    def call_by_name(
        self,
        callee: RelaxExpr | GlobalVar,
        inputs: Sequence[Value],
        result: Value,
        analyzer: Analyzer,
    ) -> list[Step]:
        """The call of a tensor program of the module, or else of a registered function.

        Raises:
            UnknownNameError: if there is neither, and the module has a function of nearly that
                name.
        """
        if isinstance(callee, GlobalVar):
            return self.call(callee, _arrays(inputs), result, (), analyzer)
        if not isinstance(callee, ExternFunc):
            raise NotCompilableError("it calls a function that is a value")
        name = callee.global_symbol
        if self.is_tensor_program(name):
            return self.call(GlobalVar(name), _arrays(inputs), result, (), analyzer)
        self.require_no_near_miss(name, "R.call_dps_packed")
        arguments: list[ArrayValue | Expr] = []
        for value in inputs:
            if not isinstance(value, (ArrayValue, Expr)):
                raise NotCompilableError(f"it passes a tuple or a shape to {name}")
            arguments.append(value)
        outputs = list(arrays_of(result))
        written = frozenset(range(len(arguments), len(arguments) + len(outputs)))
        return [PackedCallStep(name, (*arguments, *outputs), written)]

    def require_no_near_miss(self, name: str, caller: str) -> None:
        """Refuse a name that is registered nowhere, and is nearly that of a tensor program.

        Raises:
            UnknownNameError: for such a name.
        """
        if get_global_func(name, allow_missing=True) is not None:
            return
        programs = [
            var.name_hint for var, f in self._module.functions.items() if isinstance(f, PrimFunc)
        ]
        hint = did_you_mean(name, programs)
        if hint:
            raise UnknownNameError(
                f"{caller}: neither the module nor the registry has a function {name!r}{hint}"
            )

    def copy(self, source: ArrayValue, target: ArrayValue, analyzer: Analyzer) -> Step:
        """The copy of an array."""
        dtype = source.dtype
        if dtype.is_float and dtype.bits < 32:  # bits are copied, whatever they mean
            dtype = DType(f"uint{dtype.bits}")
        on_device = target.memory.root.on_device
        if source.memory.root.on_device is not on_device:
            return TransferStep(source, target)
        callee = GlobalVar(self._unused(f"copy_{dtype!s}{'_on_device' if on_device else ''}"))
        if on_device and callee not in self.started.lowered:
            self.started.add(callee, copy_kernel(dtype))
        elif not on_device and callee not in self.kernels:
            self.kernels[callee] = copy_function(dtype)
        count: Expr = const(1, INT64)
        for extent in source.extents:
            count = count * extent
        sizes = (analyzer.simplify(count),)
        return CallStep(callee, (source, target), sizes, frozenset((1,)), callee.name_hint)


def _is_given(array: ArrayValue) -> bool:
    """Whether an array is in memory that the caller of the graph function has given."""
    return array.memory.root.origin is MemoryOrigin.PARAMETER


def _arrays(values: Sequence[Value]) -> list[ArrayValue]:
    for value in values:
        if not isinstance(value, ArrayValue):
            raise NotCompilableError("it passes a value other than an array to a tensor program")
    return [value for value in values if isinstance(value, ArrayValue)]


def _match_buffer(match: SizeMatch, name: str, buffer: Buffer, array: ArrayValue) -> None:
    """An array, which is compact, is passed as a buffer."""
    what = f"{name}: argument {buffer.name}"
    if buffer.dtype is not array.dtype:
        raise LoweringError(f"{what} has dtype {array.dtype!s}, expected {buffer.dtype!s}")
    match_shapes(match, buffer.shape, array.extents, what)
    if isinstance(buffer.elem_offset, Var):
        match.match(buffer.elem_offset, const(0, INT64), f"{what}: elem_offset")
    step: Expr = const(1, INT64)
    for axis in reversed(range(len(buffer.strides))):
        match.match(buffer.strides[axis], step, f"{what}: strides[{axis}]")
        step = step * array.extents[axis]


def copy_function(dtype: DType) -> PrimFunc:
    """A tensor program that copies `n` elements."""

    def loop(n: Expr, copy: Callable[[Expr], Stmt]) -> Stmt:
        i = Var("i", INT64)
        return For(i, const(0, INT64), n, ForKind.SERIAL, copy(i))

    return _copying(dtype, loop)


COPY_THREADS: Final = 256
"""Number of threads of a block that copies elements."""


def copy_kernel(dtype: DType) -> PrimFunc:
    """A tensor program that copies `n` elements on a device."""

    def loops(n: Expr, copy: Callable[[Expr], Stmt]) -> Stmt:
        size, block, thread = const(COPY_THREADS, INT64), Var("block", INT64), Var("i", INT64)
        place = block * size + thread
        stmt: Stmt = IfThenElse(place < n, copy(place))
        for var, extent, axis in (
            (thread, size, "threadIdx.x"),
            (block, floordiv(n + size - 1, size), "blockIdx.x"),
        ):
            binding = IterVar(
                Range.from_min_extent(0, extent), Var(axis, INT64), IterType.THREAD_INDEX, axis
            )
            stmt = For(var, const(0, INT64), extent, ForKind.THREAD_BINDING, stmt, binding)
        return stmt

    return _copying(dtype, loops)


def _copying(dtype: DType, loops: Callable[[Expr, Callable[[Expr], Stmt]], Stmt]) -> PrimFunc:
    """A tensor program with `loops` over the copies of its `n` elements."""
    n = Var("n", INT64)
    source, target = decl_buffer((n,), dtype, "source"), decl_buffer((n,), dtype, "target")
    params = (Var("source", HANDLE), Var("target", HANDLE))
    body = loops(n, lambda i: BufferStore(target, source[i], (i,)))
    buffers = dict(zip(params, (source, target), strict=True))
    return PrimFunc(params, body, buffer_map=buffers, attrs={"tir.noalias": True})
