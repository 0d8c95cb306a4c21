"""`tvm.build`: what it takes, and what it refuses."""

import numpy as np
import pytest
from tests.runtime.programs import copy_between, prim_func

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import (
    ArgumentError,
    CodegenError,
    LoweringError,
    ShapeError,
    TargetError,
    UnknownNameError,
    VerifyError,
)

AS_WRITTEN = tvm.transform.PassContext(config={"tir.default_schedule": False})


def tensors():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] * 2 + 1, name="B")
    return a, b


def check(module):
    values, result = np.arange(4, dtype="f4"), np.zeros(4, "f4")
    module(values, result)
    np.testing.assert_array_equal(result, values * 2 + 1)


def store_one(name="main"):
    buffer = tir.decl_buffer((4,), "int32", "A")
    return prim_func([buffer], buffer.vstore((0,), tir.const(1)), name)


def test_a_schedule():
    a, b = tensors()
    module = tvm.build(te.create_schedule(b.op), [a, b], "llvm")
    assert module.function_names() == ["default_function"]
    check(module)
    check(tvm.build(te.create_schedule(b.op), [a, b], name="twice")["twice"])


def test_a_function_a_module_and_what_was_lowered():
    a, b = tensors()
    function = te.create_prim_func([a, b])
    check(tvm.build(function))
    check(tvm.build(tvm.IRModule({"main": function}), target="llvm"))
    check(tvm.build(tvm.lower(te.create_schedule(b.op), [a, b]), target="llvm"))
    check(tvm.build({"llvm": tvm.IRModule({"main": function})}))


def test_the_name_of_a_function():
    function = te.create_prim_func(list(tensors())).with_attr("global_symbol", "twice")
    for module in (tvm.build(function), tvm.build(tir.Schedule(function).mod)):
        assert module.function_names() == ["twice"]
        check(module["main"])
    assert tvm.build(function, name="other").function_names() == ["other"]
    assert tvm.build(function.without_attr("global_symbol")).function_names() == ["main"]


def test_several_modules():
    function = te.create_prim_func(list(tensors()))
    one, other = function.with_attr("global_symbol", "one"), tvm.IRModule({"other": function})
    module = tvm.build([one, other], target="llvm")
    assert sorted(module.function_names()) == ["main", "one"]
    check(module["one"])
    with pytest.raises(ArgumentError, match="two functions are called 'one'"):
        tvm.build([one, one])
    with pytest.raises(ArgumentError, match="a list holds modules and functions, got int"):
        tvm.build([3])


def test_targets():
    function = te.create_prim_func(list(tensors()))
    check(tvm.build(function, target=tvm.target.Target("llvm -mcpu=x86-64")))
    with tvm.target.Target("llvm -num-cores=1"):
        check(tvm.build(function))
    check(tvm.build(function, target="llvm", target_host="llvm"))


def test_an_intermediate_that_is_no_argument():
    a = te.placeholder((2, 3), name="A")
    twice = te.compute((2, 3), lambda i, j: a[i, j] * 2, name="twice")
    k = te.reduce_axis((0, 3), "k")
    total = te.compute((2,), lambda i: te.sum(twice[i, k], axis=k), name="total")
    values, result = np.arange(6, dtype="f4").reshape(2, 3), np.zeros(2, "f4")
    tvm.build(te.create_schedule(total.op), [a, total], "llvm")(values, result)
    np.testing.assert_array_equal(result, 2 * values.sum(axis=1))


def test_code_for_another_machine_is_exported_but_not_called(tmp_path):
    module = tvm.build(store_one(), target="llvm -mtriple=aarch64-linux-gnu")
    module.export_library(tmp_path / "kernel.o")
    header = (tmp_path / "kernel.o").read_bytes()[:20]
    assert header[:4] == b"\x7fELF"
    assert header[18] == 183  # EM_AARCH64
    with pytest.raises(TargetError, match="does not run on this machine"):
        module(np.zeros(4, "i4"))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("abacus", "no target kind 'abacus'; known are llvm"),
        ("llvm -no_such_option=3", "no attribute 'no_such_option'"),
        ("llvm -mcpu=z80", "LLVM knows no processor 'z80'"),
        ("llvm -mcpu=skylak-avx512", r"'skylak-avx512' \(-mcpu\); did you mean 'skylake-avx512'"),
        ("llvm -mattr=+no-such-feature", "LLVM knows no feature '\\+no-such-feature'"),
        ("llvm -mtriple=no-such-machine", "target triple 'no-such-machine'"),
        ("vulkan", "target kind 'vulkan' has no backend"),
        (3, "a string or a dictionary, got 3"),
    ],
)
def test_unsupported_targets(target, message, capfd):
    with pytest.raises(TargetError, match=message):
        tvm.build(store_one(), target=target)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("cpu", ["i386", "pentium4", "x86-64"])
