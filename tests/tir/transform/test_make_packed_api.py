"""The functions of the call boundary."""

import json

import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError
from tilewright.ir.dtype import PointerType, PrimType
from tilewright.ir.library import Parameter
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.array_check import ARRAY_CHECK
from tilewright.tir.call_boundary.make_packed_api import make_packed_api
from tilewright.tir.call_boundary.metadata import parameters_of
from tilewright.tir.stmt import nop


def lowered(n=4):
    a = te.placeholder((n,), name="A")
    k = te.var("k")
    b = te.compute((n,), lambda i: a[i] + k.astype("float32"), name="B")
    return tvm.lower(te.create_schedule(b.op), [a, k, b])


def function(shape, dtype="float32", **options):
    handle = tir.Var("a", "handle")
    buffer = tir.decl_buffer(shape, dtype, "A", **options)
    return tir.PrimFunc((handle,), nop(), buffer_map={handle: buffer}, attrs={"global_symbol": "f"})


def test_the_raw_function_has_pointers_scalars_and_sizes():
    n = te.size_var("n")
    module = lowered(n)
    packed = make_packed_api(module)
    raw = packed["main"]
    assert [p.name for p in raw.params] == ["A", "k", "B", "n"]
    assert isinstance(raw.params[0].type_annotation, PointerType)
    assert raw.params[3] is n
    assert not raw.buffer_map
    assert raw.ret_type.dtype == "int32"
    assert raw.global_symbol is None


def test_the_packed_function_is_exported():
    packed = make_packed_api(lowered())
    entry = packed["__tvm_ffi_main"]
    assert entry.global_symbol == "__tvm_ffi_main"
    assert entry.attrs["calling_conv"] == "packed"
    assert [p.dtype for p in entry.params] == ["handle", "handle", "int32", "handle"]
    calls = [c.op for c in tir_calls(entry) if isinstance(c.op, tvm.ir.GlobalVar)]
    assert calls.count(tvm.ir.GlobalVar("main")) == 1


def test_arrays_are_checked_by_a_function_that_modules_share():
    packed = make_packed_api(lowered())
    calls = [c.op for c in tir_calls(packed["__tvm_ffi_main"]) if c.op is ARRAY_CHECK]
    assert len(calls) == 2
    assert packed[ARRAY_CHECK].attrs["tir.is_shared"]
    source = tvm.build(lowered(), target="llvm").get_source()
    assert f'declare i32 @"{ARRAY_CHECK.name_hint}"' in source


def test_nothing_is_written_behind_an_error():
    source = tvm.build(lowered(), target="llvm").get_source()
    assert "raise" in source
    assert "dead" not in source


def test_a_private_function_stays_private():
    module = lowered()
    module["helper"] = module["main"].without_attr("global_symbol")
    names = [v.name_hint for v in make_packed_api(module).functions if "__tvm" in v.name_hint]
    assert names == ["__tvm_ffi_main", "__tvm_ffi_tilewright_metadata"]


def test_who_is_written():
    assert parameters_of(lowered()["main"]) == (
        Parameter("A", True, False),
        Parameter("k", False, False),
        Parameter("B", True, True),
    )


def test_a_pointer_that_is_passed_on_counts_as_written():
    handle = tir.Var("a", "handle")
    buffer = tir.decl_buffer((4,), name="A")
    call = tir.call_extern("int32", "touch", buffer.data)
    touching = tir.PrimFunc((handle,), tir.Evaluate(call), buffer_map={handle: buffer})
    assert parameters_of(touching) == (Parameter("A", True, True),)


def test_the_metadata_tells_the_same():
    packed = make_packed_api(lowered())
    texts = [s.value for s in nodes(packed["__tvm_ffi_tilewright_metadata"], tir.StringImm)]
    assert json.loads(texts[0]) == {
        "main": [["A", True, False], ["k", False, False], ["B", True, True]]
    }


def test_a_size_that_no_argument_gives():
    n = te.var("n")
    with pytest.raises(LoweringError, match=r"argument 1 \(A\).*shape\[0\].*the value of n"):
        make_packed_api(tvm.IRModule({"f": function((n * 2,))}))


def test_a_vector_parameter():
    x = te.var("x", "float32x4")
    bad = tir.PrimFunc((x,), nop(), attrs={"global_symbol": "f"})
    with pytest.raises(LoweringError, match="cannot be vectors"):
        make_packed_api(tvm.IRModule({"f": bad}))


def test_a_result_that_cannot_be_passed():
    bad = tir.PrimFunc((), nop(), PrimType(tvm.ir.DType("handle")), attrs={"global_symbol": "f"})
    with pytest.raises(LoweringError, match="cannot return a handle"):
        make_packed_api(tvm.IRModule({"f": bad}))


@pytest.mark.parametrize(
    ("dtype", "code", "bits", "lanes"),
    [
        ("float32", 2, 32, 1), ("bool", 6, 8, 1), ("bfloat16", 4, 16, 1), ("int8x4", 0, 8, 4),
        ("uint64", 1, 64, 1), ("e4m3_float8", 10, 8, 1), ("handle", 3, 64, 1),
    ],
)  # fmt: skip
def test_dtype_words(dtype, code, bits, lanes):
    word = abi.dtype_word(tvm.ir.DType(dtype))
    assert (word & 255, word >> 8 & 255, word >> 16) == (code, bits, lanes)


def nodes(root, kind):
    return [node for node in tvm.ir.walk(root.body) if isinstance(node, kind)]


def tir_calls(root):
    return nodes(root, tir.Call)


def test_calls_pass_the_symbolic_sizes_of_the_callee():
    n, x = tir.Var("n", "int64"), tir.Var("x", "handle")
    callee = function((n,))
    data = tir.Var("data", "handle", PointerType(PrimType("float32")))

    def caller(*arguments):
        name = tvm.ir.GlobalVar("callee")
        call = tir.Evaluate(tvm.ir.expr.Call("int32", name, arguments))
        return tir.PrimFunc((data, x), call, attrs={"global_symbol": "caller"})

    def module(*arguments):
        return tvm.IRModule({"callee": callee, "caller": caller(*arguments)})

    packed = make_packed_api(module(data, tvm.ir.const(3, "int64")))
    assert len(packed["callee"].params) == 2
    with pytest.raises(LoweringError, match="1 parameters and the symbolic sizes n, which follow"):
        make_packed_api(module(data))
