"""Functions that return new arrays, and other values.

A function with the attribute `RETURNS` writes its last parameters only, and they are its results.
Beside the function that writes into arrays of its caller there is one that makes the arrays: it has
the other parameters, and returns an array, or a tuple of arrays and tuples. A function may also
keep values of any kind in slots while it runs, and return them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tilewright.ir.arithmetic import less, not_equal
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.expr import Call, Expr, IntImm, Let, Var
from tilewright.ir.module import GlobalVar
from tilewright.tir.buffer import Buffer, decl_buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.structures import Steps
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.devices import device_beside, new_device_array
from tilewright.tir.op.objects import new_array, new_tuple, release_objects
from tilewright.tir.stmt import (
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute

RETURNS: Final = "tir.returns"
"""What a function returns, in JSON: the number of a result, or a list, which is a tuple.

``{"slot": 2}`` is the value in that slot of the function, see `SLOTS`.
"""

SLOTS: Final = "tir.slots"
"""How many values of any kind a function may keep.

Its last parameter is the address of that many slots, which are empty. They are given up when the
function is over, whether it fails or not.
"""

ANY_PARAMS: Final = "tir.any_params"
"""The positions of parameters that may be of any kind; each is the address of a slot."""

ON_HOST: Final = "tir.on_host"
"""The positions of arrays in the memory of the host, in a function whose others are on a device."""

IS_PRIVATE: Final = "tir.is_private"
"""The attribute of functions that only others of the module call as packed functions."""

INTO: Final = "_into"
"""What the name of the function ends in that writes into arrays of its caller."""

FEW: Final = 8
"""Results that are checked one by one, and not all at once."""

CPU: Final = 1
"""DLPack's number of the device."""

MANY: Final = 32
"""Words that are set one by one, and not by a loop."""


def result_buffers(function: PrimFunc) -> tuple[Buffer, ...]:
    """The buffers of the results, which are those of the last parameters with buffers."""
    count = _leaves(json.loads(function.attrs.get(RETURNS, "[]")))
    end = len(function.params) - (SLOTS in function.attrs)
    return tuple(function.buffer_map[param] for param in function.params[end - count : end])


def passed_params(function: PrimFunc, returns: bool) -> tuple[Var, ...]:
    """The parameters that a caller of the packed function passes.

    `returns` tells whether it is the packed function that returns results, or that which writes
    them.
    """
    end = len(function.params) - (SLOTS in function.attrs)
    return function.params[: end - len(result_buffers(function)) if returns else end]


def writes_results(function: PrimFunc) -> bool:
    """Whether all results of a function with `RETURNS` can be written into arrays of the caller."""
    return '"slot"' not in function.attrs[RETURNS]


def item_of(function: PrimFunc) -> Any:
    """What the only item of the tuple that a function returns is; None for other results."""
    structure = json.loads(function.attrs[RETURNS])
    is_single = isinstance(structure, list) and len(structure) == 1
    return None if not is_single or isinstance(structure[0], list) else structure[0]


def return_results(
    function: PrimFunc,
    structure: Any,
    values: dict[Var, Expr],
    result: Var,
    arguments: Callable[[dict[Var, Expr]], tuple[Expr, ...]],
    raw_name: GlobalVar,
    device_type: int,
) -> Stmt:
    """The call of a raw function with new arrays, which are returned.

    Args:
        function: the function, which has `RETURNS`.
        structure: what is returned, as `RETURNS` says it.
        values: what its variables are in the packed function.
        result: where the packed function puts what it returns.
        arguments: gives the arguments of the raw function from `values` and the results' pointers.
        raw_name: the name of the raw function.
        device_type: DLPack's number of the device that arrays are on, but for those `ON_HOST`.
    """
    body = _Results(function, values, len(result_buffers(function)))
    body.allocate(result_buffers(function), device_type)
    body.attempt(Call(INT32, raw_name, arguments(body.values)))
    body.move(structure, result, 0)
    return body.build()


def return_tuple(item: GlobalVar, params: abi.PackedParams) -> Stmt:
    """The body of a packed function that returns a tuple of what another one returns.

    Args:
        item: the other packed function.
        params: of both.
    """
    *passed, result = params
    steps = Steps()
    slot = steps.memory("item", 2)
    for word in range(2):
        steps.do(slot.store(abi.Field(INT64, word), const(0, INT64)))
    steps.do(abi.leave_unless_0(Call(INT32, item, (*passed, slot.pointer))))
    made = new_tuple(slot.pointer, IntImm(INT32, 1), result)
    return steps.before(abi.return_value(made))


def with_slots(
    function: PrimFunc,
    values: dict[Var, Expr],
    arguments: Callable[[dict[Var, Expr]], tuple[Expr, ...]],
    raw_name: GlobalVar,
) -> Stmt:
    """The call of a raw function with `SLOTS` that writes its results into arrays of the caller."""
    body = _Results(function, values, 0)
    body.attempt(Call(INT32, raw_name, arguments(body.values)))
    return body.build()


def _leaves(structure: Any) -> int:
    if isinstance(structure, dict):
        return 0
    return sum(map(_leaves, structure)) if isinstance(structure, list) else 1


