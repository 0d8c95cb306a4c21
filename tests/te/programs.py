"""Programs of tensor expressions with their meaning in numpy, and random schedules for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import tilewright.te as te
from tilewright.error import TEScheduleError


@dataclass
class Program:
    """Tensors, arrays for the inputs, and what the outputs must be."""

    inputs: dict
    outputs: list
    expected: list

    @property
    def args(self):
        """The parameters."""
        return [*self.inputs, *self.outputs]


def random_array(shape, seed=0):
    """Small whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("float32")


def _sum(x, k):
    return lambda i, j: te.sum(x(i, j, k), axis=k)


def _max(x, k):
    return lambda i, j: te.max(x(i, j, k), axis=k)


def _odd_terms(x, k):
    return lambda i, j: te.sum(x(i, j, k), axis=k, where=k.var % 2 > 0)


def _sum_from_first(x, k):
    return lambda i, j: te.sum(x(i, j, k), axis=k, init=x(i, j, 0))


REDUCTIONS = {
    "sum": (_sum, lambda p, begin: p[:, begin:].sum(1)),
    "max": (_max, lambda p, begin: p[:, begin:].max(1, initial=-np.inf)),
    "odd terms": (_odd_terms, lambda p, begin: p[:, begin | 1 :: 2].sum(1)),
    "sum from the first": (_sum_from_first, lambda p, begin: p[:, begin:].sum(1) + p[:, 0]),
}


@st.composite
def chains(draw):
    """A reduction of products followed by elementwise and permuting steps."""
    names = [name if draw(st.booleans()) else None for name in ("rows", "columns", "depth")]
    # What is constant is positive; what is only known at the call may be 0.
    m, n, k = (draw(st.integers(1 if name is None else 0, 6)) for name in names)
    rows, columns, depth = (
        size if name is None else te.var(name) for name, size in zip(names, (m, n, k), strict=True)
    )
    kinds = sorted(REDUCTIONS if k else REDUCTIONS.keys() - {"sum from the first"})
    begin = draw(st.integers(0, max(k - 1, 0)))
    a, b = te.placeholder((rows, depth), name="A"), te.placeholder((depth, columns), name="B")
    axis = te.reduce_axis((begin, depth), "k")
    formula, meaning = REDUCTIONS[draw(st.sampled_from(kinds))]
    shape = (rows, columns)
    tensor = te.compute(shape, formula(lambda i, j, k: a[i, k] * b[k, j], axis), name="C")
    inputs = {a: random_array((m, k), 1), b: random_array((k, n), 2)}
    value = meaning(inputs[a][:, :, None] * inputs[b][None], begin)
    for position in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["scale", "reverse", "shift", "twice"]))
        tensor, value = _step(kind, tensor, value, f"S{position}")
    return Program(inputs, [tensor], [value.astype("float32")])


def _step(kind, x, value, name):
    rows, n = x.shape
    last = n - 1
    formulas = {
        "scale": (lambda i, j: x[i, j] * 2.0, value * 2),
        "reverse": (lambda i, j: x[i, last - j], value[:, ::-1]),
        "shift": (
            lambda i, j: te.if_then_else(j > 0, x[i, te.max(j - 1, 0)], 0.5),
            np.concatenate([np.full_like(value[:, :1], 0.5), value[:, :-1]], axis=1),
        ),
        "twice": (lambda i, j: x[i, j] + x[i, last - j], value + value[:, ::-1]),
    }
    formula, expected = formulas[kind]
    return te.compute((rows, n), formula, name=name), expected


@st.composite
def schedules(draw, tensors):
    """A schedule for `tensors` with random primitives; refused ones leave it as it was."""
    schedule = te.create_schedule([tensor.op for tensor in tensors])
    for stage in list(schedule.stages):
        _rewrite(draw, schedule, stage)
    for stage in reversed(schedule.stages):
        if isinstance(stage.op, te.ComputeOp):
            for _ in range(draw(st.integers(0, 5))):
                _transform(draw, stage)
            _place(draw, schedule, stage)
    return schedule


