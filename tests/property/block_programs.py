"""Random programs made of blocks, as text: chains of stages of many kinds.

All values are small whole numbers, so that sums come out the same in every order.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.property.sizes import Size

HEADER = "from tilewright.script import tir as T\n\n"

DTYPES = ("float32", "float32", "float32", "int32", "float64")
"""Of the values of a program."""

LARGEST = {"float16": 2**10, "bfloat16": 2**7, "int8": 2**6, "int16": 2**14}
"""No value is larger, so that sums are exact."""

LARGEST_FLOAT = 2**22
"""The same of the other dtypes."""


Stage = Callable[["BlockPrograms"], object]


class TooLargeError(Exception):
    """A stage would compute values that are too large; it is left out."""


@dataclass(eq=False)
class Array:
    """A buffer of the program.

    Attributes:
        bound: no element is larger.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bound: int

    def __str__(self) -> str:
        return self.name

    def at(self, *indices: str) -> str:
        """The text of an element."""
        return f"{self.name}[{', '.join(indices)}]"


class BlockPrograms:
    """Makes the text of a random function.

    Args:
        rng: where the choices come from.
        stages: adds a stage to a program.
        dtypes: of the values, of which one is chosen.
        symbolic: how often some extents are symbolic.
    """

    def __init__(
        self,
        rng: random.Random,
        stages: Sequence[Stage],
        dtypes: Sequence[str] = DTYPES,
        symbolic: float = 0.12,
    ) -> None:
        self.rng = rng
        self.stages = stages
        self.dtype = rng.choice(dtypes)
        self.inputs: list[Array] = []
        self.values: list[Array] = []
        self.lines: list[str] = []
        self.allocated: list[Array] = []
        self.number = 0
        self.symbol = Size(rng.choice((3, 6, 7)), "n") if rng.random() < symbolic else None

    def make(self, name: str = "main") -> str:
        """The text of a function called `name`."""
        rng = self.rng
        self.input(tuple(self.size() for _ in range(rng.choice((1, 2, 2, 2, 3)))))
        for _ in range(rng.randint(1, 4)):
            self._stage()
        while not self.allocated:
            self._stage()
        outputs = [self.allocated[-1]]
        if rng.random() < 0.2:
            outputs += [v for v in self.allocated[:-1] if rng.random() < 0.5]
        return "\n".join([*self._head(name, outputs), *self.lines]) + "\n"

    def _head(self, name: str, outputs: list[Array]) -> list[str]:
        params = [*self.inputs, *outputs]
        if self.symbol is None:
            signature = ", ".join(f'{p}: T.Buffer({p.shape!r}, "{p.dtype}")' for p in params)
            declared = []
        else:
            signature = ", ".join(f"{p.name.lower()}: T.handle" for p in params)
            declared = [f"    n = T.{self.rng.choice(('int32', 'int64'))}()"]
            declared += [
                f'    {p} = T.match_buffer({p.name.lower()}, {p.shape!r}, "{p.dtype}")'
                for p in params
            ]
        allocated = [
            f'    {v} = T.alloc_buffer({v.shape!r}, "{v.dtype}")'
            for v in self.allocated
            if not any(v is output for output in outputs)
        ]
        return ["@T.prim_func", f"def {name}({signature}):", *declared, *allocated]

    def _stage(self) -> None:
        with contextlib.suppress(TooLargeError):
            self.rng.choice(self.stages)(self)

    # --- buffers ----------------------------------------------------------------------------

    def size(self) -> int:
        """The extent of a dimension."""
        if self.symbol is not None and self.rng.random() < 0.5:
            return self.symbol
        return self.rng.choice((2, 3, 4, 6, 8))

    def input(self, shape: tuple[int, ...], dtype: str = "", bound: int = 3) -> Array:
        """A new parameter."""
        letter = "I" if dtype else "A"
        array = Array(f"{letter}{len(self.inputs)}", shape, dtype or self.dtype, bound)
        self.inputs.append(array)
        if not dtype:
            self.values.append(array)
        return array

    def new(self, shape: tuple[int, ...], bound: int) -> Array:
        """A new buffer for results.

        Raises:
            TooLargeError: for a bound that is too large.
        """
        if bound > LARGEST.get(self.dtype, LARGEST_FLOAT):
            raise TooLargeError
        array = Array(f"B{self.number}", shape, self.dtype, bound)
        self.number += 1
        self.allocated.append(array)
        self.values.append(array)
        return array

    def source(self, rank: int | None = None) -> Array:
        """A buffer to read."""
        fitting = [v for v in self.values if rank is None or len(v.shape) == rank]
        if not fitting:
            return self.input(tuple(self.size() for _ in range(rank or 1)))
        # The latest values most of the time, so that stages depend on each other.
        return fitting[-1] if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def const(self, value: int) -> str:
        """A number of the dtype of the program."""
        return f"T.{self.dtype}({value})"

    # --- blocks -----------------------------------------------------------------------------

    def emit(
        self,
        out: Array,
        body: list[str],
        reduce: dict[str, int] | None = None,
        order: list[str] | None = None,
        free: bool = False,
    ) -> None:
        """A block under loops: one iterator ``v0, v1, ...`` per dimension, and the reductions."""
        extents: dict[str, int] = {f"v{n}": e for n, e in enumerate(out.shape)} | (reduce or {})
        self.block(out.name, extents, body, reduced=set(reduce or ()), order=order, free=free)

    def block(
        self,
        name: str,
        extents: dict[str, int],
        body: list[str],
        *,
        reduced: set[str] = frozenset(),  # type: ignore[assignment]
        order: list[str] | None = None,
        free: bool = False,
    ) -> None:
        """A block under a loop for each iterator.

        Args:
            name: its name.
            extents: the iterators and their extents.
            body: its lines.
            reduced: the iterators that are reductions.
            order: the order of the loops.
            free: whether the iterations of the loops may run at once.
        """
        bindings = {v: v.replace("v", "i").replace("k", "r") for v in extents}
        loops = [(bindings[v], f"{extents[v]}") for v in order or extents]
        where = ""
        first = (order or [*extents])[0]
        if self.rng.random() < 0.1:
            factor = self.rng.choice((2, 3, 4))
            loop, extent = bindings[first], extents[first]
            outer = (extent + factor - 1) // factor
            loops = [(f"{loop}_0", f"{outer}"), (f"{loop}_1", f"{factor}"), *loops[1:]]
            bindings[first] = f"{loop}_0 * {factor} + {loop}_1"
            where = f"{bindings[first]} < {extent}"
        indent = "    "
        if free and not where and self.rng.random() < 0.1:
            kind = self.rng.choice(("parallel", "vectorized", "unroll"))
            self.lines.append(f"{indent}for {loops[0][0]} in T.{kind}({loops[0][1]}):")
            loops, indent = loops[1:], indent + "    "
        if loops:
            head = ", ".join(extent for _, extent in loops)
            head = f"T.grid({head})" if len(loops) > 1 else f"range({head})"
            self.lines.append(f"{indent}for {', '.join(loop for loop, _ in loops)} in {head}:")
            indent += "    "
        self.lines.append(f'{indent}with T.block("{name}"):')
        indent += "    "
        for v, value in bindings.items():
            kind = "reduce" if v in reduced else "spatial"
            self.lines.append(f"{indent}{v} = T.axis.{kind}({extents[v]}, {value})")
        if where:
            self.lines.append(f"{indent}T.where({where})")
        self.lines += [indent + line for line in body]