class _Results:
    """The steps from checked arguments to a result."""

    def __init__(self, function: PrimFunc, values: dict[Var, Expr], arrays: int) -> None:
        self.values, self._function = dict(values), function
        self._arrays, self._kept = arrays, int(function.attrs.get(SLOTS, 0))
        self._count = arrays + self._kept
        self._steps = Steps()
        self._slots = self._steps.memory("results", 2 * max(self._count, 1))
        self._steps.do(self._empty(2 * self._count))
        if self._kept:
            kept = function.params[-1]
            pointer = abi.pointer_var(kept.name)
            self._steps.bind(pointer, _slot(self._slots.pointer, arrays))
            self.values[kept] = pointer

    def _empty(self, words: int) -> Stmt:
        zero = const(0, "int64")
        if words <= MANY:
            return seq(*(self._slots.store(abi.Field(INT64, n), zero) for n in range(words)))
        word = Var("word", INT32)
        slots = decl_buffer((words,), INT64, "slots", data=self._slots.pointer)
        store = BufferStore(slots, zero, (word,))
        return For(word, const(0, INT32), const(words, INT32), ForKind.SERIAL, store)

    def build(self) -> Stmt:
        """The steps, one after the other."""
        if self._kept:
            self._steps.do(
                Evaluate(release_objects(self._slots.pointer, IntImm(INT32, self._count)))
            )
        return self._steps.before(abi.return_value(const(0, "int32")))

    def _device(self, device_type: int) -> Expr:
        """The number of the device of the first array that is on one."""
        on_host = self._function.attrs.get(ON_HOST, ())
        given = passed_params(self._function, returns=True)
        arrays = (
            self._function.buffer_map[param].data
            for position, param in enumerate(given)
            if param in self._function.buffer_map and position not in on_host
        )
        first = next(arrays, None)
        beside = abi.as_pointer(const(0, INT64)) if first is None else self.values[first]
        device = Var("device", INT64)
        self._steps.bind(device, device_beside(device_type, beside))
        self.attempt(cast(INT32, less(device, const(0, INT64))))
        return device

    def allocate(self, buffers: tuple[Buffer, ...], device_type: int) -> None:
        """Make the arrays of the results.

        No statement binds a variable: thousands of results would nest thousands deep. Many results
        share one check, which keeps the number of branches small.
        """
        shape = self._steps.memory(
            "shape", max((buffer.ndim for buffer in buffers), default=0) or 1
        )
        first = len(self._function.params) - (SLOTS in self._function.attrs) - len(buffers)
        on_host = self._function.attrs.get(ON_HOST, ())
        on_device = [device_type != CPU and first + n not in on_host for n in range(len(buffers))]
        device = self._device(device_type) if any(on_device) else None
        status, field = None, abi.Field(INT32, 0)
        if len(buffers) > FEW:
            status = self._steps.memory("status", 1)
            self._steps.do(status.store(field, const(0, INT32)))
        for position, buffer in enumerate(buffers):
            for axis, extent in enumerate(buffer.shape):
                size = cast(INT64, substitute(extent, self.values))
                self._steps.do(shape.store(abi.Field(INT64, axis), size))
            slot = _slot(self._slots.pointer, position)
            word, ndim = abi.dtype_word(buffer.dtype), buffer.ndim
            if device is not None and on_device[position]:
                made = new_device_array(slot, device_type, device, ndim, word, shape.pointer)
            else:
                made = new_array(slot, IntImm(INT32, ndim), IntImm(INT32, word), shape.pointer)
            if status is None:
                self.attempt(made)
            else:
                self._steps.do(status.store(field, status.load(field) | made))
            struct = abi.pointer_var(f"{buffer.name}_array")
            address = self._slots.load(abi.Field(INT64, 2 * position + 1))
            header = const(abi.OBJECT_HEADER_SIZE, "int64")
            data = abi.as_pointer(abi.View(struct).load(abi.DATA))
            self.values[buffer.data] = Let(struct, abi.as_pointer(address + header), data)
        if status is not None:
            self.attempt(status.load(field))

    def attempt(self, status: Expr) -> None:
        """Give up the arrays and leave if `status` is not 0."""
        failed = seq(
            Evaluate(release_objects(self._slots.pointer, IntImm(INT32, self._count))),
            abi.return_value(const(-1, "int32")),
        )
        self._steps.do(IfThenElse(not_equal(status, 0), failed))

    def move(self, structure: Any, target: Var, position: int) -> None:
        """Put an array or a new tuple into slot `position` at `target`."""
        into = abi.View(target)
        if not isinstance(structure, list):
            kept = isinstance(structure, dict)
            number = self._arrays + structure["slot"] if kept else structure
            for word in range(2):
                source = abi.Field(INT64, 2 * number + word)
                self._steps.do(
                    into.store(abi.Field(INT64, 2 * position + word), self._slots.load(source))
                )
                self._steps.do(self._slots.store(source, const(0, "int64")))
            return
        items = self._steps.memory("items", 2 * max(len(structure), 1))
        for index, item in enumerate(structure):
            self.move(item, items.pointer, index)
        count = IntImm(INT32, len(structure))
        self.attempt(new_tuple(items.pointer, count, _slot(target, position)))


def _slot(slots: Var, position: int) -> Expr:
    """The address of a slot."""
    return abi.as_pointer(abi.as_address(slots) + const(abi.ANY_SIZE * position, "int64"))