def _rewrite(draw, schedule, stage):
    """Read, compute or reduce a tensor by way of another one, if that is possible."""
    primitive = draw(st.sampled_from(["none", "none", "layout", "read", "write", "rfactor"]))
    tensor = stage.op.output(0)
    if primitive in ("write", "rfactor") and not stage.leaf_iter_vars:
        return
    try:
        if primitive == "layout" and len(stage.op.output(0).shape) == 2:
            if not stage.is_output and isinstance(stage.op, te.ComputeOp):
                stage.transform_layout(lambda i, j: [j // 3, i, j % 3])
        elif primitive == "read":
            readers = [s.op for s in schedule.stages if tensor in s.op.input_tensors]
            schedule.cache_read(tensor, "local", readers[: draw(st.integers(0, 2))])
        elif primitive == "write":
            for _ in range(draw(st.integers(0, 2))):
                _transform(draw, stage)
            schedule.cache_write(tensor, "local")
        elif primitive == "rfactor":
            for _ in range(draw(st.integers(0, 2))):
                _transform(draw, stage)
            schedule.rfactor(tensor, stage.leaf_iter_vars[-1], draw(st.integers(0, 2)))
    except TEScheduleError:
        return


def _place(draw, schedule, stage):
    """Compute `stage` inside of one that reads it, or inline, if that is possible."""
    where = draw(st.sampled_from(["root", "inline", "at"]))
    readers = [other for other in schedule.stages if stage.op in (t.op for t in _read(other))]
    try:
        if where == "inline":
            stage.compute_inline()
        elif where == "at" and readers:
            reader = draw(st.sampled_from(readers))
            stage.compute_at(reader, draw(st.sampled_from(reader.leaf_iter_vars)))
    except TEScheduleError:
        return


def _read(stage):
    return stage.op.input_tensors


def _transform(draw, stage):
    leaves = list(stage.leaf_iter_vars)
    if not leaves:
        return
    leaf = draw(st.sampled_from(leaves))
    primitive = draw(st.sampled_from(["factor", "nparts", "fuse", "reorder", "kind", "bind"]))
    try:
        if primitive in ("factor", "nparts"):
            stage.split(leaf, **{primitive: draw(st.integers(1, 5))})
        elif primitive == "fuse":
            stage.fuse(leaf, draw(st.sampled_from(leaves)))
        elif primitive == "bind":
            tag = draw(st.sampled_from(["blockIdx.x", "threadIdx.x", "threadIdx.y"]))
            stage.bind(leaf, te.thread_axis(tag))
        elif primitive == "reorder":
            stage.reorder(*draw(st.permutations(leaves)))
        else:
            getattr(stage, draw(st.sampled_from(["vectorize", "unroll", "parallel"])))(leaf)
    except TEScheduleError:
        return


def running_sums():
    """A scan with an intermediate tensor in its body, and a reader of the result."""
    x, state = te.placeholder((5, 3), name="X"), te.placeholder((5, 3), name="S")
    twice = te.compute((5, 3), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((5, 3), lambda t, i: twice[t, i] + x[t, 2 - i], name="update")
    first = te.compute((1, 3), lambda _, i: x[0, i], name="first")
    scan = te.scan(first, update, state, inputs=[x], name="steps")
    out = te.compute((5, 3), lambda t, i: scan[t, i] + 1.0, name="out")
    value = random_array((5, 3))
    expected = value.copy()
    for t in range(1, 5):
        expected[t] = expected[t - 1] * 2 + value[t, ::-1]
    return Program({x: value}, [out], [expected + 1])


def two_states():
    """A scan with two states that read each other."""
    p, q = te.placeholder((6,), "int32", "P"), te.placeholder((6,), "int32", "Q")
    one, two = te.compute((1,), lambda _: te.const(1)), te.compute((1,), lambda _: te.const(2))
    next_p = te.compute((6,), lambda t: q[t - 1])
    next_q = te.compute((6,), lambda t: p[t - 1] + q[t - 1])
    outputs = te.scan([one, two], [next_p, next_q], [p, q])
    expected = [np.array(v, "int32") for v in ([1, 2, 3, 5, 8, 13], [2, 3, 5, 8, 13, 21])]
    return Program({}, list(outputs), expected)


def positions_of_maxima():
    """A reduction of pairs."""
    x = te.placeholder((3, 7), name="X")
    k = te.reduce_axis((0, 7), "k")
    argmax = te.comm_reducer(
        lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.const(float("-inf"), value)),
    )
    where, best = te.compute((3,), lambda i: argmax((k.var, x[i, k]), axis=k), name="M")
    value = np.random.default_rng(3).permutation(21).reshape(3, 7).astype("float32")
    return Program({x: value}, [where, best], [value.argmax(1).astype("int32"), value.max(1)])


def logical():
    """Reductions to bool."""
    x = te.placeholder((4, 3), name="X")
    k, l = te.reduce_axis((0, 3), "k"), te.reduce_axis((0, 3), "l")
    every = te.compute((4,), lambda i: te.all(x[i, k] > 0.0, axis=k), name="every")
    some = te.compute((4,), lambda i: te.any(x[i, l] > 0.0, axis=l), name="some")
    value = random_array((4, 3), 5)
    return Program({x: value}, [every, some], [(value > 0).all(1), (value > 0).any(1)])


def broadcasting():
    """Operators on whole tensors."""
    x, bias = te.placeholder((2, 3, 4), name="X"), te.placeholder((3, 1), "int32", "bias")
    s = te.placeholder((), name="s")
    values = {x: random_array((2, 3, 4)), bias: np.array([[1], [2], [3]], "int32")}
    values[s] = np.array(2.0, "float32")
    result = -((x + bias) * 2 - s / 4.0)
    expected = -((values[x] + values[bias]) * 2 - values[s] / 4.0)
    return Program(values, [result], [expected.astype("float32")])


def norm():
    """A reduction to a tensor without dimensions, and its use as a scalar."""
    x = te.placeholder((5,), name="X")
    k = te.reduce_axis((0, 5), "k")
    total = te.compute((), lambda: te.sum(x[k] * x[k], axis=k), name="total")
    y = te.compute((5,), lambda i: x[i] * total, name="Y")
    value = random_array((5,))
    return Program({x: value}, [y], [value * (value * value).sum()])


FIXED = [norm, running_sums, two_states, positions_of_maxima, logical, broadcasting]
