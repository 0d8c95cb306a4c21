"""Graphs for fusion, made of small tensor programs."""

from __future__ import annotations

import numpy as np

from tilewright import relax, te, tir
from tilewright.ir import GlobalVar
from tilewright.relax import transform
from tilewright.relax.interpreter import evaluate
from tilewright.tir.analysis import verify_well_formed


def array(*shape, dtype="float32"):
    return relax.TensorStructInfo(shape, dtype)


def built(params, make):
    """The module whose function ``main`` returns what `make` emits into a dataflow block."""
    builder = relax.BlockBuilder()
    variables = [relax.Var(name, info) for name, info in params.items()]
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *variables))
        builder.emit_func_output(result)
    return builder.get()


def grouped(mod, level=-1):
    """The module with groups of operators as functions."""
    return transform.FuseOps(level)(transform.AnnotateTIROpPattern()(mod))


def groups(mod, level=-1):
    """For each call in ``main``, the names of the tensor programs in it."""
    mod = grouped(mod, level)
    return [_kernels(mod, b.value) for b in bindings_of(mod["main"]) if is_call(b)]


def _kernels(mod, call):
    if isinstance(call.op, GlobalVar):
        inner = bindings_of(mod[call.op])
        return [b.value.args[0].name_hint for b in inner if is_call(b)]
    return [call.args[0].name_hint]


def is_call(binding):
    return isinstance(binding.value, relax.Call)


def fused(mod, level=-1):
    """The module with one tensor program for each group; all of them are well formed."""
    mod = transform.FuseTIR()(grouped(mod, level))
    for func in mod.functions.values():
        if isinstance(func, tir.PrimFunc):
            verify_well_formed(func)
    return mod


def assert_same_results(before, after, *shapes):
    """Both modules compute the same from small integers, which are exact in any order of sums."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, shape).astype("float32") for shape in shapes]
    expected = evaluate(before, *arrays)
    found = evaluate(after, *arrays)
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def bindings_of(function):
    return [binding for block in function.body.blocks for binding in block.bindings]


# --- tensor programs -------------------------------------------------------------------------


def add(a, b):
    """`b` has as many trailing dimensions as it has."""
    skipped = len(a.shape) - len(b.shape)
    return te.compute(a.shape, lambda *i: a(*i) + b(*i[skipped:]), name="T_add")


def relu(a):
    return te.compute(a.shape, lambda *i: tir.max(a(*i), tir.const(0.0)), name="relu")


def twice(a):
    return te.compute(a.shape, lambda *i: a(*i) * 2.0, name="twice")


def shifted(a, amount):
    return te.compute(a.shape, lambda *i: a(*i) + amount, name="shifted")


def matmul(a, b):
    k = te.reduce_axis((0, a.shape[1]), name="k")
    shape = (a.shape[0], b.shape[1])
    return te.compute(shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="matmul")


def total(a):
    k = te.reduce_axis((0, a.shape[1]), name="k")
    return te.compute((a.shape[0],), lambda i: te.sum(a[i, k], axis=k), name="total")


def spread(a, b):
    """Each element of the vector `b` added to a row of `a`."""
    return te.compute(a.shape, lambda i, j: a[i, j] + b[i], name="spread")


def normalize(a):
    """A function of whole rows, whose sums of small integers stay exact."""
    k, l = te.reduce_axis((0, a.shape[1]), "k"), te.reduce_axis((0, a.shape[1]), "l")
    high = te.compute((a.shape[0],), lambda i: te.max(a[i, k], axis=k), name="high")
    e = te.compute(a.shape, lambda i, j: te.abs(a[i, j] - high[i]), name="e")
    s = te.compute((a.shape[0],), lambda i: te.sum(e[i, l], axis=l), name="s")
    return te.compute(a.shape, lambda i, j: e[i, j] + s[i], name="normalize")


def transpose(a):
    return te.compute((a.shape[1], a.shape[0]), lambda i, j: a[j, i], name="transpose")


def halves(a):
    half = a.shape[1] // 2
    left = te.compute((a.shape[0], half), lambda i, j: a[i, j], name="left")
    return [left, te.compute((a.shape[0], half), lambda i, j: a[i, j + half], name="right")]


def running(a):
    """A function of which nothing is known."""
    state = te.placeholder(a.shape, name="state")
    first = te.compute((1, a.shape[1]), lambda _, j: a[0, j], name="first")
    step = te.compute(a.shape, lambda t, j: state[t - 1, j] + a[t, j], name="step")
    return te.scan(first, step, state, inputs=[a], name="running")
