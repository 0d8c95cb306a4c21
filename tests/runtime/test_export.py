"""Exported libraries, in this package, in plain tvm-ffi, and in C programs."""

import importlib.util
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from tests.runtime.programs import add_one, prim_func, transposed_sum

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, ArgumentValueError, ExportError
from tilewright.runtime import linking

DOCUMENT = Path(__file__).parents[2] / "docs" / "c_interface.md"

needs_compiler = pytest.mark.skipif(linking.find_compiler() is None, reason="no C compiler")
needs_zig = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="the ziglang package is not installed"
)


def check(module):
    source = np.arange(4, dtype=np.float32)
    target = np.zeros(4, np.float32)
    module["main"](source, target)
    np.testing.assert_array_equal(target, source + 1)


@pytest.mark.parametrize("extension", ["so", "o", "tar"])
def test_round_trip(tmp_path, extension):
    path = add_one().export_library(tmp_path / f"library.{extension}")
    loaded = tvm.runtime.load_module(path)
    check(loaded)
    loaded(np.zeros(4, np.float32), np.zeros(4, np.float32))
    assert loaded.function_names() == ["main"]
    assert path in repr(loaded)
    assert loaded.time_evaluator("__tvm_main__", tvm.cpu())(
        tvm.nd.empty((4,)), tvm.nd.empty((4,))
    ).mean > 0  # fmt: skip


def test_a_loaded_library_knows_its_parameters(tmp_path):
    loaded = tvm.runtime.load_module(add_one().export_library(tmp_path / "library.so"))
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    loaded(frozen, np.zeros(4, np.float32))
    with pytest.raises(ArgumentValueError, match=r"argument 2 \(B\): .* read-only, and it is writ"):
        loaded(np.zeros(4, np.float32), frozen)


@needs_zig
def test_linking_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert linking.find_compiler() is None
    path = transposed_sum().export_library(tmp_path / "library.so")
    a, b, c = np.ones((3, 7), "f4"), np.ones((7, 3), "f4"), np.zeros((3, 7), "f4")
    tvm.runtime.load_module(path)(a, b, c)
    assert (c == 2).all()


def test_without_any_linker(tmp_path, monkeypatch):
    monkeypatch.setattr(linking, "find_compiler", lambda: None)
    monkeypatch.setattr(linking.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExportError, match=r"install a C compiler.*ziglang"):
        add_one().export_library(tmp_path / "library.so")


def test_plain_tvm_ffi_loads_the_library(tmp_path):
    loaded = tvm_ffi.load_module(add_one().export_library(tmp_path / "library.so"))
    check({"main": loaded.main})
    with pytest.raises(ValueError, match=r"main: argument 2 \(B\): shape\[0\] is 5, expected 4"):
        loaded.main(np.zeros(4, np.float32), np.zeros(5, np.float32))
    with pytest.raises(TypeError, match="expected 2 arguments"):
        loaded.main()


