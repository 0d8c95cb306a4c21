"""What a build leaves behind."""

import ctypes
import gc
import itertools
import weakref

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, te, tir
from tilewright.script import relax as R
from tilewright.target.codegen.llvm import jit


def build_program(size):
    A = te.placeholder((size,), name=f"A{size}")
    B = te.compute((size,), lambda i: te.exp(A[i]) * float(size), name=f"B{size}")
    function = te.create_prim_func([A, B])
    tvm.build(function, target="llvm")(np.zeros(size, "float32"), np.zeros(size, "float32"))


def build_te_schedule(size):
    A = te.placeholder((size,), name=f"A{size}")
    B = te.compute((size,), lambda i: A[i] * float(size), name=f"B{size}")
    tvm.build(te.create_schedule(B.op), [A, B], target="llvm")


def build_graph(size):
    x = relax.Var(f"x{size}", R.Tensor((size,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(relax.op.exp(x), x)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
    machine["main"](tvm.nd.array(np.zeros(size, "float32")))


def parse(size):
    tvm.script.from_source(
        f"@T.prim_func\ndef f{size}(A{size}: T.Buffer(({size},), 'float32')):\n"
        f"    A{size}[{size} - 1] = T.float32({size})"
    )


@pytest.mark.parametrize("make", [build_program, build_te_schedule, build_graph, parse])
def test_distinct_programs_leave_nothing_behind(make):
    def nodes_after(sizes):
        for size in sizes:
            make(size)
        gc.collect()
        classes = tir.Stmt, tir.Var, tir.Buffer
        # `isinstance` would ask objects of other packages for attributes that warn.
        return sum(issubclass(type(item), classes) for item in gc.get_objects())

    before = nodes_after(range(20, 25))
    # The last program stays in a cache, so it is the same.
    assert nodes_after([*range(25, 40), 24]) <= before + 15


class _HeapUse(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="of glibc 2.33 and later")
def test_distinct_programs_leave_little_native_memory(monkeypatch):
    monkeypatch.setattr(jit, "LIBRARIES_PER_JIT", 24)
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _HeapUse
    # As many as a JIT has, so that the youngest is as full after each round.
    sizes, in_use = itertools.count(1000), []
    for _ in range(3):
        for size in itertools.islice(sizes, jit.LIBRARIES_PER_JIT):
            build_program(size)
        gc.collect()
        in_use.append(library.mallinfo2().uordblks)
    # A table that grows now and then does not do so in each round.
    growth = min(after - before for before, after in itertools.pairwise(in_use))
    # Bytes a program; llvmlite never frees 1,500 of each builder of passes.
    assert growth / jit.LIBRARIES_PER_JIT < 3500


def test_code_is_unloaded_with_the_last_module_of_its_jit(monkeypatch):
    monkeypatch.setattr(jit, "LIBRARIES_PER_JIT", 1)
    A = te.placeholder((4,), name="A")
    function = te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1.0, name="B")])

    def loaded():
        module, result = tvm.build(function, target="llvm"), np.zeros(4, "float32")
        module(np.ones(4, "float32"), result)
        np.testing.assert_array_equal(result, 2)
        return module

    kept = loaded()
    first = weakref.ref(jit._jit(next(jit._numbers) - 1))
    other = loaded()
    gc.collect()
    assert first() is not None
    del kept
    gc.collect()
    assert first() is None
    other(np.ones(4, "float32"), np.zeros(4, "float32"))
