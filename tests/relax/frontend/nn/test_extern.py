"""External modules: functions in C and C++ that modules call."""

import numpy as np
import pytest
from tests.relax.frontend.nn.running import floats, same

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, ExportError, UnknownNameError
from tilewright.relax.frontend import nn
from tilewright.runtime.linking import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")

C_SOURCE = r"""
#include "tilewright.h"

int __tvm_ffi_nn_test_scale(void *self, const TilewrightValue *args, int32_t count,
                            TilewrightValue *result) {
  const TilewrightArray *x = tilewright_array_of(&args[0]);
  const TilewrightArray *y = tilewright_array_of(&args[2]);
  if (!x || !y || tilewright_array_of(&args[1])) return -1;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    ((float *)y->data)[i] = ((const float *)x->data)[i] * (float)args[1].value.v_int64;
  return 0;
}
"""
CPP_SOURCE = r"""
#include <tvm/ffi/function.h>
#include <tvm/ffi/container/tensor.h>

void add(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView z) {
  for (int64_t i = 0; i < x.size(0); ++i)
    static_cast<float *>(z.data_ptr())[i] =
        static_cast<float *>(x.data_ptr())[i] + static_cast<float *>(y.data_ptr())[i];
}
TVM_DLL_EXPORT_TYPED_FUNC(nn_test_add, add);
"""
SPEC = {"forward": {"x": nn.spec.Tensor(["n"], "float32")}}


def like(x, *others):
    return nn.Tensor.placeholder(x.shape, x.dtype)


class Model(nn.Module):
    def __init__(self, extern, name, *more):
        self.extern, self.name, self.more = extern, name, more

    def forward(self, x):
        return self.extern[self.name](x, *self.more) + 1.0


@pytest.fixture(autouse=True)
def forget():
    yield
    for name in ("nn_test_scale", "nn_test_add"):
        if tvm.get_global_func(name, allow_missing=True) is not None:
            tvm.remove_global_func(name)


def test_source_in_c():
    extern = nn.SourceModule({"nn_test_scale": like}, C_SOURCE, "c")
    x = floats(5)
    same(Model(extern, "nn_test_scale", 3).jit(SPEC, out_format="numpy")(x), x * 3 + 1)


def test_source_in_cpp(tmp_path):
    path = tmp_path / "add.cc"
    path.write_text(CPP_SOURCE)
    extern = nn.SourceModule({"nn_test_add": like}, path, "cpp")

    class Twice(nn.Module):
        def forward(self, x):
            return extern["nn_test_add"](x, x)

    x = floats(5)
    same(Twice().jit(SPEC, out_format="numpy")(x), x * 2)


def test_object_files_and_the_pass(tmp_path):
    path = tmp_path / "scale.o"
    nn.SourceModule({"nn_test_scale": like}, C_SOURCE, "c").compile(path)
    extern = nn.ObjectModule({"nn_test_scale": like}, path)
    model = Model(extern, "nn_test_scale", 2)
    with pytest.raises(ArgumentError, match="allow_extern=True"):
        model.export_tvm(SPEC)
    mod, params, externs = model.export_tvm(SPEC, allow_extern=True)
    assert (params, externs) == ([], [extern])
    mod = relax.transform.AttachExternModules(externs)(mod)
    machine = relax.VirtualMachine(relax.build(mod), tvm.cpu())
    x = floats(4)
    same(machine["forward"](x).numpy(), x * 2 + 1)


def test_mistakes(tmp_path):
    with pytest.raises(ArgumentValueError, match="'c' or 'cpp'"):
        nn.SourceModule({"f": like}, C_SOURCE, "cu")
    with pytest.raises(ArgumentError, match="'f' needs a function"):
        nn.SourceModule({"f": 3}, C_SOURCE, "c")
    extern = nn.SourceModule({"missing": like}, C_SOURCE, "c")
    with pytest.raises(UnknownNameError, match=r"functions \['missing'\], not 'f'"):
        extern["f"]
    with pytest.raises(ExportError, match="export it as __tvm_ffi_missing"):
        extern.load()
    with pytest.raises(ExportError, match="error"):
        nn.SourceModule({"f": like}, "int main(\n", "c").load()
    with pytest.raises(ExportError, match="there is no file"):
        nn.ObjectModule({"f": like}, tmp_path / "nothing.o")
    with pytest.raises(ArgumentError, match="module that is exported"):
        nn.add_extern(extern)
    with pytest.raises(ArgumentError, match=r"expected nn\.ExternModule"):
        relax.transform.AttachExternModules([3])
    assert np.all([path.exists() for path in nn.SourceModule.get_includes()])
