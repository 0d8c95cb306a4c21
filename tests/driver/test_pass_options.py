"""Options of `PassContext` that change how programs are lowered."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax, te, tir
from tilewright.error import ArgumentError, ArgumentValueError, ProgramAssertionError
from tilewright.ir.rewrite import rewrite
from tilewright.script import from_source
from tilewright.transform import PassContext

ASSERTING = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    assert n > 0, "n is positive"
    for i in range(4):
        A[i] = n
"""


def test_assertions_are_left_out():
    func, values = from_source(ASSERTING), np.zeros(4, "int32")
    with pytest.raises(ProgramAssertionError, match="n is positive"):
        tvm.build(func)(values, -1)
    with PassContext(config={"tir.disable_assert": True}):
        module = tvm.build(func)
    module(values, -1)
    assert values.tolist() == [-1] * 4


SHIFT = """
@T.prim_func
def f(A: T.Buffer((40,), "int32"), B: T.Buffer((40,), "int32")):
    T.func_attr({"tir.noalias": True})
    for i in range(40):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = A[vi] + 1
"""


@pytest.mark.parametrize("schedule", [True, False])
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_without_the_promise_that_buffers_are_distinct(schedule, target):
    func = from_source(SHIFT)
    with pytest.raises(ArgumentValueError, match="shares memory with argument 1"):
        memory = np.zeros(41, "int32")
        tvm.build(func, target=target)(memory[:40], memory[1:])
    with PassContext(config={"tir.noalias": False, "tir.default_schedule": schedule}):
        module = tvm.build(func, target=target)
    memory = np.zeros(41, "int32")
    module(memory[:40], memory[1:])
    assert memory.tolist() == list(range(41))


@tir.transform.prim_func_pass(opt_level=0)
def add_instead(func, mod, ctx):
    """Products of floats become sums."""
    del mod, ctx
    return func.with_body(rewrite(func.body, {tir.Mul: _sum}))


def _sum(node):
    return tir.Add(node.a, node.b) if node.dtype.is_float else node


def product():
    a, b = te.placeholder((4,), name="A"), te.placeholder((4,), name="B")
    c = te.compute((4,), lambda i: a[i] * b[i], name="C")
    return te.create_schedule(c.op), [a, b, c]


@pytest.mark.parametrize("phase", range(4))
def test_a_pass_is_added(phase):
    with PassContext(config={"tir.add_lower_pass": [(phase, add_instead)]}):
        module = tvm.build(*product())
        lowered = tvm.lower(*product())
    x, y, z = (np.full(4, value, "float32") for value in (3, 4, 0))
    module(x, y, z)
    assert z.tolist() == [7] * 4
    assert " + " in lowered.script()


def test_passes_see_the_program_at_their_phase():
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def look(mod, ctx):
        del ctx
        seen.append(mod["main"].script())
        return mod

    with PassContext(config={"tir.add_lower_pass": [(phase, look) for phase in range(4)]}):
        tvm.lower(*product())
    assert ["T.block" in text for text in seen] == [True, False, False, False]
    assert len(seen) == 4


def test_added_passes_work_on_graphs_and_are_not_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    func = from_source(SHIFT.replace("f(", "kernel("))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((40,), "int32"))
    with builder.function("main", [x]):
        name = builder.add_func(func.without_attr("global_symbol"), "kernel")
        out = builder.emit(relax.op.call_tir(name, (x,), relax.TensorStructInfo((40,), "int32")))
        builder.emit_func_output(out)

    @tir.transform.prim_func_pass(opt_level=0)
    def subtract(func, mod, ctx):
        del mod, ctx
        return func.with_body(rewrite(func.body, {tir.IntImm: _opposite}))

    def run(**options):
        with PassContext(config=options):
            machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
        return machine["main"](tvm.nd.array(np.zeros(40, "int32"))).numpy()[0]

    assert run() == 1
    assert run(**{"tir.add_lower_pass": [(0, subtract)]}) == -1
    assert run() == 1


def _opposite(node):
    return tir.IntImm(node.dtype, -1) if node.value == 1 and node.dtype == "int32" else node


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "is a list of pairs"),
        ([add_instead], "has pairs"),
        ([(4, add_instead)], "a phase is a number from 0 to 3, got 4"),
        ([("1", add_instead)], "a phase is a number from 0 to 3, got '1'"),
        ([(1, lambda f: f)], "prim_func_pass makes one of a function"),
    ],
)
def test_wrong_passes(value, message):
    with pytest.raises(ArgumentError, match=message):
        PassContext(config={"tir.add_lower_pass": value})


def test_unknown_options_and_wrong_values():
    with pytest.raises(ArgumentValueError, match=r"did you mean 'tir\.disable_assert'"):
        PassContext(config={"tir.disable_asserts": True})
    with pytest.raises(ArgumentError, match=r"tir\.noalias is a bool, got 3"):
        PassContext(config={"tir.noalias": 3})
