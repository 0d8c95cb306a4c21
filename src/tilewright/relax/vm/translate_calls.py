"""The calls of a graph function as steps: of tensor programs, of other functions, and of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tilewright.error import LoweringError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Scalar
from tilewright.ir.module import GlobalVar, VDevice
from tilewright.ir.op import Op
from tilewright.relax.expr import Call, ExternFunc, RelaxExpr
from tilewright.relax.op import base, conversion, view
from tilewright.relax.op.table import operator_of
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.signature import SizeMatch, match_info, match_shapes, require, size_of
from tilewright.relax.vm.steps import (
    Argument,
    ArrayValue,
    CallStep,
    GivenValue,
    KeptValue,
    LiteralValue,
    LoadStep,
    MemoryOrigin,
    NotCompilableError,
    PackedCallStep,
    ShapeValue,
    StoreStep,
    TransferStep,
    TupleValue,
    Value,
    arrays_in,
    arrays_of,
)
from tilewright.relax.vm.translate_values import (
    as_argument,
    translate_assert,
    translate_print,
    unpack,
)

Raw = ArrayValue | Expr
"""What a function of the module takes that works with no values of other kinds."""

if TYPE_CHECKING:
    from tilewright.relax.vm.translate import Translation


def translate_call(to: Translation, call: Call) -> Value:
    """The value of a call, after its steps were added to a translation.

    Raises:
        NotCompilableError: for what needs values of unknown kind.
        LoweringError: for an operator that has not been legalised.
    """
    if isinstance(call.op, GlobalVar):
        return _graph_call(to, call.op, call)
    if isinstance(call.op, ExternFunc):
        return _packed_call(to, call.op, call.args, call)
    operator = operator_of(call)
    if operator is None or not isinstance(call.op, Op):
        raise NotCompilableError("it calls a value, or a function that returns one")
    handler = _OPERATORS.get(call.op)
    if handler is not None:
        return handler(to, call)
    if operator.is_view:
        return _view(to, call)
    if operator.legalize is not None:
        raise LoweringError(f"{call.op.name} is left over: LegalizeOps comes before")
    raise NotCompilableError(f"it has a call of {call.op.name}")


def _view(to: Translation, call: Call) -> Value:
    """The same elements in the same order, with other extents."""
    source, info = to.value(call.args[0]), call.struct_info
    if not isinstance(source, ArrayValue) or not isinstance(info, TensorStructInfo):
        raise NotCompilableError(f"{call.op!r} is of a value that is not known to be an array")
    if info.extents is None or info.dtype is not source.dtype:
        raise NotCompilableError("the shape of a view is not known")
    extents = tuple(map(to.known, info.extents))
    size = to.analyzer.simplify(size_of(extents, source.dtype))
    match = SizeMatch(to.analyzer)
    match.values.update((known, known) for known in symbolic_vars_of(source.memory.size))
    match.match(source.memory.size, size, "reshape: the number of bytes")
    match.finish()
    to.steps += match.checks
    return ArrayValue(source.memory, extents, source.dtype)


def _shape_of(to: Translation, call: Call) -> Value:
    value = to.value(call.args[0])
    if not isinstance(value, ArrayValue):
        raise NotCompilableError("it asks for the shape of an array of unknown rank")
    return ShapeValue(value.extents)


def _tensor_to_shape(to: Translation, call: Call) -> Value:
    array = to.value(call.args[0])
    if not isinstance(array, ArrayValue) or not isinstance(array.extents[0], IntImm):
        raise NotCompilableError("it makes a shape of unknown rank")
    numbers = to.new_sizes(array.extents[0].value)
    to.steps.append(LoadStep(to.place(array, on_device=False), numbers, to.where))
    return ShapeValue(numbers)


def _shape_to_tensor(to: Translation, call: Call) -> Value:
    shape = to.value(call.args[0])
    if not isinstance(shape, ShapeValue):
        raise NotCompilableError("it makes an array of a shape of unknown rank")
    array = to.new_array((const(len(shape.extents), INT64),), INT64, on_device=False)
    to.steps.append(StoreStep(array, shape.extents))
    return to.placed(array, call.struct_info)


def _to_device(to: Translation, call: Call) -> Value:
    """The array on a device; what uses it runs there, unless something else is said of it."""
    array = to.value(call.args[0])
    if not isinstance(array, ArrayValue):
        raise NotCompilableError("it moves a value that is not known to be an array")
    info = TensorStructInfo(None, array.dtype, call.attrs["dst_vdevice"], len(array.extents))
    return to.placed(array, info)


def _null_value(to: Translation, call: Call) -> Value:
    del to, call
    return LiteralValue(None)


# --- tensor programs -------------------------------------------------------------------------


def _scalars(to: Translation, call: Call) -> tuple[Expr, ...]:
    """The arguments of a tensor program that come after its arrays."""
    found: tuple[Expr, ...] = ()
    for argument in call.args[2:]:
        values = to.value(argument)
        found += values.extents if isinstance(values, ShapeValue) else ()
    return found


def _kernel_call(to: Translation, call: Call) -> Value:
    callee, info = call.args[0], call.sinfo_args[0]
    assert isinstance(callee, GlobalVar)
    scalars = _scalars(to, call)
    inputs = tuple(arrays_of(to.value(call.args[1])))
    assert isinstance(info, StructInfo)
    info = _where(inputs, info)
    on_device = _is_all_on_device(to, info) and to.kernels.runs_on_device(callee)
    result = to.new_arrays(info, on_device)
    inputs = tuple(to.place(array, on_device) for array in inputs)
    to.steps += to.kernels.call(callee, inputs, result, scalars, to.analyzer, on_device=on_device)
    return to.placed(result, info)


HOST: Final = VDevice(None)


def _where(inputs: Sequence[ArrayValue], info: StructInfo) -> StructInfo:
    """Struct info of the results of a kernel, which are on the host if all of its arrays are."""
    places = {
        array.memory.root.on_device
        for array in inputs
        if array.memory.root.origin is not MemoryOrigin.CONSTANT
    }
    return _on_host(info) if places == {False} else info


def _on_host(info: StructInfo) -> StructInfo:
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo(tuple(map(_on_host, info.fields)))
    if isinstance(info, TensorStructInfo) and info.vdevice is None:
        return TensorStructInfo(info.shape, info.dtype, HOST, info.ndim)
    return info


def _is_all_on_device(to: Translation, info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(_is_all_on_device(to, field) for field in info.fields)
    return to.placement.is_on_device(info)


def _inplace_call(to: Translation, call: Call) -> Value:
    """A tensor program that writes some of its results over arguments."""
    callee, info = call.args[0], call.sinfo_args[0]
    assert isinstance(callee, GlobalVar)
    scalars = _scalars(to, call)
    inputs = list(arrays_of(to.value(call.args[1])))
    infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
    places = [int(place) for place in call.attrs["inplace_indices"]]
    written_over = [place for place in places if place >= 0]
    for place in written_over:
        inputs[place] = own_array(to, call, inputs, place)
    on_device = _is_all_on_device(to, _where(inputs, info)) and to.kernels.runs_on_device(callee)
    given, inputs = inputs, [to.place(array, on_device) for array in inputs]
    new: list[Value] = []
    results: list[Value] = []
    for place, declared in zip(places, infos, strict=True):
        if place < 0:
            new.append(to.new_arrays(declared, on_device))
            results.append(new[-1])
        else:
            results.append(_declared_as(to, given[place], declared))
    added = TupleValue(tuple(new))
    to.steps += to.kernels.call(
        callee, inputs, added, scalars, to.analyzer, written_over, on_device
    )
    for place in written_over:
        if inputs[place] is not given[place]:
            to.steps.append(TransferStep(inputs[place], given[place]))
    return TupleValue(tuple(results)) if isinstance(info, TupleStructInfo) else results[0]


def _declared_as(to: Translation, array: ArrayValue, info: StructInfo) -> ArrayValue:
    """An array that was written over, as the call says that it is."""
    match = SizeMatch(to.analyzer)
    match.values.update(to.sizes)
    match_info(match, array, info, "R.call_tir_inplace: a result over an argument")
    match.finish()
    to.steps += match.checks
    assert isinstance(info, TensorStructInfo)
    extents = array.extents if info.extents is None else tuple(map(to.known, info.extents))
    return ArrayValue(array.memory, extents, array.dtype)


def own_array(to: Translation, call: Call, arguments: Sequence[Value], place: int) -> ArrayValue:
    """The argument of a call that is written over, or a copy of it if it is needed otherwise.

    Programs promise that it is not, but passes let calls share what they compute, and make views.
    """
    array = arguments[place]
    assert isinstance(array, ArrayValue)
    memory = array.memory.root
    others = [value for number, value in enumerate(arguments) if number != place]
    others += _used_after(to, call)
    shared = any(memory is part.memory.root for value in others for part in arrays_in(value))
    if memory.origin is not MemoryOrigin.CONSTANT and not shared:
        return array
    copy = to.new_array(array.extents, array.dtype, memory.on_device)
    to.steps.append(to.kernels.copy(array, copy, to.analyzer))
    return copy


def own_value(to: Translation, call: Call, arguments: Sequence[Value], place: int) -> Value:
    """As `own_array`, for the arrays of an argument of any kind."""
    value = arguments[place]
    if isinstance(value, ArrayValue):
        return own_array(to, call, arguments, place)
    if not isinstance(value, TupleValue):
        return value
    fields = list(value.fields)
    others = [other for number, other in enumerate(arguments) if number != place]
    for number in range(len(fields)):
        fields[number] = own_value(to, call, [*fields, *others], number)
    return TupleValue(tuple(fields))


def _used_after(to: Translation, call: Call) -> list[Value]:
    """The values that are needed when a call is over."""
    now, last = to.liveness.position[id(call)], to.liveness.last_use
    return [value for var, value in to.values.items() if last.get(var, -1) > now]


# --- functions -------------------------------------------------------------------------------


def _dps_packed_call(to: Translation, call: Call) -> Value:
    result = to.new_arrays(call.sinfo_args[0])
    inputs = to.value(call.args[1])
    assert isinstance(inputs, TupleValue)
    to.steps += to.kernels.call_by_name(call.args[0], inputs.fields, result, to.analyzer)
    return result


def _pure_packed_call(to: Translation, call: Call) -> Value:
    return _packed_call(to, call.args[0], call.args[1:], call)


def _packed_call(
    to: Translation, callee: RelaxExpr, args: Sequence[RelaxExpr], call: Call
) -> Value:
    """The call of a registered function that returns a value."""
    if isinstance(callee, GlobalVar):
        return _graph_call(to, callee, call)
    if not isinstance(callee, ExternFunc):
        raise NotCompilableError("it calls a function that is a value")
    name = callee.global_symbol
    if to.kernels.is_graph_function(name):
        return _graph_call(to, GlobalVar(name), call.replace(op=GlobalVar(name), args=tuple(args)))
    if to.kernels.is_tensor_program(name):
        raise NotCompilableError(f"it calls the tensor program {name} without R.call_tir")
    to.kernels.require_no_near_miss(name, "R.call_packed")
    where = f"{to.where} (what {name!r} returned)"
    values = list(map(to.value, args))
    written = frozenset(int(index) for index in call.attrs.get("inplace_indices", ())) - {-1}
    for place in written:
        values[place] = own_value(to, call, values, place)
    arguments = tuple(as_argument(to, value) for value in values)
    slot = to.new_slot()
    to.steps.append(PackedCallStep(name, arguments, written, slot))
    return unpack(to, slot, call.struct_info, where)


def _graph_call(to: Translation, callee: GlobalVar, call: Call) -> Value:
    signature = to.kernels.signature(callee)
    match = SizeMatch(to.analyzer)
    arguments: list[Argument] = []
    where = f"the call of {callee.name_hint}"
    values = list(map(to.value, call.args))
    if to.kernels.writes_parameters(callee):
        values = [own_value(to, call, values, place) for place in range(len(values))]
    for value, declared in zip(values, signature.values, strict=True):
        _pass(to, match, declared, value, arguments, where)
    match.finish()
    to.steps += match.checks
    symbol = to.kernels.packed.get(callee)
    if symbol is None and not to.knows_sizes(call.struct_info):
        symbol = to.kernels.packed_symbol(callee)
    if symbol is not None:
        slot = to.new_slot()
        to.steps.append(PackedCallStep(symbol, tuple(arguments), frozenset(), slot, is_own=True))
        return unpack(to, slot, call.struct_info, to.where)
    result = to.new_arrays(call.struct_info)
    first = 0 if to.kernels.writes_parameters(callee) else len(arguments)
    written = range(first, len(arguments) + sum(1 for _ in arrays_of(result)))
    params = set(signature.params)
    sizes = tuple(match.value_of(size, where) for size in signature.sizes if size not in params)
    arguments += arrays_of(result)
    label, passed = callee.name_hint, tuple(a for a in arguments if isinstance(a, Raw))
    to.steps.append(CallStep(callee, passed, sizes, frozenset(written), label))
    return result


def _pass(
    to: Translation,
    match: SizeMatch,
    declared: Value,
    value: Value,
    arguments: list[Argument],
    what: str,
) -> None:
    """Pass a value to a parameter of another graph function."""
    if isinstance(value, KeptValue):
        value = unpack(to, value.slot, _kind_of(declared), f"{to.where}: {what}: an argument")
    if isinstance(declared, TupleValue) and isinstance(value, TupleValue):
        for part, item in zip(declared.fields, value.fields, strict=True):
            _pass(to, match, part, item, arguments, what)
    elif isinstance(declared, GivenValue):
        arguments.append(as_argument(to, value))
    elif isinstance(declared, ArrayValue) and isinstance(value, ArrayValue):
        require(declared.dtype is value.dtype, what, f"dtype {declared.dtype}", value.dtype)
        match_shapes(match, declared.extents, value.extents, what)
        arguments.append(value)
    elif isinstance(declared, ShapeValue) and isinstance(value, ShapeValue):
        match_shapes(match, declared.extents, value.extents, what)
        arguments.extend(value.extents)
    elif isinstance(declared, Scalar) and isinstance(value, Expr):
        scalar = cast(declared.dtype, value)
        match.values[declared] = scalar
        arguments.append(scalar)
    else:
        raise NotCompilableError(f"{what} passes a value whose kind is not known")


def _kind_of(declared: Value) -> StructInfo:
    """What kind of value a parameter is, without its sizes."""
    if isinstance(declared, ArrayValue):
        return TensorStructInfo(None, declared.dtype, ndim=len(declared.extents))
    if isinstance(declared, ShapeValue):
        return ShapeStructInfo(ndim=len(declared.extents))
    if isinstance(declared, TupleValue):
        return TupleStructInfo(tuple(map(_kind_of, declared.fields)))
    return PrimStructInfo(declared.dtype) if isinstance(declared, Expr) else ObjectStructInfo()


_OPERATORS: Final[Mapping[Op, Callable[[Translation, Call], Value]]] = {
    base.CALL_TIR: _kernel_call,
    base.CALL_TIR_INPLACE: _inplace_call,
    base.CALL_DPS_PACKED: _dps_packed_call,
    base.CALL_PURE_PACKED: _pure_packed_call,
    base.CALL_INPLACE_PACKED: _pure_packed_call,
    **dict.fromkeys(conversion.MOVES, _to_device),
    view.SHAPE_OF: _shape_of,
    view.TENSOR_TO_SHAPE: _tensor_to_shape,
    view.SHAPE_TO_TENSOR: _shape_to_tensor,
    base.NULL_VALUE: _null_value,
    base.PRINT: translate_print,
    base.ASSERT_OP: translate_assert,
}
