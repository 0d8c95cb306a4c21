"""Exported models: one library with the constants, for Python and for C programs."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from tests.relax.builders import array, module_of, twice
from tests.relax.vm.programs import perceptron, perceptron_inputs

import tilewright as tvm
from tilewright import relax
from tilewright.error import ExportError
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.runtime.linking import include_directory
from tilewright.target.codegen import params

TARGETS = pytest.mark.parametrize("target", ["llvm", "c"])


def bound(target="llvm"):
    """A perceptron with its weights, an input, and the result."""
    (x, w0, b0, w1, b1), expected = perceptron_inputs()
    ex = relax.build(perceptron(), target, params={"w0": w0, "b0": b0, "w1": w1, "b1": b1})
    return ex, x, expected


def test_a_library_gives_the_same_numbers_in_a_new_process(tmp_path):
    ex, x, expected = bound()
    path = tmp_path / "model.so"
    ex.export_library(path)
    np.save(tmp_path / "x.npy", x)
    program = (
        "import sys, numpy as np, tilewright as tvm\n"
        "from tilewright import relax\n"
        f"x = np.load({str(tmp_path / 'x.npy')!r})\n"
        f"vm = relax.VirtualMachine(tvm.runtime.load_module({str(path)!r}), tvm.cpu())\n"
        f"np.save({str(tmp_path / 'y.npy')!r}, vm['main'](x).numpy())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    result = np.load(tmp_path / "y.npy")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(result, relax.VirtualMachine(ex)["main"](x).numpy())


@TARGETS
def test_all_kinds_of_files_can_be_loaded(target, tmp_path):
    ex, x, expected = bound(target)
    for extension in ("so", "tar", "o"):
        path = tmp_path / f"model.{extension}"
        ex.export_library(path)
        result = relax.VirtualMachine(tvm.runtime.load_module(path))["main"](x)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_tuples_are_passed_to_a_library_too(tmp_path):
    pair = relax.Var("pair", relax.TupleStructInfo([array(2), array(2)]))

    def body(builder):
        return builder.emit(op.add(relax.TupleGetItem(pair, 0), relax.TupleGetItem(pair, 1)))

    path = tmp_path / "model.so"
    relax.build(module_of([pair], body)).export_library(path)
    vm = relax.VirtualMachine(str(path))
    ones = np.ones(2, "float32")
    assert vm["main"]((ones, ones)).numpy().tolist() == [2, 2]


PROGRAM = """
#include <stdio.h>
#include "tilewright.h"
int __tvm_ffi_main_into(void*, const TilewrightValue*, int32_t, TilewrightValue*);
int main(void) {
  float x[5] = {1, 2, 3, 4, 5}, y[3];
  int64_t x_shape[2] = {1, 5}, y_shape[2] = {1, 3};
  TilewrightArray X = {x, 1, 0, 2, TILEWRIGHT_FLOAT, 32, 1, x_shape, 0, 0}, Y = X;
  Y.data = y;
  Y.shape = y_shape;
  TilewrightValue args[2] = {tilewright_array(&X), tilewright_array(&Y)}, result = {0};
  if (__tvm_ffi_main_into(0, args, 2, &result)) return 1;
  printf("%.5f %.5f %.5f\\n", y[0], y[1], y[2]);
  return 0;
}
"""


@TARGETS
@pytest.mark.parametrize("extension", ["so", "o"])
def test_a_c_program_runs_a_model_without_python(target, extension, tmp_path):
    ex, _, _ = bound(target)
    library = tmp_path / f"model.{extension}"
    ex.export_library(library)
    (tmp_path / "main.c").write_text(PROGRAM)
    command = ["cc", "-I", include_directory(), tmp_path / "main.c", library, "-o"]
    command += [tmp_path / "main", f"-Wl,-rpath,{tmp_path}", "-lm", "-lpthread"]
    subprocess.run(command, check=True)
    output = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    x = np.arange(1.0, 6, dtype="float32").reshape(1, 5)
    expected = relax.VirtualMachine(ex)["main"](x).numpy()[0]
    np.testing.assert_allclose([float(word) for word in output.split()], expected, atol=1e-4)
    linked = subprocess.run(["ldd", tmp_path / "main"], capture_output=True, text=True, check=True)
    assert "python" not in linked.stdout
    assert "tvm_ffi" not in linked.stdout


def test_a_library_shows_its_functions_only(tmp_path):
    ex, _, _ = bound()
    path = tmp_path / "model.so"
    ex.export_library(path)
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[-1] for line in symbols.splitlines() if " U " not in line}
    defined = {name for name in defined if not name.startswith(("_init", "_fini", "__cxa", "_ITM"))}
    exported = {name for name in defined if name.startswith("__tvm_ffi_")}
    assert exported == {
        "__tvm_ffi_main", "__tvm_ffi_main_into", "__tvm_ffi_tilewright_metadata",
        "__tvm_ffi_tilewright_graphs",
    }  # fmt: skip
    assert not [n for n in defined - exported if n.startswith(("tilewright", "linear", "relu"))]


def test_models_for_another_machine(tmp_path):
    ex, _, _ = bound("llvm -mtriple=aarch64-linux-gnu")
    path = tmp_path / "model.tar"
    ex.export_library(path)
    subprocess.run(["tar", "xf", path, "-C", tmp_path], check=True)
    objects = sorted(p.name for p in tmp_path.glob("*.o"))
    assert "params.o" in objects
    machines = {int.from_bytes((tmp_path / name).read_bytes()[18:20], "little") for name in objects}
    assert machines == {183}


def test_large_constants_take_no_time(tmp_path):
    weights = np.random.default_rng(0).standard_normal((1 << 20,)).astype("float32")
    x = relax.Var("x", array(1 << 20))
    ex = relax.build(module_of([x], lambda b: b.emit(op.add(twice(x), relax.const(weights)))))
    path = tmp_path / "model.so"
    ex.export_library(path)
    assert weights.nbytes < path.stat().st_size < weights.nbytes + 200_000
    result = relax.VirtualMachine(str(path))["main"](weights)
    np.testing.assert_allclose(result.numpy(), weights * 3, rtol=1e-6)


@pytest.mark.parametrize("extension", ["so", "tar"])
def test_constants_beyond_the_reach_of_instructions(extension, tmp_path, monkeypatch):
    """They are behind everything else, where linkers expect them."""
    monkeypatch.setattr(params, "_LARGE", 0)
    ex, x, expected = bound()
    path = tmp_path / f"model.{extension}"
    ex.export_library(path)
    assert platform.machine() != "x86_64" or b".lrodata" in path.read_bytes()
    result = relax.VirtualMachine(str(path))["main"](x)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_what_cannot_be_linked_says_so(tmp_path):
    ex, _, _ = bound()
    with pytest.raises(ExportError, match="should end in"):
        ex.export_library(tmp_path / "model.zip")
    with pytest.raises(ExportError, match="no directory"):
        ex.export_library(tmp_path / "absent" / "model.so")


HEADER_PROGRAM = """
#include <stdio.h>
#include "small model.h"
int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, doubled[6], joined[4] = {7, 7, 7, 7};
  int8_t flags[6] = {1, 0, 1, 0, 1, 0};
  if (small_model_main(x, flags, 2.5, doubled, joined, 3)) return 1;
  printf("%g %g %g %g\\\\n", doubled[0], doubled[5], joined[0], joined[1]);
  return small_model_main(x, flags, 2.5, doubled, joined, -1) == 0;
}
""".replace("\\\\", "\\")


@TARGETS
def test_the_header_has_functions_with_plain_pointers(target, tmp_path):
    n = Size("n", "int64")
    x, flags = relax.Var("x", array(n, 2)), relax.Var("flags", array(2 * n, dtype="int8"))
    factor = relax.Var("factor", relax.PrimStructInfo("float64"))

    def body(builder):
        doubled = builder.emit(op.add(x, x))
        halves = builder.emit(op.strided_slice(x, [0], [0], [n], [2]))
        joined = builder.emit(op.sum(halves, axis=1))
        return relax.Tuple([doubled, joined])

    ex = relax.build(module_of([x, flags, factor], body), target)
    ex.export_library(tmp_path / "small model.so")
    header = ex.export_header(tmp_path / "small model.h")
    assert "x: float32[n, 2]" in (tmp_path / "small model.h").read_text()
    assert header == str(tmp_path / "small model.h")
    (tmp_path / "main.c").write_text(HEADER_PROGRAM)
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-std=c11"]
    command += ["-I", include_directory(), "-I", tmp_path, tmp_path / "main.c"]
    command += [tmp_path / "small model.so", "-o", tmp_path / "main", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([*command, "-lm"], check=True)
    ran = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert ran.stdout == "2 12 3 11\n"
    assert "shape[0] is -1" in ran.stderr


def test_elements_that_c_does_not_know():
    x = relax.Var("x", array(2, dtype="e4m3_float8"))
    ex = relax.build(module_of([x], lambda b: relax.Tuple([x])))
    with pytest.raises(ExportError, match="C has no type for the elements"):
        ex.export_header("model.h")


CHAIN = """
#include <stdio.h>
#include "encoder.h"
#include "decoder.h"
int main(void) {
  float x[2] = {1, -2}, code[2], y[2];
  if (encoder_encode(x, code) || decoder_decode(code, y)) return 1;
  printf("%g %g", y[0], y[1]);
  return 0;
}
"""


@pytest.mark.parametrize("extension", ["o", "so"])
@TARGETS
def test_several_models_in_one_program(target, extension, tmp_path):
    """Both have a constant, the same kernel, and the functions that every library has."""
    for library, function, weight in (("encoder", "encode", [2, 3]), ("decoder", "decode", [5, 7])):
        x, w = relax.Var("x", array(2)), relax.Var("w", array(2))
        builder = relax.BlockBuilder()
        with builder.function(function, [x, w]):
            builder.emit_func_output(builder.emit(op.multiply(x, w)))
        ex = relax.build(builder.get(), target, params={"w": np.array(weight, "float32")})
        ex.export_library(tmp_path / f"{library}.{extension}")
        ex.export_header(tmp_path / f"{library}.h")
    (tmp_path / "main.c").write_text(CHAIN)
    libraries = [f"./{library}.{extension}" for library in ("encoder", "decoder")]
    command = [
        "cc",
        "-I",
        include_directory(),
        "main.c",
        *libraries,
        "-lm",
        "-lpthread",
        "-o",
        "main",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    environment = {"LD_LIBRARY_PATH": "."}
    result = subprocess.run(
        ["./main"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == "10 -42"