def test_an_old_processor_does_not_end_the_process(cpu):
    module = tvm.build(store_one(), target=f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    assert "main" in module.get_source("asm")


def test_inputs_that_cannot_be_built():
    a, b = tensors()
    schedule = te.create_schedule(b.op)
    modules = {"llvm": tvm.IRModule({}), "c": tvm.IRModule({})}
    for inputs, options, error, message in (
        (3, {}, ArgumentError, "expected a te.Schedule, a PrimFunc or an IRModule, got int"),
        (schedule, {}, ArgumentError, "`args` must list the parameters"),
        (store_one(), {"args": [a]}, ArgumentError, "has its own parameters"),
        (tvm.IRModule({}), {}, ArgumentError, r"no function of the module is exported"),
        (modules, {}, TargetError, "one target at a time"),
        ({"llvm": tvm.IRModule({})}, {"target": "llvm"}, ArgumentError, "names their targets"),
        (store_one(), {"runtime": "crt"}, ArgumentError, "`runtime` is for old programs"),
        (store_one("no name"), {}, LoweringError, "global_symbol 'no name'"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            tvm.build(inputs, **options)


def test_a_module_without_an_exported_function():
    private = store_one().without_attr("global_symbol")
    with pytest.raises(ArgumentError, match=r"no function .* exported; it has \['f'\]"):
        tvm.build(tvm.IRModule({"f": private}))


def test_two_functions_of_one_name():
    with pytest.raises(LoweringError, match="two functions have the global_symbol 'main'"):
        tvm.build(tvm.IRModule({"f": store_one(), "g": store_one()}))


def test_undefined_names():
    a, b = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((4,), "int32", "B")
    free = te.var("free")
    with pytest.raises(VerifyError, match="variable free"):
        tvm.build(prim_func([a], a.vstore((free,), tir.const(1))))
    with pytest.raises(VerifyError, match="B"):
        tvm.build(prim_func([a], a.vstore((0,), b[0])))
    absent = tir.Evaluate(tir.Call(tvm.ir.DType("int32"), tvm.ir.GlobalVar("absent"), ()))
    with pytest.raises(UnknownNameError, match="main calls absent, which the module does not"):
        tvm.build(prim_func([a], absent))


def test_negative_and_huge_extents():
    with pytest.raises(ShapeError, match="-1, which is negative"):
        te.placeholder((-1,))
    huge = te.compute((2**40, 2**40), lambda i, j: i + j, name="huge")
    last = te.const(2**40 - 1, "int64")
    corner = te.compute((2,), lambda i: huge[i * last, i * last], name="corner")
    with AS_WRITTEN, pytest.raises(LoweringError, match="more than any memory holds"):
        tvm.build(te.create_schedule(corner.op), [corner])


def test_a_loop_that_the_target_does_not_have():
    buffer, i = tir.decl_buffer((4,), "int32", "A"), te.var("i")
    body = tir.For(
        i, tir.const(0), tir.const(4), tir.ForKind.THREAD_BINDING, buffer.vstore((i,), i)
    )
    with pytest.raises((LoweringError, CodegenError), match="thread"):
        tvm.build(prim_func([buffer], body))


def test_a_function_that_calls_another():
    buffer, n = tir.decl_buffer((4,), "int32", "A"), te.var("n")
    inner_data, m = tir.decl_buffer((4,), "int32", "A"), te.var("m")
    inner = prim_func([inner_data, m], inner_data.vstore((m,), m)).without_attr("global_symbol")
    inner = inner.replace(params=(inner_data.data, m), buffer_map={})
    call = tir.Call(tvm.ir.DType("int32"), tvm.ir.GlobalVar("inner"), (buffer.data, n))
    outer = prim_func([buffer, n], tir.Evaluate(call))
    values = np.zeros(4, "i4")
    tvm.build(tvm.IRModule({"inner": inner, "main": outer}))(values, 3)
    assert values.tolist() == [0, 0, 0, 3]


def test_a_copy_of_symbolic_size():
    n = te.var("n", "int64")
    source, target = tir.decl_buffer((n,), "float16", "A"), tir.decl_buffer((n,), "float16", "B")
    values, copied = np.arange(40, dtype="f2"), np.zeros(40, "f2")
    tvm.build(copy_between(source, target, n))(values, copied)
    np.testing.assert_array_equal(values, copied)


def test_a_malformed_function_is_refused():
    buffer = tvm.tir.decl_buffer((4, 4), "float32", "A")
    handle = tvm.tir.Var("a", tvm.ir.DType("handle"))
    index = tvm.tir.const(0, "int32")
    value = tvm.tir.const(1, "float32")
    store = tvm.tir.BufferStore(buffer, value, (index,))
    func = tvm.tir.PrimFunc((handle,), store, buffer_map={handle: buffer})
    with pytest.raises(VerifyError, match="A"):
        tvm.build(func, target="llvm")


def test_the_package_by_name():
    from tilewright.driver import build, build_module, lower

    assert tvm.driver.build is build is tvm.build is build_module.build
    assert tvm.driver.lower is lower is tvm.lower is build_module.lower
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tvm.driver.nothing


def test_a_target_as_the_second_argument():
    a = te.placeholder((4,), name="a")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1, name="b")])
    assert "define" in tvm.build(func, "llvm").get_source()
    assert "void" in tvm.build(func, tvm.target.Target("c")).get_source()
    with pytest.raises(ArgumentError, match="two targets, llvm and c"):
        tvm.build(func, "llvm", "c")


def test_a_function_with_a_name_that_linkers_do_not_know():
    function = store_one().with_attr("global_symbol", "矩阵")
    with pytest.raises(LoweringError, match=r"'矩阵'.*letters.*tvm\.build\(\.\.\., name='f'\)"):
        tvm.build(function)
    result = np.zeros(4, "int32")
    tvm.build(function, name="matrix")(result)
    assert result[0] == 1
