"""Random functions that evaluate a few expressions: once, or for each element of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.property.expressions import DTYPES, Expressions, Options
from tests.property.programs import HANDLE, INT32, Program
from tests.property.values import random_scalar, random_values

from tilewright.ir import DType, Expr, Ramp, Var, const
from tilewright.tir import Buffer, BufferStore, For, ForKind, PrimFunc, Stmt, decl_buffer, seq

EXTENTS = (1, 3, 8, 13, 16, 37)
LANES = (1, 1, 1, 2, 3, 4, 8, 16)
KINDS = (ForKind.SERIAL, ForKind.SERIAL, ForKind.VECTORIZED, ForKind.PARALLEL)


@st.composite
def kernels(draw: Any, expressions: int = 4) -> Program:
    """A strategy for functions that store `expressions` expressions of any dtypes."""
    return _Builder(draw).build(expressions)


class _Builder:
    """Draws one function, and gives its expressions their operands."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lanes = self._choose(*LANES)
        self.extent = self._choose(*EXTENTS)
        self.position = Var("i", INT32) if draw(st.booleans()) else None
        self.exact = self._number(0, 4) == 0
        self.scalars: list[Var] = []
        self.inputs: list[Buffer] = []

    def _choose(self, *items: Any) -> Any:
        return self.draw(st.sampled_from(items))

    def _number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def build(self, expressions: int) -> Program:
        """The function."""
        options = Options(exact=self.exact, raw=self.draw(st.booleans()))
        outputs, stores = [], []
        for number in range(expressions):
            dtype = DType(self._choose(*DTYPES))
            output = decl_buffer((self.extent * self.lanes,), dtype, f"out{number}")
            value = Expressions(self.draw, self, options).make(
                dtype.with_lanes(self.lanes), self._number(2, 4)
            )
            outputs.append(output)
            stores.append(BufferStore(output, value, (self._place(0, 1, self.lanes),)))
        body: Stmt = seq(*stores)
        if self.position is not None:
            zero, extent = const(0), const(self.extent)
            body = For(self.position, zero, extent, self._choose(*KINDS), body)
        buffers = (*self.inputs, *outputs)
        handles = [Var(f"{buffer.name}_handle", HANDLE) for buffer in buffers]
        func = PrimFunc(
            (*self.scalars, *handles),
            body,
            None,
            dict(zip(handles, buffers, strict=True)),
            {"global_symbol": "main", "tir.noalias": const(True)},
        )
        return self._program(func, tuple(outputs), self._number(0, 2**32))

    def _program(self, func: PrimFunc, outputs: tuple[Buffer, ...], seed: int) -> Program:
        def make() -> list[Any]:
            rng, arguments = np.random.default_rng(seed), []
            for scalar in self.scalars:
                value = random_scalar(rng, scalar.dtype, self.exact)
                # What is passed as an integer has 64 bits with a sign.
                arguments.append(value % 2**63 if scalar.dtype == "uint64" else value)
            for buffer in self.inputs:
                shape = (int(buffer.shape[0]),)
                arguments.append(random_values(rng, buffer.dtype, shape, self.exact))
            return arguments + [np.zeros(int(o.shape[0]), o.dtype.numpy) for o in outputs]

        return Program(func, make)

    # --- operands -------------------------------------------------------------------------------

    def __call__(self, dtype: DType) -> Expr:
        """A parameter, or elements of an array."""
        if self.position is None and not dtype.is_vector and self._number(0, 2) == 0:
            same = [var for var in self.scalars if var.dtype is dtype]
            if not same or self._number(0, 1) == 0:
                self.scalars.append(Var(f"s{len(self.scalars)}", dtype))
                return self.scalars[-1]
            return self._choose(*same)
        stride = self._choose(1, 1, 1, 2, -1) if dtype.is_vector else self._choose(1, 1, 2)
        first = self._number(0, 3) + (dtype.lanes if stride < 0 else 0)
        return self._input(dtype.element)[self._place(first, stride, dtype.lanes)]

    def _input(self, dtype: DType) -> Buffer:
        same = [buffer for buffer in self.inputs if buffer.dtype is dtype]
        if same and self._number(0, 2):
            return self._choose(*same)
        size = 2 * self.extent * self.lanes + 2 * self.lanes + 8
        self.inputs.append(decl_buffer((size,), dtype, f"in{len(self.inputs)}"))
        return self.inputs[-1]

    def _place(self, first: int, stride: int, lanes: int) -> Expr:
        """The indices `first`, `first + stride`, ... of the iteration."""
        start: Expr = const(first)
        if self.position is not None:
            start = self.position * (lanes if lanes > 1 else stride) + first
        return Ramp(start, const(stride), lanes) if lanes > 1 else start
