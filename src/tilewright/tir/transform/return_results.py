"""Functions that return new arrays.

A function with the attribute `RETURNS` writes its last parameters only, and they are its results.
Beside the function that writes into arrays of its caller there is one that makes the arrays: it has
the other parameters, and returns an array, or a tuple of arrays and tuples.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.ir.function import GlobalVar
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.objects import new_array, new_tuple, release_objects
from tilewright.tir.stmt import Allocate, Evaluate, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import substitute
from tilewright.tir.transform import call_boundary as abi

RETURNS: Final = "tir.returns"
"""What a function returns, in JSON: the number of a result, or a list, which is a tuple."""

INTO: Final = "_into"
"""What the name of the function ends in that writes into arrays of its caller."""

Step = Callable[[Stmt], Stmt]


def result_buffers(function: PrimFunc) -> tuple[Buffer, ...]:
    """The buffers of the results, which are those of the last parameters."""
    count = _leaves(json.loads(function.attrs[RETURNS]))
    first = len(function.params) - count
    return tuple(function.buffer_map[param] for param in function.params[first:])


def return_results(
    function: PrimFunc,
    values: dict[Var, Expr],
    result: Var,
    arguments: Callable[[dict[Var, Expr]], tuple[Expr, ...]],
    raw_name: GlobalVar,
) -> Stmt:
    """The call of a raw function with new arrays, which are returned.

    Args:
        function: the function, which has `RETURNS`.
        values: what its variables are in the packed function.
        result: where the packed function puts what it returns.
        arguments: gives the arguments of the raw function from `values` and the results' pointers.
        raw_name: the name of the raw function.
    """
    body = _Results(function, values, result)
    for position, buffer in enumerate(result_buffers(function)):
        body.allocate(position, buffer)
    body.attempt(Call(INT32, raw_name, arguments(body.values)))
    body.move(json.loads(function.attrs[RETURNS]), result, 0)
    return body.build()


def _leaves(structure: Any) -> int:
    return sum(map(_leaves, structure)) if isinstance(structure, list) else 1


class _Results:
    """The steps from checked arguments to a result."""

    def __init__(self, function: PrimFunc, values: dict[Var, Expr], result: Var) -> None:
        self.values = dict(values)
        self._result = abi.View(result)
        self._count = len(result_buffers(function))
        self._steps: list[Step] = []
        self._slots = self._memory("results", 2 * max(self._count, 1))
        for word in range(2 * self._count):
            self._do(self._slots.store(abi.Field(INT64, word), const(0, "int64")))

    def build(self) -> Stmt:
        """The steps, one after the other."""
        rest = abi.return_value(const(0, "int32"))
        for step in reversed(self._steps):
            rest = step(rest)
        return rest

    def allocate(self, position: int, buffer: Buffer) -> None:
        """Make the array of a result."""
        shape = self._memory(f"{buffer.name}_shape", max(buffer.ndim, 1))
        for axis, extent in enumerate(buffer.shape):
            size = cast(INT64, substitute(extent, self.values))
            self._do(shape.store(abi.Field(INT64, axis), size))
        word = IntImm(INT32, abi.dtype_word(buffer.dtype))
        slot = _slot(self._slots.pointer, position)
        self.attempt(new_array(slot, IntImm(INT32, buffer.ndim), word, shape.pointer))
        struct = abi.pointer_var(f"{buffer.name}_array")
        address = self._slots.load(abi.Field(INT64, 2 * position + 1))
        self._bind(struct, abi.as_pointer(address + const(abi.OBJECT_HEADER_SIZE, "int64")))
        data = Var(buffer.data.name, buffer.data.dtype, buffer.data.type_annotation)
        self._bind(data, abi.as_pointer(abi.View(struct).load(abi.DATA)))
        self.values[buffer.data] = data

    def attempt(self, call: Expr) -> None:
        """Give up the arrays and leave if `call` does not return 0."""
        status = Var("status", INT32)
        self._bind(status, call)
        failed = seq(
            Evaluate(release_objects(self._slots.pointer, IntImm(INT32, self._count))),
            abi.return_value(const(-1, "int32")),
        )
        self._do(IfThenElse(status != const(0, "int32"), failed))

    def move(self, structure: Any, target: Var, position: int) -> None:
        """Put an array or a new tuple into slot `position` at `target`."""
        into = abi.View(target)
        if not isinstance(structure, list):
            for word in range(2):
                source = abi.Field(INT64, 2 * structure + word)
                self._do(
                    into.store(abi.Field(INT64, 2 * position + word), self._slots.load(source))
                )
                self._do(self._slots.store(source, const(0, "int64")))
            return
        items = self._memory("items", 2 * max(len(structure), 1))
        for index, item in enumerate(structure):
            self.move(item, items.pointer, index)
        count = IntImm(INT32, len(structure))
        self.attempt(new_tuple(items.pointer, count, _slot(target, position)))

    def _memory(self, name: str, words: int) -> abi.View:
        pointer = abi.pointer_var(name)
        extents = (IntImm(INT32, words),)
        self._steps.append(lambda rest: Allocate(pointer, INT64, extents, const(True), rest))
        return abi.View(pointer)

    def _bind(self, var: Var, value: Expr) -> None:
        self._steps.append(lambda rest: LetStmt(var, value, rest))

    def _do(self, stmt: Stmt) -> None:
        self._steps.append(lambda rest: seq(stmt, rest))


def _slot(slots: Var, position: int) -> Expr:
    """The address of a slot."""
    return abi.as_pointer(abi.as_address(slots) + const(abi.ANY_SIZE * position, "int64"))
