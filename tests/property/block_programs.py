"""Random programs made of blocks, as text: chains of stages of many kinds.

All values are small whole numbers, so that sums come out the same in every order.
"""

from __future__ import annotations

import random
from typing import NamedTuple

HEADER = "from tilewright.script import tir as T\n\n"


class Array(NamedTuple):
    """A buffer of the program."""

    name: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


class BlockPrograms:
    """Makes the text of random functions.

    Args:
        rng: where the choices come from.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.inputs: list[Array] = []
        self.values: list[Array] = []
        self.lines: list[str] = []
        self.allocated: list[Array] = []
        self.number = 0

    def make(self) -> str:
        """The text of one function."""
        rng = self.rng
        rank = rng.choice((1, 2, 2, 2, 3))
        self.inputs = [Array("A", tuple(rng.choice((2, 3, 4, 6, 8)) for _ in range(rank)))]
        self.values = list(self.inputs)
        for _ in range(rng.randint(1, 4)):
            self._stage()
        outputs = [value for value in self.allocated if value is self.allocated[-1]]
        if rng.random() < 0.2:
            outputs += [v for v in self.allocated[:-1] if rng.random() < 0.5]
        names = {value.name for value in outputs}
        params = [*self.inputs, *outputs]
        signature = ", ".join(
            f'{p.name}: T.Buffer({p.shape!r}, "{"int32" if p.name.startswith("I") else "float32"}")'
            for p in params
        )
        allocs = [
            f"    {v.name} = T.alloc_buffer({v.shape!r})"
            for v in self.allocated
            if v.name not in names
        ]
        lines = ["@T.prim_func", f"def main({signature}):", *allocs, *self.lines]
        return "\n".join(lines) + "\n"

    # --- stages -----------------------------------------------------------------------------

    def _stage(self) -> None:
        kinds = (
            self._pointwise, self._pointwise, self._pointwise, self._stencil, self._reduction,
            self._reduction, self._matmul, self._padding, self._strided, self._scan, self._gather,
            self._update, self._halves, self._nested,
        )  # fmt: skip
        self.rng.choice(kinds)()

    def _new(self, shape: tuple[int, ...]) -> Array:
        array = Array(f"B{self.number}", shape)
        self.number += 1
        self.allocated.append(array)
        self.values.append(array)
        return array

    def _source(self, rank: int | None = None) -> Array:
        fitting = [v for v in self.values if rank is None or len(v.shape) == rank]
        if not fitting:
            shape = tuple(self.rng.choice((2, 3, 4, 6)) for _ in range(rank or 1))
            array = Array(f"A{len(self.inputs)}", shape)
            self.inputs.append(array)
            self.values.append(array)
            return array
        # The latest values most of the time, so that stages depend on each other.
        return fitting[-1] if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def _emit(
        self,
        out: Array,
        body: list[str],
        reduce: dict[str, int] | None = None,
        where: str = "",
        order: list[str] | None = None,
    ) -> None:
        """A block under loops: one iterator ``v0, v1, ...`` per dimension, and the reductions."""
        extents = {f"v{n}": e for n, e in enumerate(out.shape)} | (reduce or {})
        names = order or list(extents)
        self._loops(out.name, extents, names, set(reduce or ()), body, where)

    def _loops(
        self,
        name: str,
        extents: dict[str, int],
        order: list[str],
        reduced: set[str],
        body: list[str],
        where: str = "",
    ) -> None:
        loops = [v.replace("v", "i").replace("k", "r") for v in order]
        sizes = ", ".join(str(extents[v]) for v in order)
        head = f"T.grid({sizes})" if len(order) > 1 else f"range({sizes})"
        self.lines.append(f"    for {', '.join(loops)} in {head}:")
        self.lines.append(f'        with T.block("{name}"):')
        for v in extents:
            kind = "reduce" if v in reduced else "spatial"
            loop = v.replace("v", "i").replace("k", "r")
            self.lines.append(f"            {v} = T.axis.{kind}({extents[v]}, {loop})")
        if where:
            self.lines.append(f"            T.where({where})")
        self.lines += [f"            {line}" for line in body]

    @staticmethod
    def _at(array: Array, indices: list[str]) -> str:
        return f"{array.name}[{', '.join(indices)}]"

    def _aligned(self, array: Array, shape: tuple[int, ...]) -> str:
        """An access of `array` at the iterators of a result of `shape`, wrapped where too small."""
        rank = len(shape)
        indices = []
        for axis, extent in enumerate(array.shape):
            choice = axis if axis < rank else rank - 1
            if self.rng.random() < 0.2:
                choice = self.rng.randrange(rank)
            name = f"v{choice}"
            indices.append(name if shape[choice] <= extent else f"{name} % {extent}")
        return self._at(array, indices)

    def _pointwise(self) -> None:
        source, other = self._source(), self._source()
        out = self._new(source.shape)
        a = self._at(source, [f"v{n}" for n in range(len(out.shape))])
        b = self._aligned(other, out.shape)
        value = self.rng.choice(
            (f"{a} + {b}", f"{a} * T.float32(2) - {b}", f"T.max({a}, {b})", f"{a} + T.float32(1)")
        )
        order = [f"v{n}" for n in range(len(out.shape))]
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        self._emit(out, [f"{self._at(out, [f'v{n}' for n in range(len(out.shape))])} = {value}"],
                   order=order)  # fmt: skip

    def _stencil(self) -> None:
        source = self._source()
        width = self.rng.choice((2, 3))
        if source.shape[0] <= width:
            self._pointwise()
            return
        out = self._new((source.shape[0] - width + 1, *source.shape[1:]))
        rest = [f"v{n}" for n in range(1, len(out.shape))]
        terms = [self._at(source, [f"v0 + {w}" if w else "v0", *rest]) for w in range(width)]
        self._emit(out, [f"{self._at(out, ['v0', *rest])} = {' + '.join(terms)}"])

    def _reduction(self) -> None:
        source = self._source()
        if len(source.shape) < 2:
            out = self._new((1,))
            access, reduce = self._at(source, ["k0"]), {"k0": source.shape[0]}
        else:
            axis = self.rng.randrange(len(source.shape))
            kept = [n for n in range(len(source.shape)) if n != axis]
            out = self._new(tuple(source.shape[n] for n in kept))
            names = {n: f"v{place}" for place, n in enumerate(kept)} | {axis: "k0"}
            access = self._at(source, [names[n] for n in range(len(source.shape))])
            reduce = {"k0": source.shape[axis]}
        target = self._at(out, [f"v{n}" for n in range(len(out.shape))])
        start, update = self.rng.choice(
            (("0", f"{target} + {access}"), ("-99", f"T.max({target}, {access})"),
             ("5", f"{target} + {access}"))
        )  # fmt: skip
        order = [f"v{n}" for n in range(len(out.shape))] + ["k0"]
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        body = ["with T.init():", f"    {target} = T.float32({start})", f"{target} = {update}"]
        self._emit(out, body, reduce, order=order)

    def _matmul(self) -> None:
        a, b = self._source(2), self._source(2)
        m, k, n = a.shape[0], min(a.shape[1], b.shape[0]), b.shape[1]
        out = self._new((m, n))
        body = [
            "with T.init():",
            f"    {out}[v0, v1] = T.float32(0)",
            f"{out}[v0, v1] = {out}[v0, v1] + {a}[v0, k0] * {b}[k0, v1]",
        ]
        self._emit(out, body, {"k0": k})

    def _padding(self) -> None:
        source = self._source()
        out = self._new((source.shape[0] + 2, *source.shape[1:]))
        rest = [f"v{n}" for n in range(1, len(out.shape))]
        inner = self._at(source, ["v0 - 1", *rest])
        condition = f"1 <= v0 and v0 < {source.shape[0] + 1}"
        value = f"T.if_then_else({condition}, {inner}, T.float32(0))"
        self._emit(out, [f"{self._at(out, ['v0', *rest])} = {value}"])

    def _strided(self) -> None:
        source = self._source()
        extent = (source.shape[0] + 1) // 2
        out = self._new((extent, *source.shape[1:]))
        rest = [f"v{n}" for n in range(1, len(out.shape))]
        self._emit(out, [f"{self._at(out, ['v0', *rest])} = {self._at(source, ['v0 * 2', *rest])}"])

    def _scan(self) -> None:
        source = self._source()
        out = self._new(source.shape)
        rest = [f"v{n}" for n in range(1, len(out.shape))]
        here, before = self._at(out, ["v0", *rest]), self._at(out, ["v0 - 1", *rest])
        value = self._at(source, ["v0", *rest])
        body = [
            "if v0 == 0:",
            f"    {here} = {value}",
            "else:",
            f"    {here} = {before} + {value}",
        ]
        self._emit(out, body)

    def _gather(self) -> None:
        source = self._source(1)
        extent = self.rng.choice((2, 3, 5))
        index = Array(f"I{len(self.inputs)}", (extent,))
        self.inputs.append(index)
        out = self._new((extent,))
        self._emit(
            out, [f"{out}[v0] = {source}[T.max(0, T.min({index}[v0], {source.shape[0] - 1}))]"]
        )

    def _update(self) -> None:
        if not self.allocated:
            self._pointwise()
            return
        out = self.rng.choice(self.allocated)
        target = self._at(out, [f"v{n}" for n in range(len(out.shape))])
        body = [f"{target} = {target} * T.float32(2) + T.float32(1)"]
        extents = {f"v{n}": e for n, e in enumerate(out.shape)}
        self.number += 1
        self._loops(f"U{self.number}", extents, list(extents), set(), body)

    def _halves(self) -> None:
        source = self._source()
        out = self._new(source.shape)
        rest = [f"v{n}" for n in range(1, len(out.shape))]
        middle = source.shape[0] // 2
        for name, low, high, plus in (("lo", 0, middle, 1), ("hi", middle, out.shape[0], 2)):
            if high == low:
                continue
            extents = {f"v{n}": e for n, e in enumerate(out.shape)} | {"v0": high - low}
            place = f"v0 + {low}" if low else "v0"
            body = [
                f"{self._at(out, [place, *rest])} = {self._at(source, [place, *rest])} + "
                f"T.float32({plus})"
            ]
            self._loops(f"{out}_{name}", extents, list(extents), set(), body)

    def _nested(self) -> None:
        """Two stages under one loop: the second reads what the same iteration of the first made."""
        source = self._source(2)
        m, n = source.shape
        first, second = self._new((m, n)), self._new((m, n))
        self.lines += [
            f"    for i0 in range({m}):",
            f"        for i1 in range({n}):",
            f'            with T.block("{first}"):',
            f"                v0 = T.axis.spatial({m}, i0)",
            f"                v1 = T.axis.spatial({n}, i1)",
            f"                {first}[v0, v1] = {source}[v0, v1] + T.float32(3)",
            f"        for i1 in range({n}):",
            f'            with T.block("{second}"):',
            f"                v0 = T.axis.spatial({m}, i0)",
            f"                v1 = T.axis.spatial({n}, i1)",
            f"                {second}[v0, v1] = {first}[v0, {n - 1} - v1] * T.float32(2)",
        ]
