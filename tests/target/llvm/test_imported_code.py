"""Functions in LLVM IR or C that a program brings with it."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.error import CodegenError, LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.llvm.compile import binding

TWICE_LLVM = """
define i32 @twice(ptr %out, ptr %in) {
  %x = load float, ptr %in
  %y = fadd float %x, %x
  store float %y, ptr %out
  ret i32 0
}
"""
TWICE_C = "static int twice(float* out, float* in) { *out = *in + *in; return 0; }"


@T.prim_func
def calls(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(1):
        with T.block("B"):
            v = T.axis.spatial(1, i)
            T.reads(A[v])
            T.writes(B[v])
            T.evaluate(T.call_extern("int32", "twice", B.data, A.data))


def annotated(key, code, on_block=False):
    sch = tvm.tir.Schedule(calls)
    (loop,) = sch.get_loops("B")
    sch.annotate(sch.get_block("B") if on_block else loop, key, code)
    return sch.mod["main"] if "main" in sch.mod else sch.mod["calls"]


def twice(module):
    a, b = np.array([3], "float32"), np.zeros(1, "float32")
    module(a, b)
    return b[0]


@pytest.mark.parametrize("on_block", [False, True])
def test_llvm_ir_of_an_annotation(on_block, tmp_path):
    module = tvm.build(annotated("pragma_import_llvm", TWICE_LLVM, on_block), target="llvm")
    assert twice(module) == 6
    assert "@twice" in module.get_source("ll")
    path = str(tmp_path / "twice.so")
    module.export_library(path)
    assert twice(tvm.runtime.load_module(path)) == 6


def test_two_modules_may_import_the_same():
    func = annotated("pragma_import_llvm", TWICE_LLVM)
    other = tvm.build(func.with_attr("global_symbol", "other"), target="llvm", name="other")
    assert twice(tvm.build(func, target="llvm")) == twice(other) == 6


@pytest.mark.parametrize("extension", ["ll", "bc"])
def test_llvm_ir_of_a_file(tmp_path, extension):
    path = tmp_path / f"twice.{extension}"
    if extension == "ll":
        path.write_text(TWICE_LLVM)
    else:
        path.write_bytes(binding().parse_assembly(TWICE_LLVM).as_bitcode())
    assert twice(tvm.build(annotated("pragma_import_llvm", str(path)), target="llvm")) == 6


def test_c_source():
    module = tvm.build(annotated("pragma_import_c", TWICE_C), target="c")
    assert twice(module) == 6
    assert "extern int32_t twice" not in module.get_source()


def test_an_attribute_of_a_script():
    @T.prim_func
    def func(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        T.attr(0, "pragma_import_llvm", TWICE_LLVM)
        T.evaluate(T.call_extern("int32", "twice", B.data, A.data))

    assert twice(tvm.build(func, target="llvm")) == 6


def test_a_pragma_of_a_stage():
    a = te.placeholder((1,), name="a")
    b = te.extern(
        (1,), [a], lambda i, o: tvm.tir.call_extern("int32", "twice", o[0].data, i[0].data)
    )
    c = te.compute((1,), lambda i: b[i] + 1, name="c")
    s = te.create_schedule(c.op)
    s[c].pragma(c.op.axis[0], "import_llvm", TWICE_LLVM)
    assert twice(tvm.build(s, [a, c], "llvm")) == 7


@pytest.mark.parametrize(
    ("code", "message"), [("define i32 nonsense", "cannot read"), ("/nowhere.ll", "No such file")]
)
def test_unreadable_code(code, message):
    with pytest.raises(CodegenError, match=f"pragma_import_llvm: .*{message}"):
        tvm.build(annotated("pragma_import_llvm", code), target="llvm")


def test_code_that_is_no_text():
    with pytest.raises(LoweringError, match="pragma_import_llvm: the code is a text, got 1"):
        tvm.build(annotated("pragma_import_llvm", 1), target="llvm")