def code_of_the_document(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[0]


@needs_compiler
def test_the_documented_c_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = code_of_the_document("python").replace("import tilewright as tvm\n", "")
    exec(compile(program, str(DOCUMENT), "exec"), {"tvm": tvm})
    (tmp_path / "main.c").write_text(code_of_the_document("c"))
    compile_c(tmp_path / "main.c", "-rdynamic", "-ldl")
    assert run_c(tmp_path).stdout.split() == ["2", "4", "6"]


STATIC_PROGRAM = """
#include <stdio.h>
#include "tilewright.h"
int __tvm_ffi_main(void *, const TilewrightValue *, int32_t, TilewrightValue *);
static char text[512];
#ifdef HOOK
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  snprintf(text, sizeof text, "%s: %s", kind, message);
}
#endif
int main(void) {
  float in[4] = {0, 1, 2, 3}, out[4] = {0};
  int64_t shape[1] = {4}, wrong[1] = {3};
  TilewrightArray a = {in, TILEWRIGHT_CPU, 0, 1, TILEWRIGHT_FLOAT, 32, 1, shape, 0, 0};
  TilewrightArray b = {out, TILEWRIGHT_CPU, 0, 1, TILEWRIGHT_FLOAT, 32, 1, shape, 0, 0};
  TilewrightValue args[2] = {tilewright_array(&a), tilewright_array(&b)}, result = {0};
  int status = __tvm_ffi_main(0, args, 2, &result);
  printf("%d %g %g\\n", status, out[0], out[3]);
  a.shape = wrong;
  status = __tvm_ffi_main(0, args, 2, &result);
  printf("%d [%s]\\n", status, text);
  return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("hook", [True, False])
def test_an_object_file_in_a_c_program(tmp_path, hook):
    add_one().export_library(tmp_path / "kernel.o")
    (tmp_path / "main.c").write_text(STATIC_PROGRAM)
    options = ["-DHOOK"] if hook else []
    compile_c(tmp_path / "main.c", str(tmp_path / "kernel.o"), *options, "-lm", "-lpthread")
    result = run_c(tmp_path)
    message = "ValueError: main: argument 1 (A): shape[0] is 3, expected 4"
    assert result.stdout.splitlines() == ["0 1 4", f"-1 [{message if hook else ''}]"]
    assert result.stderr == ("" if hook else f"{message}\n")


HOSTLESS_PROGRAM = """
#include <stdio.h>
#include "tilewright.h"
int __tvm_ffi_main(void *, const TilewrightValue *, int32_t, TilewrightValue *);
int main(void) {
  TilewrightValue args[1] = {{TILEWRIGHT_ARG_INT, 0, {7}}}, result = {0};
  printf("%d\\n", __tvm_ffi_main(0, args, 1, &result));
  return 0;
}
"""


@needs_compiler
def test_a_call_by_name_where_nobody_registers_names(tmp_path):
    n = te.var("n")
    function = prim_func([n], tir.Evaluate(tir.call_packed("test.absent", n)))
    tvm.build(function, target="llvm").export_library(tmp_path / "kernel.o")
    (tmp_path / "main.c").write_text(HOSTLESS_PROGRAM)
    compile_c(tmp_path / "main.c", str(tmp_path / "kernel.o"), "-lm", "-lpthread")
    result = run_c(tmp_path)
    assert result.stdout == "-1\n"
    assert "test.absent" in result.stderr


def compile_c(source, *options):
    command = [linking.find_compiler(), "-Wall", "-Werror", "-o", source.parent / "program"]
    include = f"-I{linking.include_directory()}"
    subprocess.run([*command, source, include, *options], check=True)


def run_c(directory):
    return subprocess.run(
        [directory / "program"], cwd=directory, capture_output=True, text=True, check=True
    )


def test_user_supplied_linker(tmp_path):
    seen = []

    def link(output, objects, **options):
        seen.append((output, [Path(o).read_bytes()[:4] for o in objects], options))

    add_one().export_library(tmp_path / "library.custom", fcompile=link, level=3)
    assert seen == [(str(tmp_path / "library.custom"), [b"\x7fELF"], {"level": 3})]


def test_mistakes(tmp_path):
    module = add_one()
    with pytest.raises(ExportError, match="should end in"):
        module.export_library(tmp_path / "library.txt")
    with pytest.raises(ExportError, match="no directory"):
        module.export_library(tmp_path / "absent" / "library.so")
    with pytest.raises(ExportError, match="failed"):
        module.export_library(tmp_path / "library.so", options=["-lno_such_library_exists"])
    with pytest.raises(ExportError, match="no file"):
        tvm.runtime.load_module(tmp_path / "absent.so")
    (tmp_path / "bad.so").write_text("not a library")
    with pytest.raises(ExportError, match="cannot be loaded"):
        tvm.runtime.load_module(tmp_path / "bad.so")
    (tmp_path / "bad.tar").write_text("not an archive")
    with pytest.raises(ExportError, match="not an archive"):
        tvm.runtime.load_module(tmp_path / "bad.tar")
    loaded = tvm.runtime.load_module(module.export_library(tmp_path / "good.so"))
    with pytest.raises(ExportError, match="copy that file"):
        loaded.export_library(tmp_path / "again.so")
    with pytest.raises(ArgumentError, match="expected 2 arguments"):
        loaded()


@needs_compiler
def test_a_library_that_was_written_anew_is_loaded_anew(tmp_path):
    """What was loaded before goes on as it was."""

    def multiple(factor):
        a = te.placeholder((4,), name="A")
        b = te.compute((4,), lambda i: a[i] * tir.const(factor, "float32"), name="B")
        return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name="main")

    loaded = [
        tvm.runtime.load_module(multiple(factor).export_library(tmp_path / "library.so"))
        for factor in (2, 3, 4)
    ]
    source, target = np.ones(4, np.float32), np.zeros(4, np.float32)
    for factor, module in zip((2, 3, 4), loaded, strict=True):
        module(source, target)
        assert target[0] == factor
    assert [path.name for path in tmp_path.iterdir()] == ["library.so"]
