"""Random modules of graph functions, with arguments to call them with.

A graph has arrays of symbolic sizes, tuples, branches, casts, calls of tensor programs and of other
graph functions, dataflow blocks and several results. Its numbers stay near zero, so that two ways
to compute them agree nearly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from tilewright import relax, te
from tilewright.ir import Var as Size
from tilewright.ir.structural import structural_equal
from tilewright.relax import op


class Graph(NamedTuple):
    """A module whose function ``main`` can be called.

    Attributes:
        module: the module.
        inputs: numpy arrays, and tuples of them, for the parameters.
        sizes: the values of the symbolic sizes, by name.
    """

    module: Any
    inputs: list[Any]
    sizes: dict[str, int]

    def __repr__(self) -> str:
        return f"{self.module.script()}\n# with {self.sizes}"


UNARY = (op.tanh, op.negative, op.abs, op.sigmoid, op.sin)
BINARY = (op.add, op.subtract, op.multiply, op.maximum, op.minimum)
COMPARE = (op.less, op.greater_equal)


def graphs(most_steps: int = 10) -> st.SearchStrategy[Graph]:
    """A strategy of graphs."""
    return st.randoms(use_true_random=False).map(lambda rng: random_graph(rng, most_steps))


def random_graph(rng: random.Random, most_steps: int = 10) -> Graph:
    """A graph of at most about `most_steps` operations."""
    return _Maker(rng, most_steps).graph()


class _Maker:
    def __init__(self, rng: random.Random, most_steps: int) -> None:
        self.rng, self.left, self.most_steps = rng, 0, most_steps
        self.builder = relax.BlockBuilder()
        self.values = {name: rng.choice((0, 1, 2, 3, 5)) for name in "nm"}
        self.sizes = {name: Size(name, "int64") for name in "nm"}
        self.callees: list[tuple[Any, list[Any]]] = []

    def graph(self) -> Graph:
        for name in ("helper", "second")[: self.rng.choice((0, 0, 1, 2))]:
            self.function(name, private=True)
        params = self.function("main", private=False)
        inputs = [self.input(param.struct_info) for param in params]
        return Graph(self.builder.get(), inputs, self.values)

    # --- functions --------------------------------------------------------------------------

    def function(self, name: str, private: bool) -> list[relax.Var]:
        count, self.left = self.rng.randint(1, 3), self.rng.randint(1, self.most_steps)
        # The first arrays define the sizes, so that all of them are known everywhere.
        infos: list[Any] = [self.array("n", "m"), *(self.info() for _ in range(count - 1))]
        params = [relax.Var(f"{name[0]}{i}", info) for i, info in enumerate(infos)]
        with self.builder.function(name, params, private=private):
            scope = list(params)
            for _ in range(self.rng.randint(1, 3)):
                self.block(scope, depth=0)
            var = self.builder.emit_func_output(self.result(scope))
        if private:
            self.callees.append((var, infos))
        return params

    def result(self, scope: list[Any]) -> Any:
        if self.rng.random() < 0.5:
            return scope[-1]
        return relax.Tuple([self.rng.choice(scope) for _ in range(self.rng.randint(1, 3))])

    def block(self, scope: list[Any], depth: int) -> None:
        """Some steps, perhaps in a dataflow block, of which a few results can be used later."""
        steps = self.rng.randint(1, 4)
        if self.rng.random() < 0.4:
            for _ in range(steps):
                self.step(scope, depth)
            return
        inside = list(scope)
        with self.builder.dataflow():
            for _ in range(steps):
                self.step(inside, depth=2)
            scope.extend([self.builder.emit_output(v) for v in inside[len(scope) :][-2:]])
            if self.rng.random() < 0.3:
                scope.append(self.builder.emit_output(self.rng.choice(scope)))

    # --- steps ------------------------------------------------------------------------------

    def step(self, scope: list[Any], depth: int) -> None:
        """Bind one more value, if the chosen kind of step fits."""
        if self.left <= 0:
            return
        self.left -= 1
        kinds: list[Callable[[list[Any]], Any]] = [
            self.unary, self.unary, self.binary, self.binary, self.with_constant, self.converted,
            self.tuple, self.field, self.cast, self.kernel, self.alias, self.again,
            self.constant, self.filled, self.selected, self.transposed, self.reshaped,
            self.reduced, self.product, self.joined, self.halves, self.normalised,
        ]  # fmt: skip
        if depth == 0:
            kinds += [lambda scope: self.branch(scope, depth)] * 2
        if self.callees:
            kinds += [self.call_function] * 3
        value = self.rng.choice(kinds)(scope)
        if value is not None:
            scope.append(self.builder.emit(value))

    def unary(self, scope: list[Any]) -> Any:
        x = self.pick(scope, is_float)
        return None if x is None else self.rng.choice(UNARY)(x)

    def binary(self, scope: list[Any]) -> Any:
        x = self.pick(scope, is_float)
        y = None if x is None else self.pick(scope, lambda v: is_float(v) and fits(v, x))
        return None if y is None else self.rng.choice(BINARY)(x, y)

    def selected(self, scope: list[Any]) -> Any:
        x = self.pick(scope, is_float)
        y = None if x is None else self.pick(scope, lambda v: is_float(v) and fits(v, x))
        if y is None:
            return None
        chosen = op.astype(self.rng.choice(COMPARE)(x, y), "float32")
        return op.multiply(chosen, x)

    def with_constant(self, scope: list[Any]) -> Any:
        x = self.pick(scope, is_float)
        if x is None:
            return None
        last = x.struct_info.extents[-1:]
        shape = [getattr(extent, "value", 1) for extent in last]
        return self.rng.choice(BINARY)(x, relax.const(self.numbers(shape)))

    def converted(self, scope: list[Any]) -> Any:
        x = self.pick(scope, is_float)
        dtype = self.rng.choice(("float64", "int32", "float32"))
        if x is None:
            return None
        return op.astype(op.astype(op.multiply(x, relax.const(4.0)), dtype), "float32")

    def transposed(self, scope: list[Any]) -> Any:
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim > 1)
        if x is None:
            return None
        axes = list(range(x.struct_info.ndim))
        self.rng.shuffle(axes)
        return op.permute_dims(x, axes)

    def reshaped(self, scope: list[Any]) -> Any:
        """The elements in one dimension, or with one more that has one element."""
        x = self.pick(scope, is_float)
        if x is None:
            return None
        if self.rng.random() < 0.5:
            return op.flatten(x)
        return op.expand_dims(x, self.rng.randint(0, x.struct_info.ndim))

    def reduced(self, scope: list[Any]) -> Any:
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim > 0)
        if x is None:
            return None
        axis = self.rng.randrange(x.struct_info.ndim)
        return op.sigmoid(op.sum(x, axis, keepdims=self.rng.random() < 0.5))

    def product(self, scope: list[Any]) -> Any:
        """A product with a constant, or with the transpose of a matrix."""
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim > 1)
        if x is None:
            return None
        depth = getattr(x.struct_info.extents[-1], "value", None)
        if depth is not None:
            other: Any = relax.const(self.numbers((depth, self.rng.randint(1, 3))))
        else:
            axes = list(range(x.struct_info.ndim))
            axes[-2:] = axes[:-3:-1]
            other = op.permute_dims(self.rng.choice((x, self.emitted(op.tanh(x)))), axes)
        return op.tanh(op.matmul(x, other))

    def emitted(self, value: Any) -> Any:
        return self.builder.emit(value)

    def joined(self, scope: list[Any]) -> Any:
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim > 0)
        if x is None:
            return None
        y = self.pick(scope, lambda v: is_float(v) and same_info(v.struct_info, x.struct_info))
        axes = list(range(x.struct_info.ndim))
        self.rng.shuffle(axes)
        parts = [x, y] if self.rng.random() < 0.5 else [op.permute_dims(v, axes) for v in (x, y)]
        return op.concat(parts, axis=self.rng.randrange(len(axes)))

    def halves(self, scope: list[Any]) -> Any:
        x = self.pick(scope, lambda v: is_float(v) and static_even(v))
        return None if x is None else op.split(x, 2, static_even(x)[0])

    def normalised(self, scope: list[Any]) -> Any:
        """A normalisation, perhaps of the result of a convolution of constants."""
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim > 1)
        if x is None:
            return None
        channels = getattr(x.struct_info.extents[1], "value", None)
        # A window does not fit into an empty array, which one of symbolic size may be.
        fits = getattr(x.struct_info.extents[-1], "value", 0) > 0
        if x.struct_info.ndim == 3 and channels is not None and fits:
            kernel = relax.const(self.numbers((2, channels, 1)))
            x, channels = self.emitted(op.nn.conv1d(x, kernel)), 2
        if channels is None:
            return None
        params = [relax.const(np.abs(self.numbers((channels,))) + 0.5) for _ in range(4)]
        result = self.emitted(op.nn.batch_norm(x, *params))
        return op.tanh(relax.TupleGetItem(result, 0))

    def constant(self, scope: list[Any]) -> Any:
        shape = self.rng.choice(((), (3,), (2, 3)))
        return self.rng.choice(UNARY)(relax.const(self.numbers(shape)))

    def filled(self, scope: list[Any]) -> Any:
        return op.full(self.shape(), relax.const(self.rng.randint(-2, 2) / 2), "float32")

    def alias(self, scope: list[Any]) -> Any:
        return self.rng.choice(scope)

    def again(self, scope: list[Any]) -> Any:
        """An expression that is the same as one before."""
        value = self.builder.lookup_binding(self.rng.choice(scope))
        return value.replace(struct_info=None) if isinstance(value, relax.Call) else None

    def tuple(self, scope: list[Any]) -> Any:
        fields = [self.rng.choice(scope) for _ in range(self.rng.randint(1, 3))]
        return relax.Tuple(fields)

    def field(self, scope: list[Any]) -> Any:
        x = self.pick(scope, lambda v: isinstance(v.struct_info, relax.TupleStructInfo))
        if x is None or not x.struct_info.fields:
            return None
        return relax.TupleGetItem(x, self.rng.randrange(len(x.struct_info.fields)))

    def cast(self, scope: list[Any]) -> Any:
        """Give the extents names, which other values have, too."""
        x = self.pick(scope, is_float)
        if x is None:
            return None
        extents = x.struct_info.extents
        named = [Size(f"s{i}", "int64") if self.rng.random() < 0.5 else e
                 for i, e in enumerate(extents)]  # fmt: skip
        return self.builder.match_cast(x, relax.TensorStructInfo(named, "float32"))

    def kernel(self, scope: list[Any]) -> Any:
        """A tensor program, which uses a size as a number, too."""
        x = self.pick(scope, is_float)
        if x is None:
            return None
        extents = x.struct_info.extents
        size = self.rng.choice((*extents, self.sizes["n"]))

        def scaled(data: Any, number: Any) -> Any:
            factor = (number % 3).astype("float32") * 0.5
            return te.compute(data.shape, lambda *i: data(*i) * factor)

        return self.builder.call_te(scaled, x, size, primfunc_name_hint="scaled")

    def call_function(self, scope: list[Any]) -> Any:
        function, infos = self.rng.choice(self.callees)
        result = self.builder.emit(relax.Call(function, [self.value(scope, i) for i in infos]))
        fields = getattr(result.struct_info, "fields", ())
        if not fields or self.rng.random() < 0.3:
            return result
        return relax.TupleGetItem(result, self.rng.randrange(len(fields)))

    def branch(self, scope: list[Any], depth: int) -> Any:
        x = self.pick(scope, lambda v: is_float(v) and v.struct_info.ndim == 0)
        y = self.pick(scope, is_float)
        if y is None:
            return None
        probe = relax.const(np.float32(self.rng.uniform(-1, 1))) if x is None else x
        cond = self.builder.emit(op.less(probe, relax.const(0.1)))
        sides = []
        for _ in "ab":
            self.builder.begin_scope()
            inner = list(scope)
            for _ in range(self.rng.randint(0, 2)):
                self.step(inner, depth + 1)
            last = self.pick(inner[len(scope) :], lambda v: same_info(v.struct_info, y.struct_info))
            result = self.rng.choice(UNARY)(y) if last is None else last
            value = self.builder.normalize_argument(result)
            sides.append(relax.SeqExpr(self.builder.end_scope(), value, value.struct_info))
        return relax.If(cond, *sides)

    # --- parts ------------------------------------------------------------------------------

    def pick(self, scope: Sequence[Any], wanted: Callable[[Any], bool]) -> Any:
        found = [value for value in scope if wanted(value)]
        return self.rng.choice(found) if found else None

    def value(self, scope: Sequence[Any], info: Any) -> Any:
        """A value with that struct info, from the scope or a new one."""
        found = self.pick(scope, lambda value: same_info(value.struct_info, info))
        if found is not None and self.rng.random() < 0.8:
            return found
        if isinstance(info, relax.TupleStructInfo):
            return relax.Tuple([self.value(scope, field) for field in info.fields])
        return op.full(info.shape, relax.const(self.rng.randint(-2, 2) / 2), "float32")

    def shape(self) -> list[Any]:
        n, m = self.sizes["n"], self.sizes["m"]
        return list(
            self.rng.choice(((n, m), (n, 3), (3,), (m,), (), (n + 1, m), (n, m, 2), (n, 2, 4)))
        )

    def info(self) -> Any:
        if self.rng.random() < 0.15:
            fields = [self.info() for _ in range(self.rng.randint(1, 2))]
            return relax.TupleStructInfo(fields)
        return relax.TensorStructInfo(self.shape(), "float32")

    def array(self, *names: str) -> Any:
        return relax.TensorStructInfo([self.sizes[name] for name in names], "float32")

    def input(self, info: Any) -> Any:
        if isinstance(info, relax.TupleStructInfo):
            return tuple(self.input(field) for field in info.fields)
        return self.numbers([self.value_of(extent) for extent in info.extents])

    def value_of(self, extent: Any) -> int:
        from tilewright.arith import Analyzer
        from tilewright.ir import const
        from tilewright.tir.substitute import substitute

        known = {self.sizes[name]: const(value, "int64") for name, value in self.values.items()}
        return Analyzer().simplify(substitute(extent, known)).value

    def numbers(self, shape: Sequence[int]) -> np.ndarray:
        seed = self.rng.randint(0, 99)
        return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def is_float(value: Any) -> bool:
    """Whether a value is an array of float32 whose extents are known."""
    info = value.struct_info
    return (
        isinstance(info, relax.TensorStructInfo)
        and info.dtype is not None
        and str(info.dtype) == "float32"
        and info.extents is not None
    )


def static_even(value: Any) -> list[int]:
    """The dimensions of an array of which the extents are even numbers."""
    extents = [getattr(extent, "value", 1) for extent in value.struct_info.extents]
    return [axis for axis, extent in enumerate(extents) if extent % 2 == 0]


def fits(one: Any, other: Any) -> bool:
    """Whether two arrays can be added: they have equal extents, or one has no dimensions."""
    a, b = one.struct_info, other.struct_info
    return 0 in (a.ndim, b.ndim) or same_info(a, b)


def same_info(a: Any, b: Any) -> bool:
    """Whether two pieces of struct info are the same."""
    return structural_equal(a, b)
