"""Primitives called with arguments of wrong types, and damaged traces: all errors are ours."""

import contextlib
import copy
import inspect
import random

import numpy as np
import pytest

from tilewright.error import ArgumentError, ArgumentValueError, TVMError
from tilewright.script import tir as T
from tilewright.tir import Schedule, Trace
from tilewright.tir.schedule.primitive import PRIMITIVES

WRONG = (None, -1, 2**70, 1.5, "x", "b0", [], [None], [[]], {"a": 1}, object(), np.zeros(3), int)

REQUIRED = {
    "ann_key": "x",
    "ann_val": 1,
    "axis_separators": [],
    "buffer": ("write", 0),
    "candidates": [1, 2],
    "dtype": "float16",
    "index_map": lambda *indices: indices,
    "n": 2,
    "name": "C",
    "probs": [0.5, 0.5],
    "storage_scope": "shared",
    "tensor_intrin": "x",
    "thread_axis": "threadIdx.x",
}


@T.prim_func
def two_steps(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


def fitting(sch, parameter):
    """An argument of the right type."""
    if parameter.kind == "value":
        needed = parameter.default is inspect.Parameter.empty
        return REQUIRED.get(parameter.name, 0) if needed else parameter.default
    block = sch.get_block("B")
    one = 2 if parameter.kind == "number" else sch.get_loops(block)[0]
    one = block if parameter.kind == "block" else one
    return [one] if parameter.many else one


@pytest.mark.parametrize("name", PRIMITIVES)
def test_arguments_of_wrong_types(name):
    primitive = PRIMITIVES[name]
    for wrong_one in primitive.parameters:
        for wrong in WRONG:
            sch = Schedule(two_steps, seed=1)
            named = {p.name: fitting(sch, p) for p in primitive.parameters}
            named[wrong_one.name] = wrong
            positional = [
                item
                for p in primitive.parameters
                if p.variadic
                for given in [named.pop(p.name)]
                for item in (given if isinstance(given, list) else [given])
            ]
            with contextlib.suppress(TVMError):  # some of these are right for some primitives
                getattr(sch, name)(*positional, **named)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sch: sch.parallel(None), "parallel: `loop` must be a LoopRV, got None"),
        (lambda sch: sch.get_loops(None), "`block` must be a BlockRV or the name of a block"),
        (lambda sch: sch.split(sch.get_loops("B")[0], None), "`factors` is a list"),
        (lambda sch: sch.storage_align("B", 0, None, 8, 0), "`axis` must be an integer"),
        (lambda sch: sch.sample_perfect_tile(sch.get_loops("B")[0], "2"), "`n` must be an integer"),
        (lambda sch: sch.sample_categorical([1], ["x"]), "`probs` is a list of numbers"),
        (lambda sch: sch.cache_read("B", 0, np.zeros(3)), "`storage_scope` cannot be an array"),
    ],
)
def test_messages(call, message):
    with pytest.raises(ArgumentError) as error:
        call(Schedule(two_steps))
    assert message in str(error.value)


def test_tiles_have_a_limited_number_of_parts():
    sch = Schedule(two_steps)
    with pytest.raises(ArgumentValueError, match="`n` is from 1 to 1000"):
        sch.sample_perfect_tile(sch.get_loops("B")[0], 2**70)


def recorded():
    """A trace as JSON that has inputs and attributes of all sorts."""
    sch = Schedule(two_steps, seed=1)
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, sch.sample_perfect_tile(i, 2))
    lanes = sch.sample_categorical([2, 4], [0.5, 0.5])
    sch.annotate(j, "lanes", lanes)
    sch.transform_layout("B", ("write", 0), lambda i, j: [j, i])
    sch.reorder(j, i1)
    sch.reverse_compute_at("C", i0)
    return sch.trace.as_json()


def places(form, path=()):
    """The paths to everything in a JSON value."""
    items = enumerate(form) if isinstance(form, list) else ()
    for step, item in form.items() if isinstance(form, dict) else items:
        yield (*path, step)
        yield from places(item, (*path, step))


def damaged(form, rng):
    """A copy with one part replaced, doubled or left out."""
    form = copy.deepcopy(form)
    *path, last = rng.choice(list(places(form)))
    parent = form
    for step in path:
        parent = parent[step]
    kind = rng.randrange(4)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(last, copy.deepcopy(parent[last]))
    else:
        texts = ["", "b0", "l9", "1 // 0", "b0 + 1", "x(", "\0", "{", '"']
        others = [None, True, -1, 2**70, 1.5, [], {}, [[]], {"rv": 1}, {"index_map": 0}]
        parent[last] = rng.choice([*texts, *others, {"expr": 1}, {"dict": [1]}, {"rv": []}])
    return form


def test_damaged_traces():
    rng, form = random.Random(1), recorded()
    for _ in range(400):
        with contextlib.suppress(TVMError):  # a trace may do without what is gone
            Trace.apply_json_to_schedule(damaged(form, rng), Schedule(two_steps, seed=1))


def test_a_method_that_is_not_there_is_an_error_with_one_that_is():
    @T.prim_func
    def empty():
        T.evaluate(0)

    schedule = Schedule(empty)
    with pytest.raises(AttributeError, match=r"'vectorise'; did you mean 'vectorize'"):
        schedule.vectorise
    with pytest.raises(AttributeError, match=r"no method 'no_such_primitive'$"):
        schedule.no_such_primitive
