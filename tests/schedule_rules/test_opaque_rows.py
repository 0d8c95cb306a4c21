"""Programs by hand, of which cores share the rows."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.schedule_rules.eligible import has_schedule
from tilewright.script import tir as T
from tilewright.tir import ForKind, Schedule

TWO = "llvm -num-cores=2"
PROGRAMS = {
    "sort": lambda a: [topi.sort(a)],
    "topk": lambda a: topi.topk(a, 3),
    "cumsum": lambda a: [topi.cumsum(a, 1)],
    "cumsum of columns": lambda a: [topi.cumsum(a, 0)],
    "sum of sorted": lambda a: [topi.sum(topi.sort(a) * 2, 1)],
}


def program(make, shape=(20, 70)):
    A = te.placeholder(shape, "float32", "A")
    return te.create_prim_func([A, *make(A)])


def scheduled(func, target=TWO):
    return tvm.default_schedule(func, target).mod["main"]


def loops_around(func, name):
    sch = Schedule(func)
    return [sch.get(loop).kind for loop in sch.get_loops(sch.get_block(name))]


@pytest.mark.parametrize("name", ["sort", "topk", "cumsum"])
def test_rows_run_in_parallel(name):
    func = program(PROGRAMS[name])
    assert loops_around(scheduled(func), "row") == [ForKind.PARALLEL]
    assert loops_around(scheduled(func, "llvm -num-cores=1"), "row") == [ForKind.SERIAL]


def test_several_loops_over_rows_are_one():
    func = program(lambda a: [topi.cumsum(a, 2)], (3, 5, 40))
    assert loops_around(scheduled(func), "row") == [ForKind.PARALLEL]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", ["llvm", TWO])
def test_results(name, target):
    data = np.random.default_rng(0).standard_normal((700, 70)).astype("float32")
    func = program(PROGRAMS[name], (700, 70))
    shapes = [func.buffer_map[param] for param in func.params[1:]]
    results = []
    for options in ({}, {"tir.default_schedule": False}):
        outs = [tvm.nd.empty([int(e) for e in b.shape], str(b.dtype)) for b in shapes]
        with tvm.transform.PassContext(config=options):
            tvm.build(func, target=target)(tvm.nd.array(data), *outs)
        results.append([out.numpy() for out in outs])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_what_is_around_them_is_scheduled_as_usual():
    text = str(scheduled(program(PROGRAMS["sum of sorted"]), "llvm"))
    assert "T.vectorized(" in text


@T.prim_func
def running_rows(x: T.handle, y: T.handle):
    m = T.int64()
    n = T.int64()
    X = T.match_buffer(x, (m, n), "float32")
    Y = T.match_buffer(y, (m, n), "float32")
    for i in range(m):
        with T.block("row"):
            row = T.axis.opaque(m, i)
            T.reads(X[row, 0:n], Y[0:m, 0:n])
            T.writes(Y[row, 0:n])
            for j in range(n):
                Y[row, j] = X[row, j] + T.if_then_else(row > 0, Y[row - 1, j], T.float32(0))


def test_rows_that_depend_on_each_other_do_not():
    func = program(lambda a: [te.extern_primfunc([a], running_rows)])
    assert not has_schedule(func)
    assert loops_around(scheduled(func), "row") == [ForKind.SERIAL]


def test_sums_keep_their_order():
    assert scheduled(program(PROGRAMS["cumsum"])).attrs.get("tir.reassociate") is None


def test_what_has_a_schedule_keeps_it():
    sch = Schedule(program(PROGRAMS["cumsum"]))
    (loop,) = sch.get_loops(sch.get_block("row"))
    sch.split(loop, [None, 4])
    assert has_schedule(sch.mod["main"])
    threads = Schedule(program(PROGRAMS["cumsum"]))
    (loop,) = threads.get_loops(threads.get_block("row"))
    threads.parallel(loop)
    assert has_schedule(tvm.script.from_source(threads.mod["main"].script()))
    assert isinstance(threads.mod["main"], tir.PrimFunc)
